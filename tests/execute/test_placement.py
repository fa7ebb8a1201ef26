"""Placement: pins, the segments that follow from them, and transfers."""

from itertools import pairwise

import numpy as np
import pytest

import dovetail as dt
import dovetail.backend as K
from dovetail import ops
from dovetail.core.base.errors import UnknownEngine
from dovetail.core.base.table import OPS
from dovetail.core.engines import engine_registry
from dovetail.core.engines.devices import soft_placement_of_run
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import Rules
from dovetail.edit.transplant import copy_graph
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place, cut
from dovetail.execute.plan import Plan
from tests.conftest import ENGINES
from tests.passes.checks import traced, types

pytestmark = pytest.mark.skipif("torch" not in dt.list_engines(), reason="there is one engine alone")
NUMPY = get_engine("numpy")
X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def graph_of(function, *specs, **pins):
    """A function's graph, with operations pinned by their names."""
    graph = traced(function, *(specs or [dt.spec((2, 3))]))
    for name, engine in pins.items():
        graph.get_operation(name).engine = engine
    return graph


def described(plan):
    """The engine and the ops of each segment."""
    return [(s.engine.name, [t for t in types(s.graph) if t != "Placeholder"]) for s in plan.segments]


# -- pins -------------------------------------------------------------------------------------------------------------


def test_operations_are_computed_where_they_are_pinned_and_else_on_the_plans_engine(engine):
    graph = graph_of(lambda x: ops.tanh(ops.exp(x)), Tanh="torch", Exp="numpy")
    (value,) = (f := Plan(graph, get_engine(engine)))([ops.convert(X).value])
    assert described(f) == [("numpy", ["Exp"]), ("torch", ["Tanh"])]
    np.testing.assert_allclose(get_engine(engine).to_numpy(value), np.tanh(np.exp(X)), rtol=1e-6)
    assert type(value) is type(ops.convert(X).value)


def test_a_pin_is_an_edit():
    """Check that `function` makes a new plan, and that an edit that fails takes the pin back."""
    graph = graph_of(lambda x: ops.exp(x))
    f = dt.function(graph)
    f(X)
    before = graph.version
    graph.get_operation("Exp").engine = "torch"
    assert graph.version > before
    f(X)
    concrete = f._traces.get(f._last_key).concrete
    assert described(concrete.plan(NUMPY)) == [("torch", ["Exp"])]
    version = graph.version
    graph.get_operation("Exp").engine = "torch"
    assert graph.version == version


@pytest.mark.parametrize("name", ["torhc", 3])
def test_an_unknown_engine_names_the_operation_and_the_line(name):
    graph = graph_of(lambda x: ops.exp(x), Exp=name)
    kind = UnknownEngine if name == "torhc" else TypeError
    with pytest.raises(
        kind, match=r"Exp at test_placement.py:\d+: 'Exp' is to be computed on .*numpy, torch"
    ) as caught:
        dt.function(graph)(X)
    assert name == 3 or "Did you mean 'torch'?" in str(caught.value)


def test_an_engine_that_is_not_installed_names_the_operation(monkeypatch):
    from dovetail.core.base.errors import EngineNotInstalled

    monkeypatch.setitem(
        engine_registry.BUILT_IN, "other", engine_registry.BuiltIn("other", "library_that_nobody_has", "pip install it")
    )
    with pytest.raises(
        EngineNotInstalled, match=r"Exp at test_placement.py:\d+: .* which is not installed: pip install"
    ):
        dt.function(graph_of(lambda x: ops.exp(x), Exp="other"))(X)


def test_gradients_are_computed_where_the_operation_is():
    f = dt.function(graph_of(lambda x: ops.exp(ops.tanh(x) * 2.0), Tanh="torch"))
    x = ops.convert(X)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    gradient = tape.gradient(y, x)
    np.testing.assert_allclose(gradient.numpy(), 2 * np.exp(2 * np.tanh(X)) * (1 - np.tanh(X) ** 2), rtol=1e-5)
    concrete = f._traces.get(f._last_key).concrete
    (functional,) = concrete._functionals.values()
    (backward,) = functional._backward._plans.values()
    assert [engine for engine, _ in described(backward)] == ["numpy", "torch"]


def test_devices():
    graph = graph_of(lambda x: ops.exp(x), Exp="torch")
    for device in ("cpu:0", "cpu"):
        graph.get_operation("Exp").device = device
        np.testing.assert_allclose(dt.function(graph)(X).numpy(), np.exp(X), rtol=1e-6)
    graph.get_operation("Exp").device = "gpu:77"
    np.testing.assert_allclose(dt.function(graph)(X).numpy(), np.exp(X), rtol=1e-6)
    problem = r"Exp at test_placement.py:\d+: .*the device 'gpu:77', but torch has the devices"
    with soft_placement_of_run(False), pytest.raises(ValueError, match=problem):
        dt.function(graph)(X)


def loop(x):
    return ops.scan(lambda s, row: (ops.tanh(s + row), s), x[0], x)[1]


def test_a_loop_is_computed_where_it_is_pinned():
    graph = graph_of(loop)
    (scan,) = [op for op in graph.operations if op.type == "Scan"]
    scan.engine = inner(graph, "Tanh").engine = "torch"
    assert ("torch", ["Scan"]) in described(Plan(graph, NUMPY))
    np.testing.assert_allclose(dt.function(graph)(X).numpy(), dt.function(loop)(X).numpy(), rtol=1e-6)


# -- inside branches and loops ----------------------------------------------------------------------------------------

DIVIDED = {
    "scan": loop,
    "branch": lambda x: ops.cond(ops.sum(x) < 9, lambda: ops.tanh(x) * x, lambda: x),
    "while": lambda x: ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, ops.tanh(s) * s), (0, x))[1],
    "bounded while": lambda x: ops.while_loop(lambda s: ops.sum(s) < 9, lambda s: ops.tanh(s) + 1, (x,), 4)[0],
    "loop in a loop": lambda x: ops.scan(lambda s, row: (loop(x * s)[0], row), x[0], x)[0],
    "no steps": lambda x: ops.scan(lambda s, row: (ops.tanh(s), row), x, x[:0])[0] + ops.exp(x),
}


def inner(graph, type):
    return next(op for part in graph.subgraphs() for op in part.operations if op.type == type)


@pytest.mark.parametrize("case", DIVIDED)
def test_parts_of_branches_and_loops_are_computed_elsewhere(engine, case):
    """Check that the numbers and gradients are the same."""
    graph = graph_of(DIVIDED[case])
    other = "torch" if engine != "torch" else "numpy"
    inner(graph, "Tanh").engine = other
    values = []
    for f in (dt.function(graph), DIVIDED[case]):
        x = ops.convert(X)
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        values.append([y.numpy(), tape.gradient(y, x).numpy(), f(x).numpy()])
    for found, expected in zip(*values, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    if case != "no steps":  # its tanh does not run
        text = str(Plan(graph, get_engine(engine)))
        assert f"{other} (cpu:0): Tanh" in text and f" to {other}, " in text


def test_a_divided_loop_is_printed_with_its_parts():
    graph = graph_of(loop)
    inner(graph, "Tanh").engine = "torch"
    assert str(Plan(graph, NUMPY)).splitlines()[2:] == [
        "  numpy (cpu:0): Scan",
        "    body:",
        "      numpy (cpu:0): AddV2",
        "      move AddV2:0 from numpy to torch, 12 B",
        "      torch (cpu:0): Tanh",
        "      move Tanh:0 from torch to numpy, 12 B",
    ]


# -- passes -----------------------------------------------------------------------------------------------------------


def test_pins_survive_copies_and_passes():
    graph = graph_of(lambda x: ops.softmax(x) + ops.exp(x), Softmax="torch")
    assert copy_graph(graph).get_operation("Softmax").engine == "torch"
    optimized = optimized_copy(graph, get_engine(ENGINES[-1]))
    pins = {op.type: op.engine for op in optimized.operations}
    assert pins["Softmax"] == "torch" and pins["Exp"] is None  # torch has a rule for it


def test_composites_are_inlined_where_their_engine_does_not_claim_them(monkeypatch):
    graph = graph_of(lambda x: (ops.softmax(x), ops.softmax(x * 2.0)), Softmax="torch")
    torch = get_engine("torch")
    monkeypatch.setattr(torch, "rules", Rules({n: r for n, r in torch.rules.items() if n != "Softmax"}))
    optimized = optimized_copy(graph, NUMPY)
    own = [op.type for op in optimized.operations if op.engine == "torch"]
    assert "Softmax" not in own and "Exp" in own


@pytest.mark.parametrize("pinned", ["torch", "numpy"])
def test_composites_in_a_loop_are_claimed_by_the_engine_of_the_loop(monkeypatch, pinned):
    torch = get_engine("torch")
    monkeypatch.setattr(NUMPY, "rules", Rules({**NUMPY.rules, "Softmax": torch.rules["Softmax"]}))
    monkeypatch.setattr(torch, "rules", Rules({n: r for n, r in torch.rules.items() if n != "Softmax"}))
    graph = graph_of(lambda x: ops.scan(lambda s, row: (ops.softmax(s + row), s), x[0], x)[1])
    next(op for op in graph.operations if op.type == "Scan").engine = pinned
    (body,) = optimized_copy(graph, get_engine("torch" if pinned == "numpy" else "numpy")).subgraphs()
    assert ("Softmax" in types(body)) == (pinned == "numpy")


MERGED = {  # operations that become one, if nothing is pinned
    "common": (lambda x: (ops.exp(x), ops.exp(x)), "Exp", ["Exp", "Exp"]),
    "simplified": (lambda x: ops.negative(ops.negative(x)), "Neg", ["Neg", "Neg"]),
    "scaled": (lambda x: (x * 2.0) * 3.0, "Mul", ["Mul", "Mul"]),
    "cast": (lambda x: ops.cast(ops.cast(x, "float64"), "complex128"), "Cast", ["Cast", "Cast"]),
    "fused": (lambda x: ops.matmul(x, ops.ones((3, 3))) + x, "MatMul", ["AddV2", "MatMul"]),
}


@pytest.mark.parametrize("merged", MERGED)
def test_what_is_pinned_to_two_engines_does_not_become_one(merged):
    function, name, expected = MERGED[merged]

    def computed(**pins):
        found = types(optimized_copy(graph_of(function, **pins), get_engine("torch")))
        return sorted(t for t in found if t not in ("Placeholder", "Const"))

    assert computed(**{name: "numpy"}) == expected and len(computed()) < len(expected)


# -- cutting ----------------------------------------------------------------------------------------------------------


def chain(length):
    graph = dt.Graph("chain")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    for i in range(length):
        x = ops.tanh(x)
        x.op.engine = ("numpy", "torch")[i % 2]
    graph.outputs = [x]
    return graph


def test_segments_are_few():
    """Check that a chain has a segment per change of pins, and that independent operations need two, in any order."""
    assert len(cut(chain(10).operations, Place(NUMPY))) == 10
    graph = dt.Graph("wide")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    for i in range(20):
        y = ops.exp(x * float(i))
        y.op.engine = y.op.inputs[0].op.engine = ("numpy", "torch")[i % 2]
        graph.outputs = [*graph.outputs, y]
    assert len(cut(graph.operations, Place(NUMPY))) == 2


def test_the_order_of_two_engines_is_the_better_one():
    """Check that torch goes first, with two segments; numpy first would need three."""
    graph = graph_of(lambda x, y: ops.exp(y) + ops.exp(ops.tanh(x)), *[dt.spec(())] * 2, Tanh="torch", Exp="torch")
    assert [part.place.engine.name for part in cut(graph.operations, Place(NUMPY))] == ["torch", "numpy"]


def test_segments_need_only_what_earlier_ones_make(rng):
    engines = list(dict.fromkeys(["numpy", "torch", *ENGINES]))
    graph = dt.Graph("random")
    tensors = [graph.placeholder(dt.spec(()), "x")]
    for _ in range(60):
        a, b = (tensors[i] for i in rng.integers(0, len(tensors), 2))
        tensors.append(a + b)
        tensors[-1].op.engine = str(rng.choice(engines))
    parts = cut(graph.operations, Place(NUMPY))
    made = set()
    for place, operations, *_ in parts:
        for op in operations:
            assert get_engine(op.engine) is place.engine
            assert all(t.op in made or t.op.type == "Placeholder" for t in op.inputs)
            made.add(op)
    assert len(made) == 60
    assert all(one.place != other.place for one, other in pairwise(parts))


def test_nothing_to_compute(engine):
    graph = graph_of(lambda x: (x, ops.constant([1.0, 2.0])))
    x, c = dt.function(graph)(X)
    assert x.numpy().tolist() == X.tolist() and c.numpy().tolist() == [1, 2]


# -- transfers --------------------------------------------------------------------------------------------------------


def test_inputs_and_constants_are_returned_by_plans_of_several_segments():
    graph = graph_of(lambda x: (x, ops.tanh(x), ops.constant([1.0, 2.0]), ops.exp(ops.tanh(x))), Tanh="torch")
    x, tanh, c, exp = (v.numpy() for v in dt.function(graph)(X))
    np.testing.assert_allclose([x, tanh, exp], [X, np.tanh(X), np.exp(np.tanh(X))], rtol=1e-6)
    assert c.tolist() == [1, 2]
    assert described(Plan(graph, NUMPY)) == [("torch", ["Tanh"]), ("numpy", ["Tanh", "Exp"])]
    alone = graph_of(lambda x: (ops.tanh(x), ops.constant([1.0, 2.0])), Tanh="torch")
    assert described(Plan(alone, NUMPY)) == [("torch", ["Tanh"]), ("numpy", [])]  # the constant's segment


def test_values_are_let_go_that_nobody_takes_any_more():
    graph = graph_of(lambda x: ops.exp(ops.tanh(ops.exp(ops.tanh(x)))), Tanh="torch", Tanh_1="torch")
    steps = Plan(graph, NUMPY)._schedule.steps
    assert [step.done for step in steps] == [[], *([number] for number in range(1, 8))]  # the argument stays


def test_a_value_is_moved_once_to_each_engine():
    graph = graph_of(lambda x: (ops.tanh(ops.exp(x)), ops.sin(ops.exp(x))), Tanh="torch", Sin="torch")
    assert str(Plan(graph, NUMPY)).splitlines()[2:3] == ["  move Exp:0 from numpy to torch, 24 B"]
    assert str(Plan(graph, NUMPY)).count("move Exp:0") == 1


def test_values_go_between_without_copies():
    graph = graph_of(lambda x: ops.reshape(x, (3, 2)), Reshape="torch")
    given = ops.convert(X)
    assert np.shares_memory(dt.function(graph)(given).value, given.value)


def test_variables_live_where_their_value_is_computed():
    a, b, c = (dt.Variable(np.full(3, n, "float32"), name=n_) for n, n_ in ((1, "a"), (2, "b"), (3, "c")))

    def step(x):
        a.assign(ops.exp(a) + c)
        b.assign(ops.tanh(b) * a)
        return ops.sum(a * b) + x

    graph = graph_of(step, dt.spec(()), Tanh="torch", Mul="torch")
    f, g = dt.function(graph), dt.function(step)
    values = []
    for function in (f, g):
        for v, n in ((a, 1), (b, 2)):
            v.assign(np.full(3, n, "float32") / 10)
        values.append([[float(function(1.0)) for _ in range(4)], a.numpy().tolist(), b.numpy().tolist()])
        if function is f:
            assert (a.engine, b.engine) == ("numpy", "torch")
    np.testing.assert_allclose(values[0][0], values[1][0], rtol=1e-5)
    np.testing.assert_allclose(values[0][1:], values[1][1:], rtol=1e-5)


def test_variables_that_change_places_and_one_that_takes_an_argument():
    a, b, c = dt.Variable(1.0), dt.Variable(2.0), dt.Variable(3.0)

    def step(x):
        old = a.value
        a.assign(b.value)
        b.assign(old)
        c.assign(x)
        return ops.exp(old) + x

    f = dt.function(graph_of(step, dt.spec(()), Exp="torch"))
    assert float(f(5.0)) == pytest.approx(np.exp(1) + 5) and [float(v) for v in (a, b, c)] == [2, 1, 5]
    assert float(f(6.0)) == pytest.approx(np.exp(2) + 6) and [float(v) for v in (a, b, c)] == [1, 2, 6]


def test_an_argument_that_a_variable_takes_stays_as_it_is():
    """Check a view of an argument, since later steps write into buffers that the variable owns."""
    with dt.engine("torch"):
        v, x = dt.Variable(np.zeros(4096, "float32")), ops.ones((4096,))
        view = ops.reshape(x, (64, 64))
        f = dt.function(graph_of(lambda x: [v.assign(x), ops.exp(x)][1], dt.spec((4096,)), Exp="numpy"))
        step = dt.function(lambda: [v.assign(v + 1.0), None][1])
        f(x)
        del x
        for _ in range(4):
            step()
        assert (view.numpy() == 1).all() and (v.numpy() == 5).all()


def test_results_are_not_the_memory_of_the_next_value():
    """Check that a variable's old and new values, moved to another engine and back, stay as they were."""
    v = dt.Variable(np.ones(4096, "float32"), name="v")

    def step():
        before = v.value
        v.assign(v * 2.0)
        return ops.reshape(before, (64, 64)), ops.reshape(v.value, (64, 64))

    graph = traced(step)
    for op in graph.operations:
        if op.type == "Reshape":
            op.engine = "torch"
    f = dt.function(graph)
    found = [f() for _ in range(5)]
    for n, (before, after) in enumerate(found):
        assert (before.numpy() == 2**n).all() and (after.numpy() == 2 ** (n + 1)).all()


def test_a_segment_that_fails_changes_no_variable(monkeypatch):
    v, w = dt.Variable(0.0), dt.Variable(0.0)

    def step():
        v.assign_add(1.0)
        w.assign(ops.exp(w))

    graph = traced(step)
    graph.get_operation("Exp").engine = "torch"
    f = dt.function(graph)
    f()
    concrete = f._traces.get(f._last_key).concrete
    last = concrete.plan(NUMPY).segments[-1]

    def failing(*args, into=None):
        raise RuntimeError("the machine broke")

    monkeypatch.setattr(last, "executable", failing)
    with pytest.raises(RuntimeError, match="the machine broke"):
        f()
    assert (float(v), float(w)) == (1, 1)
    monkeypatch.undo()
    f()
    assert float(v) == 2


def test_shapes_that_depend_on_what_another_engine_computes(monkeypatch):
    torch = get_engine("torch")
    monkeypatch.setattr(torch, "static_shapes", True)
    graph = traced(lambda x: ops.exp(ops.nonzero(x)[0]), dt.spec((4,)))
    graph.get_operation("Exp").engine = "torch"
    with pytest.raises(
        ValueError, match=r"at test_placement.py:\d+: the shape of .* float32\[\?\], depends on .* torch"
    ):
        Plan(graph, NUMPY)


def test_errors_name_the_engine_of_the_operation():
    graph = traced(lambda x, y: ops.exp(x) + y, dt.spec((None,)), dt.spec((None,)))
    graph.get_operation("AddV2").engine = "torch"
    f = dt.function(graph)
    with pytest.raises(ValueError, match=r"AddV2 at test_placement.py:\d+: torch says"):
        f(np.zeros(2, "float32"), np.zeros(3, "float32"))


def test_what_any_engine_refuses_no_plan_runs(monkeypatch):
    f = dt.function(graph_of(lambda x: ops.exp(x), Exp="torch"))
    f(X)

    def refuse():
        raise RuntimeError("not in this process")

    monkeypatch.setattr(get_engine("torch").around, "refused", refuse)
    with pytest.raises(RuntimeError, match="not in this process"):
        f(X)


def test_k_functions():
    x = K.placeholder((None, 3))
    y = K.exp(x)
    y.op.engine = "torch"
    f = K.function([x], [y * 2.0])
    np.testing.assert_allclose(f([X])[0], 2 * np.exp(X), rtol=1e-6)
    assert described(f._program._concrete(False).plan(NUMPY)) == [("torch", ["Exp"]), ("numpy", ["Mul"])]


# -- text -------------------------------------------------------------------------------------------------------------


def test_text():
    v = dt.Variable(0.0, name="v")
    graph = graph_of(lambda x: [v.assign(ops.sum(ops.tanh(x))), ops.exp(x) * 2.0][1], Tanh="torch")
    assert str(Plan(graph, NUMPY)).splitlines() == [
        "plan of '<lambda>' on numpy: 2 segments, 2 transfers, assigns v",
        "  move arg0:0 from numpy to torch, 24 B",
        "  torch (cpu:0): Tanh",
        "  move Tanh:0 from torch to numpy, 24 B",
        "  numpy (cpu:0): Sum, Exp, Mul",
    ]
    assert str(Plan(graph_of(lambda x: x), NUMPY)).splitlines()[1:] == ["  numpy (cpu:0): nothing to compute"]
    assert "on torch" in str(graph)


@pytest.mark.parametrize("count", [6, 7])
def test_operations_are_named_where_they_are_few(count):
    def tanhs(x):
        for _ in range(count):
            x = ops.tanh(x)
        return x

    line = str(Plan(graph_of(tanhs), NUMPY)).splitlines()[1]
    assert line.removeprefix("  numpy (cpu:0): ") == (", ".join(["Tanh"] * 6) if count == 6 else "7 operations")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_looped", [False, True])
def test_python_is_called_in_program_order(engine, is_looped):
    """Check calls that need no result of each other; an engine that compiles programs has segments between them."""
    seen = []

    def call(name, x):
        return OPS["PyFunc"]([x], lambda value: [seen.append(name), value][1], ["float32"])[0]

    def function(x):
        y = call("first", ops.tanh(x) * 2)
        if is_looped:
            y = ops.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, call("inner", v)), (0, y))[1]
        return ops.exp(y), call("last", x)

    dt.function(function, engine=engine)(ops.convert(np.ones(3, "float32")))
    seen.clear()
    dt.function(function, engine=engine)(ops.convert(np.ones(3, "float32")))
    assert seen == ["first", *["inner"] * 2 * is_looped, "last"]
