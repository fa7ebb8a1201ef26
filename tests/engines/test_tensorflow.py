"""TensorFlow's peculiarities: XLA compiles programs that run often; its variables; keys in traces."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.execute.plan import Plan
from dovetail.execute.segment import Segment
from tests.libraries import Library, require
from tests.ops.table import draw, float_arrays, identifier, leaves, replace_arrays
from tests.ops.test_table import check_close

tf, executable = map(Library, ("tensorflow", "dovetail.engines.tensorflow.executable"))
require("tensorflow", "it is the engine")


def run_twice(function, *arrays):
    """Results of a function's program by TensorFlow, then by XLA; None if the program stays with TensorFlow."""
    engine = get_engine("tensorflow")
    graph = optimized_copy(dt.function(function).graph(*arrays), engine)
    if not executable.fits_xla(graph):
        return None
    run = executable.Executable(Segment(graph, Place(engine)))
    values = [ops.convert(a, engine="tensorflow").value for a in arrays]
    return [[y.numpy() for y in run(*values)] for _ in range(2)]


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.samples], ids=identifier)
def test_xla(op, monkeypatch, rng):
    """Check XLA's results against TensorFlow's for every op that XLA can compile according to the table."""
    monkeypatch.setattr("dovetail.engines.tensorflow.executable.OFTEN", 2)
    args, kwargs = draw(op.samples[0], rng)
    arrays = float_arrays(args, kwargs)

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return op(*moved, **named)

    with dt.engine("tensorflow"):
        found = run_twice(lambda *new: tuple(leaves(call(*new))), *arrays)
    if found is None:
        assert op.name in executable.WITHOUT_XLA or op.samples[0].dynamic or op.body is not None
    else:
        for first, second in zip(*found, strict=True):
            check_close(second, first, 1e-4)


@pytest.mark.parametrize("strategy", ["", "xla"])
def test_a_plan_says_whether_xla_compiles(monkeypatch, strategy):
    """Check that XLA compiles before the first call, or never; a program slow in XLA has no other strategy."""
    monkeypatch.setattr("dovetail.engines.tensorflow.executable.OFTEN", 2)
    found = get_engine("tensorflow")
    traced = []
    monkeypatch.setattr(executable.Executable, "traced", traced_by(executable.Executable.traced, traced))
    graph = dt.function(lambda x: ops.tanh(x) * 2.0).graph(dt.spec((3,)))
    plan = Plan(graph, found, variants=found.strategies[strategy])
    plan.prepare()
    assert traced == ([False, True] if strategy else [False])
    for _ in range(4):
        (result,) = plan([found.asarray(np.ones(3), dt.dtypes.as_dtype("float32"))])
    np.testing.assert_allclose(result, 2 * np.tanh(np.ones(3)), rtol=1e-6)
    assert traced == ([False, True] if strategy else [False])
    pooled = dt.function(lambda x: ops.max_pool(x, (2, 2), (2, 2))).graph(dt.spec((1, 4, 4, 1)))
    variants = found.strategies.values()
    assert [len({found.rule_choices(g, each) for each in variants}) for g in (graph, pooled)] == [2, 1]


def traced_by(method, traced):
    def record(self, xla):
        traced.append(xla)
        return method(self, xla)

    return record


def test_a_step_that_runs_often_goes_on_with_xla(monkeypatch):
    monkeypatch.setattr("dovetail.engines.tensorflow.executable.OFTEN", 3)
    with dt.engine("tensorflow"):
        w = dt.Variable(np.ones(3, "float32"))

        @dt.function
        def step(x):
            total, _ = ops.scan(lambda total, row: (total + ops.tanh(row * w), None), ops.zeros(3), x)
            w.assign_sub(0.1 * total)
            return ops.sum(total)

        x = np.linspace(-1, 2, 12, dtype="float32").reshape(4, 3)
        expected, value = [], np.ones(3, "float32")
        for _ in range(6):
            total = np.tanh(x * value).sum(0)
            value = value - 0.1 * total
            expected.append(total.sum())
        np.testing.assert_allclose([float(step(x)) for _ in range(6)], expected, rtol=1e-5)
        np.testing.assert_allclose(w.numpy(), value, rtol=1e-5)


@pytest.mark.parametrize("where", ["plain", "loop"])
def test_errors_of_running_programs_name_the_op_and_the_line(where):
    def chosen(x, y):
        found = ops.boolean_mask(x, x > 0)
        if where == "plain":
            return found + y
        return ops.scan(lambda total, _: (total + ops.sum(found + y), None), 0.0, length=2)[0]

    with dt.engine("tensorflow"):
        f = dt.function(chosen)
        f(np.float32([1, -1]), np.float32([1]))
        with pytest.raises(
            ValueError, match=r"(AddV2|Scan) at test_tensorflow.py:\d+: tensorflow says: .*[Ii]ncompatible"
        ):
            f(np.float32([1, -1, 2]), np.float32([1, 2, 3]))


def test_its_variables():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = ops.sum(ops.square(v) * 3.0)
    assert isinstance(y, tf.Tensor) and tape.gradient(y, v).numpy().tolist() == [6, 12]
    assert not isinstance(ops.identity(v), tf.Variable)
    held = dt.Variable(v)
    v.assign([5.0, 5.0])
    assert held.numpy().tolist() == [1, 2]


def test_keys_while_it_traces():
    engine = get_engine("tensorflow")
    assert not engine.is_tracing() and engine.fresh_key(0) is None
    seen = []

    @tf.function
    def draws():
        seen.append(engine.is_tracing())
        return ops.random.normal(engine.fresh_key(0), (4,))

    first, second = draws().numpy(), draws().numpy()
    assert seen == [True] and (first != second).all()


def test_gradients_of_ones_own(monkeypatch):
    # tf.map_fn sets a device, and leaves it if its function fails, as in other tests; tf.recompute_grad refuses it.
    monkeypatch.setattr(tf.compat.v1.get_variable_scope(), "_caching_device", None)

    @dt.custom_gradient
    def steep(x):
        return ops.tanh(x), lambda g: g * 2

    for run in (lambda f: f, tf.function):
        x = tf.constant([0.5, 1.0])

        @run
        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = steep(x) + dt.recompute_grad(lambda x: ops.square(ops.sin(x)))(x)
            return tape.gradient(y, x)

        np.testing.assert_allclose(gradient(x), 2 + np.sin(2 * x), rtol=1e-5)
