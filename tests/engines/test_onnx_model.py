"""ONNX Runtime as an engine: the table of ops, training steps, memory, threads and refusals."""

import contextlib
import logging
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import EngineNotInstalled, UnknownEngine
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import BUILT_IN, HEIRS, get_engine, list_candidates
from dovetail.edit.graph import GraphTensor
from dovetail.execute.claims import NotClaimed
from dovetail.execute.placement import Place
from dovetail.execute.plan import Plan
from dovetail.execute.segment import Segment
from dovetail.ops.random.generator import Generator
from tests.engines.models import check_case
from tests.libraries import require
from tests.ops.table import CASES, cases, filled

require("onnxruntime", "the engine stands on it")

X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)

TOLERANCES = {"ResizeBilinear-3": 1e-4}  # ONNX Runtime computes positions in float32

# why ONNX Runtime does not compute an op → the ops, or samples of them
NOT_CLAIMED = {
    "does not compile it for complex": "Real-0 Real-2 Imag-0 Imag-2 Conj-0 Conj-2 Angle-0 FFT IFFT FFT2D IFFT2D IRFFT",
    "does not compile it for float": "Complex RFFT Eig",  # their results are complex
    "it decomposes no matrices": "Cholesky Lu Qr SelfAdjointEigV2 Svd Pinv Cofactors",
    "it solves no equations": "MatrixTriangularSolve MatrixSolve MatrixInverse MatrixExponential",
    "few operators for complex numbers": "MatrixSquareRoot",
    "calls Python": "Print",
    "keeps the size of elements": "Bitcast-2 Bitcast-3 Bitcast-4",
    "the rank of .* must be known": "PlaceholderWithDefault-2",
    "kernel_shape must only contain": "Conv1DBackpropFilter-3 Conv2DBackpropFilter-3 Conv3DBackpropFilter-3",
}
REASONS = {name: reason for reason, names in NOT_CLAIMED.items() for name in names.split()}


@pytest.fixture
def current():
    with dt.engine("onnxruntime"):
        yield


def engines(plan):
    """The engines of a plan's segments, in order."""
    return [segment.engine.name for segment in plan.segments]


# -- the table of ops -------------------------------------------------------------------------------------------------


@pytest.mark.each("op")
@cases(CASES)
def test_each_op_of_the_table(op, number):
    name = f"{op.name}-{number}"
    reason = REASONS.get(name) or REASONS.get(op.name)
    with nullcontext() if reason is None else pytest.raises(NotClaimed, match=reason):
        check_case("onnxruntime", op, number, TOLERANCES.get(name, 1e-5))


def _recorded(op, number):
    """The graph of a sample, with all of its arrays as inputs."""
    graph = dt.Graph(op.name)
    sample, generator = op.samples[number], np.random.default_rng(0)

    def given(array):
        drawn = array.draw(generator)
        return graph.placeholder(dt.spec(drawn.shape, drawn.dtype.name))

    with graph.as_default():
        result = op(*filled(sample.args, given), **{name: filled(v, given) for name, v in sample.kwargs.items()})
        found = result if op.returns_tuple else [result]
        graph.outputs = [one for one in found if isinstance(one, GraphTensor)]  # others were computed now
    return graph


CONTROL = {
    "Call": lambda x: OPS["Call"]([x], dt.function(lambda x: x + 1.0).graph(dt.spec((None,))))[0],
    "Complex": lambda x: ops.real(OPS["Complex"](x, x)),
    "Iota": lambda x: OPS["Iota"](OPS["Shape"](x)),
    "If": lambda x: ops.cond(ops.sum(x) > 1.0, lambda: x, lambda: -x),
    "While": lambda x: ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (ops.constant(0), x)),
    "Scan": lambda x: ops.scan(lambda total, row: (total + row, total * row), ops.constant(0.0), x),
}


def test_onnx_says_most_primitives():
    """Count the primitives that are in a program that can say itself."""
    graphs = [dt.function(function).graph(dt.spec((None,))) for function in CONTROL.values()]
    graphs += [_recorded(op, number) for op, number in CASES if op.body is None]
    said = {"ReadVariableOp", "AssignVariableOp"}  # they are inputs and outputs, see `test_a_training_step`
    for graph in graphs:
        with contextlib.suppress(NotImplementedError, TypeError):
            Segment(graph, Place(get_engine("numpy"))).to("onnx")
            said |= {op.type for part in (graph, *graph.subgraphs()) for op in part.operations if op.op.body is None}
    assert len(said) >= 95, sorted({op.name for op in OPS.values() if op.body is None} - said)


# -- programs ---------------------------------------------------------------------------------------------------------


def test_a_training_step(current, rng):
    x, y = rng.normal(size=(8, 3)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")

    def trained(name):
        w, b = dt.Variable(np.zeros((3, 4), "float32")), dt.Variable(np.ones((4, 1), "float32"))

        def step(x, y):
            with dt.GradientTape() as tape:
                loss = ops.mean(ops.square(ops.tanh(x @ w + 0.1) @ b - y))
            for variable, slope in zip((w, b), tape.gradient(loss, (w, b)), strict=True):
                variable.assign_sub(0.1 * slope)
            return loss

        step = dt.function(step, engine=name)
        losses = [float(step(x, y)) for _ in range(10)]
        assert engines(step.plan(x, y)) == [name]
        return [*losses, *w.numpy().ravel(), *b.numpy().ravel()]

    np.testing.assert_allclose(trained("onnxruntime"), trained("numpy"), rtol=1e-5, atol=1e-6)


def test_one_session_takes_all_sizes(current):
    f = dt.function(lambda x: ops.softmax(x * 2.0), input_signature=[dt.spec((None, 3))])
    for size in (1, 4, 7):
        x = np.ones((size, 3), "float32")
        np.testing.assert_allclose(f(x).numpy(), x / 3, rtol=1e-6)
    assert engines(f.plan(x)) == ["onnxruntime"] and len(f.traces) == 1


def test_nothing_is_copied_and_nothing_is_shared():
    plan = Plan(dt.function(lambda x: (x, x + 1.0, ops.ones(3))).graph(dt.spec((2, 3))), get_engine("onnxruntime"))
    first, again = plan([X]), plan([X])
    assert not any(np.shares_memory(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.shares_memory(found, X) for found in first)
    assert not first[1].flags.owndata and first[1].flags.writeable  # it is the session's memory
    first[2][:] = 5.0
    assert plan([X])[2].tolist() == [1, 1, 1]


def test_a_view_is_taken(current):
    f = dt.function(lambda x: x + 1.0)
    np.testing.assert_array_equal(f(np.arange(12, dtype="float32").reshape(3, 4).T[::2]).numpy()[0], [1, 5, 9])


# -- refusals ---------------------------------------------------------------------------------------------------------

REFUSED = {
    "ONNX has no way": (lambda x: ops.svd(x)[1], X, "decomposes no matrices"),
    "no dtype": (lambda x: ops.real(ops.cast(x, "complex64")), X, "does not compile it for float32"),
    "no kernel": (lambda x: ops.tan(x), X.astype("float64"), "NotImplemented"),
    "a print": (lambda x: ops.cond(ops.sum(x) > 9.0, lambda: ops.print_tensor(x), lambda: -x), X, "calls Python"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numpy_computes_what_it_refuses(name, caplog):
    function, x, reason = REFUSED[name]
    caplog.set_level(logging.INFO, "dovetail.plan")
    f = dt.function(function, engine="onnxruntime", name="f")
    with dt.engine("numpy"):
        np.testing.assert_allclose(f(x).numpy(), function(ops.convert(x)).numpy(), rtol=1e-6)
    assert engines(f.plan(x)) == ["numpy"]
    (record,) = caplog.records
    assert record.getMessage().startswith("onnxruntime does not claim 'f', so numpy computes its part: ")
    assert reason in record.getMessage()


def test_errors_of_values_name_the_op_and_the_line(current):
    f = dt.function(lambda x, shape: ops.reshape(x, shape) + 1.0)
    with pytest.raises(ValueError, match=r"Reshape at test_onnx_model.py:\d+"):
        f(X, np.array([4, 4]))
    assert f(X, np.array([3, 2])).shape == (3, 2) and engines(f.plan(X, np.array([3, 2]))) == ["onnxruntime"]


# -- weights ----------------------------------------------------------------------------------------------------------


def test_weights_that_stay_are_constants(current):
    w = dt.Variable(np.eye(3, dtype="float32"))
    f = dt.function(lambda x: x @ w)
    session = f.plan(X).segments[0].executable
    first = session.packed
    assert len(first.takes) == 1 and session.open is None
    np.testing.assert_array_equal(f(X).numpy(), X)
    w.assign(w.numpy())  # equal ones
    np.testing.assert_array_equal(f(X).numpy(), X)
    assert session.packed is first
    made = []
    for factor in (2.0, 3.0):
        w.assign(np.eye(3, dtype="float32") * factor)
        for _ in range(6):
            np.testing.assert_array_equal(f(X).numpy(), X * factor)
            made.append(session.packed is not None)
    assert made == [False, False, True, True, True, True, False, False, False, False, True, True]
    assert len(session.open.takes) == 2


def test_weights_without_values_are_inputs(current):
    graph = dt.SessionGraph()
    with graph.as_default():
        x = graph.placeholder(dt.spec((2, 3)))
        w = dt.Variable(graph.constant(np.eye(3, dtype="float32")))
        y = x @ w
    for session in (dt.Session(graph), dt.Session(graph)):
        for _ in range(3):
            np.testing.assert_array_equal(session.run(y, {x: X}), X)


@pytest.mark.parametrize("engine", ["numpy", "torch", "jax", "onnxruntime"])
def test_new_weights_count_at_once(engine):
    """Let another engine write new values, over the old ones if it does so."""
    require(engine, "it trains the weights")
    w = dt.Variable(np.eye(3, dtype="float32"))
    f = dt.function(lambda x: x @ w, engine="onnxruntime")
    step = dt.function(lambda: w.assign(w * 2.0), engine=engine)
    for number in range(4):
        for _ in range(4 + number):
            np.testing.assert_array_equal(f(X).numpy(), X * 2**number)
        step()
    for _ in range(3):
        step()
        np.testing.assert_array_equal(f(X).numpy(), X * w.numpy()[0, 0])
    assert f.plan(X).segments[0].executable.packed is None
    assert w.numpy()[0, 0] == 2.0**7


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_sessions_follow_the_number_of_threads(monkeypatch):
    engine = get_engine("onnxruntime")
    monkeypatch.setattr(engine, "threads", engine.threads)
    plan = Plan(dt.function(lambda x: x + 1.0).graph(dt.spec((2, 3))), engine)
    before = plan.segments[0].executable.packed.run.library
    assert engine.set_threads(2)
    np.testing.assert_array_equal(plan([X])[0], X + 1)
    session = plan.segments[0].executable.packed.run.library
    assert session is not before and session.get_session_options().intra_op_num_threads == 2
    assert session.get_session_options().get_session_config_entry("session.force_spinning_stop") == "1"


def test_it_works_in_a_forked_child():
    code = (
        "import os, dovetail as dt, numpy as np\n"
        "dt.set_threads(2)\n"
        "f = dt.function(lambda x: x @ x + 1.0, engine='onnxruntime')\n"
        "x = np.ones((500, 500), 'float32')\n"
        "f(x)\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(int(f(x).numpy()[0, 0] != 501))\n"
        "print(os.waitpid(child, 0)[1], f.plan(x).segments[0].engine.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0 onnxruntime\n", done.stderr


def test_prints_are_kept(capfd):
    f = dt.function(lambda x: ops.print_tensor(x, "seen ") * 2.0, engine="onnxruntime")
    np.testing.assert_array_equal(f(np.ones(2, "float32")).numpy(), [2, 2])
    assert "seen" in "".join(capfd.readouterr())


def test_numpy_calls_python(current):
    f = dt.function(lambda x: OPS["PyFunc"]([x * 2.0], np.square, ["float32"], [x.shape])[0] + 1.0)
    np.testing.assert_array_equal(f(X).numpy(), 4 * X * X + 1)
    assert engines(f.plan(X)) == ["onnxruntime", "numpy", "onnxruntime"]
    checked = dt.function(lambda x: (x + 1.0, OPS["Assert"](ops.sum(x) > 9.0, [x], "too small:"))[0])
    with pytest.raises(ValueError, match="too small: "):
        checked(X)


def test_taps_are_seen(current):
    f = dt.function(lambda x: dt.tap(x * 2.0, "doubled") + 1.0)
    with dt.taps({"doubled": "value"}) as seen:
        f(X)
    np.testing.assert_array_equal(seen["doubled"].value, X * 2)
    assert engines(f.plan(X)) == ["onnxruntime"]


def test_random_numbers_are_those_of_other_engines():
    def drawn(name):
        generator = Generator(1)
        f = dt.function(lambda: ops.random.normal(generator, (3,)), engine=name)
        return np.array([f().numpy() for _ in range(2)]), engines(f.plan())

    (found, ran_on), (expected, _) = drawn("onnxruntime"), drawn("numpy")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert ran_on == ["onnxruntime"] and (found[0] != found[1]).all()


def test_auto_chooses_among_it():
    assert "onnxruntime" in list_candidates() and "onnxruntime" not in dt.list_engines()
    f, refused = (dt.function(function, engine="auto") for function in (ops.tanh, lambda x: ops.svd(x)[1]))
    f(X), refused(X)
    plan = f.plan(X)
    plan.pin("onnxruntime")
    np.testing.assert_allclose(f(X).numpy(), np.tanh(X), rtol=1e-6)
    assert engines(plan) == ["onnxruntime"]
    with pytest.raises(NotClaimed, match="decomposes no matrices"):
        refused.plan(X).pin("onnxruntime")


# -- names ------------------------------------------------------------------------------------------------------------


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "onnxruntime", BUILT_IN["onnxruntime"]._replace(library="no_such_library"))
    monkeypatch.setattr("dovetail.core.engines.engine_registry._loaded", {})
    with pytest.raises(EngineNotInstalled, match="pip install onnxruntime"):
        get_engine("onnxruntime")


@pytest.mark.parametrize("name", HEIRS)
def test_engines_that_ended_have_heirs(name):
    with pytest.raises(UnknownEngine, match=f"Its heir is '{HEIRS[name]}': pip install {HEIRS[name]}"):
        dt.set_engine(name)
