"""Profiles: the time of each operation, the rest for Python, and no cost while none is open."""

import gzip
import html
import json
import re
import threading
import time

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute import events
from dovetail.execute.plan import Plan
from dovetail.observe import compiled_calls, watch
from tests.conftest import ENGINES, RULE_BY_RULE
from tests.frames import frames

SLEEP = 0.03  # seconds; a sleep never takes less
X = np.linspace(-1, 1, 400, dtype="float32").reshape(20, 20)


def dense(x, w):
    y = ops.tanh(x @ w)
    return ops.sum(y, axis=0)


def rows(profile, name):
    return [row for row in profile.rows if row.name == name]


def seconds(profile, name):
    return sum(row.seconds for row in rows(profile, name))


@pytest.fixture
def slow():
    """An op that takes at least `SLEEP` on engines that run rule by rule."""

    def rule(x):
        time.sleep(SLEEP)
        return x + 1

    @dt.register_op("SlowOp", infer=lambda x: x)
    def slow_op(x: dt.kinds.Float): ...

    slow_op.rule("numpy", "torch")(rule)
    yield slow_op
    dt.unregister_op("SlowOp")


def test_rows_are_the_whole_time(engine):
    """Add operations, transfers, Python and the profile itself up to the time of the block."""
    f = dt.function(dense)
    f(X, X)
    before = time.perf_counter()
    with dt.profile() as p:
        begun = time.perf_counter()
        for _ in range(3):
            f(X, X)
            ops.tanh(ops.convert(X)).numpy()
        time.sleep(SLEEP)
        inside = time.perf_counter() - begun
    outside = time.perf_counter() - before
    own = [row for row in p.rows if not row.thread]
    assert inside <= p.seconds <= outside
    assert sum(row.seconds for row in own) == pytest.approx(p.seconds)
    assert min(row.seconds for row in p.rows) >= 0
    assert seconds(p, "Python") >= SLEEP


def test_compiling_is_a_row_of_its_own(engine):
    """Check the first call of a function; the second one compiles nothing, and the rows are the whole time."""

    @dt.function
    def slow_to_trace(x):
        time.sleep(SLEEP)
        return inner(x) + 1

    @dt.function
    def inner(x):
        time.sleep(SLEEP)
        return ops.tanh(x)

    with dt.profile() as first:
        slow_to_trace(X)
    with dt.profile() as second:
        slow_to_trace(X)
    (row,) = rows(first, "compiling")
    assert (row.kind, row.operations, row.lines) == ("compiling", (), ()) and row.seconds >= 2 * SLEEP
    assert sum(row.seconds for row in first.rows if not row.thread) == pytest.approx(first.seconds)
    assert not rows(second, "compiling")


def test_the_compiling_of_a_single_call_is_no_time_of_its_operation():
    """Check jax, which compiles each call at its first shape; nothing else in the tests has this shape."""
    pytest.importorskip("jax")
    with dt.engine("jax"):
        x = ops.convert(np.ones((3, 5, 7, 11, 1), "float32"))
        with dt.profile() as first:
            ops.cumsum(x, axis=3)
        with dt.profile() as second:
            ops.cumsum(x, axis=3)
    assert seconds(first, "compiling") > 0 and not rows(second, "compiling")
    assert sum(row.seconds for row in first.rows if not row.thread) == pytest.approx(first.seconds)


@pytest.mark.parametrize("engine", RULE_BY_RULE)
@pytest.mark.parametrize("compiled", [False, True])
def test_time_goes_to_the_operation_that_takes_it(engine, compiled, slow):
    """Check single calls and lines of programs: an operation of a known time has it in its row."""
    f = dt.function(lambda x: ops.tanh(slow(x))) if compiled else lambda x: ops.tanh(slow(x))
    with dt.engine(engine):
        x = ops.convert(X)
        f(x)
        with dt.profile() as p:
            f(x)
    (row,) = rows(p, "SlowOp")
    assert row.seconds >= SLEEP and row.calls == 1 and row.bytes == X.nbytes and row.place.startswith(engine)
    assert row.lines[0][0] == __file__
    assert p.seconds - row.seconds >= seconds(p, "Python") >= 0
    assert p.table().splitlines()[2].split()[-3:] == ["SlowOp", engine, row.line]


@pytest.mark.parametrize("engine", RULE_BY_RULE)
def test_loops_have_their_own_time_and_that_of_their_bodies(engine, slow):
    f = dt.function(lambda x: ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, slow(v)), (0, x))[1])
    with dt.engine(engine):
        x = ops.convert(X)
        f(x)
        with dt.profile() as p:
            f(x)
    assert [row.calls for row in rows(p, "SlowOp")] == [3] and [row.calls for row in rows(p, "Less")] == [4]
    assert seconds(p, "SlowOp") >= 3 * SLEEP
    assert seconds(p, "While") <= p.seconds - 3 * SLEEP


def test_a_profile_leaves_nothing_behind(engine):
    """Check that programs, frames and methods are the same before and after, and that programs have the same text."""
    f = dt.function(dense)
    x = ops.convert(X)
    (segment,) = (f(x, x), f.plan(x, x).segments)[1]
    ops.tanh(x), ops.tanh(x)
    found = get_engine(engine)

    def state():
        calls = [frames(lambda: f(x, x)), frames(lambda: ops.tanh(x)), frames(lambda: ops.clip(x, -1.0, 1.0))]
        return calls, segment.source, segment.executable, found.eager_rules, {**found.__dict__}

    state()
    before = state()
    with dt.profile():
        f(x, x), ops.tanh(x)
        assert segment.source == before[1]
    after = state()
    assert after[0] == before[0] and after[1:] == before[1:]
    assert watch.current() is None


@pytest.mark.parametrize("engine", RULE_BY_RULE)
def test_names_and_lines_are_those_of_the_users_graph(engine):
    f = dt.function(dense, engine=engine)
    names = {op.name for op in f.graph(X, X).operations if op.type not in ("Const", "Placeholder")}
    with dt.profile() as p:
        f(X, X), f(X, X)
        ops.sin(X)
    found = p.by_operation("dense")
    assert set(found) == names and set(p.by_operation()) == names | {"Sin"}
    assert {found[name]["calls"] for name in names} == {2}
    lines = p.by_line()
    assert sum(entry["time"] for entry in lines.values()) == pytest.approx(p.seconds * 1e6)
    assert len([line for line in lines if line.startswith("test_profile.py:")]) == 4  # two of `dense`, and two here


COMPILED = [name for name in ENGINES if name in ("jax", "tensorflow")]


@pytest.mark.parametrize("engine", COMPILED)
def test_traces_of_libraries_name_operations(engine):
    """Check that each kernel of a compiled program is a row of operations of the user's graph, also in loops."""

    def work(x, w):
        y = ops.relu(x @ w + w[0])
        z = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.sort(v, axis=0)), (0, y))[1]
        return ops.cumsum(z, axis=1)

    f = dt.function(work, engine=engine)
    x = np.random.default_rng(0).normal(size=(128, 128)).astype("float32")
    graph = f.graph(x, x)
    f(x, x)
    with dt.profile() as p:
        f(x, x), f(x, x)
    names = {op.name for g in (graph, *graph.subgraphs()) for op in g.operations}
    found = [row for row in p.rows if row.kind in ("operation", "fusion") and row.program]
    assert {name for row in found for name in row.operations} <= names
    (product,) = [row for row in found if "MatMul" in row.operations]
    assert product.calls == 2 and product.lines[0][0] == __file__ and product.place == engine
    in_body = [row for row in found if not {"ArgSort", "Sort"}.isdisjoint(row.types)]
    assert in_body and {row.calls % 6 for row in in_body} == {0}, p.table()  # jax takes two kernels to sort
    (call,) = [row for row in p.rows if row.kind == "program"]
    assert call.name == f"call of {graph.name}" and call.calls == 2 and call.seconds >= 0
    assert sum(row.seconds for row in p.rows) == pytest.approx(p.seconds)


@pytest.mark.parametrize("engine", COMPILED)
def test_a_fusion_is_one_row_with_all_its_names(engine):
    f = dt.function(lambda x, w: ops.relu(ops.bias_add(x @ w, w[0])), engine=engine)
    f(X, X)
    with dt.profile() as p:
        f(X, X)
    fused = next(row for row in p.rows if "Relu" in row.operations)
    assert fused.kind == "fusion" and {"BiasAdd", "Relu"} <= set(fused.operations), p.table()
    found = p.by_operation()
    share = fused.seconds * 1e6 / len(fused.operations)
    assert found["BiasAdd"]["time"] == found["Relu"]["time"] == pytest.approx(share)
    assert set(found["Relu"]["fusion"]) == set(fused.operations)


def test_times_and_bytes_by_operation_sum_to_the_rows(engine):
    f = dt.function(lambda x, w: ops.sum(ops.relu(ops.bias_add(x @ w, w[0])) * 2.0 + 1.0), engine=engine)
    f(X, X)
    with dt.profile() as p:
        f(X, X), ops.tanh(X)
    for program in (None, f.graph(X, X).name):
        rows = [row for row in p.rows if row.operations and program in (None, row.program)]
        found = p.by_operation(program).values()
        assert sum(entry["time"] for entry in found) == pytest.approx(sum(row.seconds for row in rows) * 1e6)
        assert sum(entry["bytes"] for entry in found) == sum(row.bytes for row in rows) > 0


def test_layers_are_name_scopes(slow):
    """Sum the time of each name scope, of fusions in equal parts."""
    graph = dt.Graph("net")
    with graph.as_default():
        x = graph.placeholder(dt.spec((20, 20)), "x")
        with graph.name_scope("slow"):
            y = slow(ops.tanh(x))
        with graph.name_scope("fast"):
            graph.outputs = [ops.exp(y)]
    with dt.engine("numpy"), dt.profile() as p:
        dt.function(graph)(X)
    found = p.by_layer()
    assert next(iter(found)) == "slow" and {"slow", "fast"} <= {*found} and found["slow"]["time"] >= SLEEP * 1e6
    total = sum(entry["time"] for entry in found.values())
    np.testing.assert_allclose(total, 1e6 * sum(row.seconds for row in p.rows if row.operations))


def test_a_schedule_counts_steps(engine):
    f = dt.function(dense)
    p = dt.profile(schedule=(2, 1, 3))
    with p:
        for step in range(10):
            assert (watch.current() is None) == (step not in (2, 3, 4, 5))
            f(X, X)
            p.step()
    assert p.steps == 3
    assert {row.calls for row in p.rows if row.program and (engine in RULE_BY_RULE or row.kind == "program")} == {3}
    with dt.profile(schedule=(2, 0, 1)) as early:
        early.step()
    assert early.seconds == 0 and "nothing, after 1 step of 2" in early.table()


def test_a_failed_call_passes_through(engine):
    f = dt.function(lambda x: ops.reshape(x, (7, -1)) if x.shape[0] == 7 else ops.tanh(x))
    with dt.profile() as p:
        f(X)
        with pytest.raises(ValueError, match="MatMul at test_profile"):
            ops.matmul(X, X[:3])
        f(X)
    assert p.seconds > 0 and watch.current() is None


@pytest.mark.parametrize("engine", RULE_BY_RULE)
def test_variables_keep_what_they_hold(engine):
    """Check programs that write over the arrays of variables: they compute the same in a profile and after it."""
    with dt.engine(engine):
        variable, momentum = dt.Variable(X), dt.Variable(np.zeros_like(X))
        start = variable.numpy().copy()

        @dt.function
        def train(gradient):
            momentum.assign(momentum * 0.5 + gradient)
            variable.assign(variable - momentum)

        results = []
        for _ in range(3):
            variable.assign(start), momentum.assign(np.zeros_like(X))
            train(X)
            if len(results) == 1:
                with dt.profile() as p:
                    train(X), train(X)
                assert {row.calls for row in p.rows if row.kind == "operation"} == {2}
            else:
                train(X), train(X)
            results.append(variable.numpy().copy())
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[1], results[2])


def test_other_threads_have_rows_of_their_own():
    with dt.engine("numpy"), dt.profile() as p:
        worker = threading.Thread(target=lambda: ops.tanh(X), name="worker")
        worker.start()
        worker.join()
        ops.exp(X)
    assert [row.thread for row in rows(p, "Tanh")] == ["worker"] and [row.thread for row in rows(p, "Exp")] == [""]
    assert sum(row.seconds for row in p.rows if not row.thread) == pytest.approx(p.seconds)


def test_old_events_are_summed_and_not_lost(monkeypatch):
    monkeypatch.setattr(events, "EVENTS", 5)
    monkeypatch.setattr(events, "ROWS", 3)
    with dt.engine("numpy"), dt.profile() as p:
        x = ops.convert(X)
        for op in (ops.tanh, ops.exp, ops.sin, ops.cos, ops.sqrt):
            for _ in range(4):
                op(x)
    assert len(p.events) == 5
    assert sum(row.calls for row in p.rows) == 1 + 5 * 4
    assert [row.calls for row in rows(p, "other rows")] == [3 * 4]


@pytest.mark.skipif(set(RULE_BY_RULE) < {"numpy", "torch"}, reason="a transfer needs two engines")
def test_transfers_between_engines_are_rows():
    f = dt.function(lambda x: ops.tanh(ops.exp(x)), engine="numpy")
    graph = f.graph(dt.spec((20, 20)))
    graph.get_operation("Tanh").engine = "torch"
    plan = Plan(graph, get_engine("numpy"))
    plan([X])
    with dt.profile() as p:
        plan([X])
    found = {row.name: row.bytes for row in p.rows if row.kind == "transfer"}
    assert found == {"numpy → torch": X.nbytes, "torch → numpy": X.nbytes}


def test_the_most_memory_has_its_operation():
    with dt.engine("numpy"), dt.profile() as p:
        x = ops.convert(np.ones((1000, 100), "float32"))
        ops.tile(x, (5, 1))
        ops.tanh(x)
    assert p.peak.operation == "Tile" and p.peak.bytes == 6 * 400_000 and p.peak.line.startswith("test_profile.py")


def test_a_trace_of_chrome(tmp_path):
    with dt.engine("numpy"), dt.profile() as p:
        ops.tanh(X)
        p.step()
    p.save(tmp_path / "trace.json")
    p.save(tmp_path / "trace.json.gz")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == trace
    spans = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    assert spans["Tanh"]["dur"] > 0 and 0 <= spans["Tanh"]["ts"] <= p.seconds * 1e6
    assert spans["Tanh"]["args"]["lines"][0].startswith(__file__)
    assert [e["name"] for e in trace["traceEvents"] if e["ph"] == "i"] == ["step 1"]


def test_differences_begin_with_the_largest(slow):
    with dt.engine("numpy"):
        with dt.profile() as quick:
            ops.tanh(X)
        with dt.profile() as other:
            ops.tanh(slow(X))
    text = other.diff(quick).splitlines()
    assert text[2].startswith("+") and "SlowOp" in text[2]
    assert "-" in next(line for line in quick.diff(other).splitlines() if "SlowOp" in line)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: dt.profile(schedule=(1, 2)), TypeError, "three whole numbers"),
        (lambda: dt.profile(schedule=3), TypeError, "three whole numbers"),
        (lambda: dt.profile(schedule=(1, 2, 0)), ValueError, "an active step"),
        (lambda: dt.profile().table("length"), ValueError, "sorted by time"),
        (lambda: dt.profile().diff(3), TypeError, "takes another profile"),
        (lambda: dt.profile().save("trace.txt"), ValueError, "ends with .json"),
    ],
)
def test_errors(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@pytest.mark.parametrize("engine", COMPILED)
def test_long_traces_are_read_in_parts(engine, monkeypatch):
    monkeypatch.setattr(compiled_calls, "SPANS", 10)
    f = dt.function(dense, engine=engine)
    f(X, X)
    with dt.profile() as p:
        for _ in range(9):
            f(X, X)
    assert {row.calls for row in p.rows if row.kind == "program"} == {9}
    assert {row.calls for row in p.rows if "MatMul" in row.operations} == {9}


def test_one_profile_at_a_time():
    with dt.profile(), pytest.raises(RuntimeError, match="another profile is open"), dt.profile():
        pass
    assert watch.current() is None


def test_a_notebook_shows_the_rows_of_the_table():
    with dt.profile() as p:
        dt.ops.tanh(dt.ops.ones((2, 2)))
    shown = p._repr_html_()
    words = [html.unescape(text) for text in re.findall(r"<t[hd] [^>]*>([^<]*)</t[hd]>", shown)]
    assert words[:8] == ["time", "share", "calls", "bytes", "peak", "operation", "place", "line"]
    assert " ".join(p.table().splitlines()[2].split()) == " ".join(" ".join(words[8:16]).split())
