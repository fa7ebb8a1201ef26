"""An engine that only compiles whole graphs: another one computes its single calls and holds its values."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.errors import EngineNotInstalled, UnknownEngine
from dovetail.core.engine import Engine
from dovetail.core.engines import engine_registry
from dovetail.core.rules import Rules
from dovetail.core.values import value_kinds
from dovetail.execute.plan import Plan
from tests.engines.whole_graphs import CONVERTED
from tests.packages import OUTSIDE

X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setattr(engine_registry, "_loaded", dict(engine_registry._loaded))
    monkeypatch.setattr(value_kinds, "KINDS", dict(value_kinds.KINDS))
    monkeypatch.syspath_prepend(OUTSIDE)


@pytest.fixture
def current(installed):
    with dt.engine("whole"):
        yield


def engines(plan):
    """The engines of a plan's segments, in order."""
    return [segment.engine.name for segment in plan.segments]


# -- as the current engine --------------------------------------------------------------------------------------------


def session_run():
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec((2, 3)), "x")
        y = ops.exp(x) * 2.0
    with dt.Session(graph) as session:
        return session.run(y, {x: X})


def taped():
    x, w = ops.convert(X), dt.Variable(X.T)
    with dt.GradientTape() as tape:
        tape.watch(x)
        loss = ops.sum(dt.function(lambda x: ops.tanh(x @ w))(x))
    return [*tape.gradient(loss, [x, w]), loss]


def old_function():
    x = K.placeholder((2, 3))
    return K.function([x], [K.square(x) + 1.0])([X])[0]


def pinned():
    graph = dt.function(lambda x: ops.cos(ops.exp(x)) * 2.0).graph(dt.spec((2, 3)))
    graph.get_operation("Exp").engine = "whole"
    return dt.function(graph)(X)


def counted():
    v = dt.Variable(0.0)
    step = dt.function(lambda x: v.assign_add(ops.sum(x)))
    step(X + 1), step(X + 1)
    return v


def traced_inside():
    def f(x):
        with dt.engine("whole"):
            return ops.exp(x)

    return dt.function(f, engine="numpy")(X)


PROGRAMS = {
    "a variable": lambda: dt.Variable(X) + 1,
    "an operator": lambda: ops.convert(X) @ X.T,
    "convert": lambda: ops.convert(X, engine="whole"),
    "K": lambda: K.softmax(K.variable(X)),
    "K.function": old_function,
    "a tape": taped,
    "random numbers": lambda: ops.random.normal(3, (4,)),
    "K's random numbers": lambda: (K.clear_session(), K.random_uniform((4,), seed=1))[1],
    "a function": lambda: dt.function(lambda x: ops.exp(x) - 1.0)(X),
    "a function of its dtype": lambda: dt.function(lambda x: ops.cos(x))(X),
    "a signature": lambda: dt.function(lambda x: ops.exp(x), input_signature=[dt.spec((None, 3))])(X),
    "no arguments": lambda: dt.function(lambda: ops.exp(ops.ones(3)))(),
    "a variable in a function": counted,
    "a session": session_run,
    "a pinned operation": pinned,
    "an operation recorded in its scope": traced_inside,
    "control flow": lambda: dt.function(lambda x: ops.cond(ops.sum(x) > 9.0, lambda: x, lambda: ops.exp(x)))(X),
    "a loop": lambda: ops.scan(lambda total, row: (total + row, total), ops.zeros(3), X)[1],
    "text": lambda: repr(ops.convert(X)) + repr(dt.Variable([1.0], name="v")),
}


def numbers(value):
    """The numbers of a result, to compare."""
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return value if isinstance(value, str | np.ndarray) else value.numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_numpy_does(name):
    with dt.engine("numpy"):
        expected = numbers(PROGRAMS[name]())
    with dt.engine("whole"):
        found = numbers(PROGRAMS[name]())
    if isinstance(expected, str):
        assert found == expected
    else:
        for f, e in zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]:
            assert f.dtype == e.dtype
            np.testing.assert_allclose(f, e, rtol=1e-6, atol=1e-7)


def test_its_eager_engine_holds_its_values(current):
    f = dt.function(lambda x: ops.exp(x) * 2.0)
    values = ops.ones(3), dt.Variable(1.0), ops.convert(X, engine="whole"), f(X), ops.convert(X).device
    assert [v.engine for v in values[:-1]] == ["numpy"] * 4 and values[-1] == "cpu:0"
    assert engines(f.plan(X)) == ["whole"] and K.backend() == "whole"
    assert engine_registry.current_engine().name == "numpy" and engine_registry.compiling_engine().name == "whole"


def test_functions_know_the_current_engine_from_the_holder(installed):
    """Check that a function of tensors runs on the engine that is current in each call, as their holder is the same."""
    f, x = dt.function(lambda x: ops.exp(x) * 2.0), ops.convert(X, engine="numpy")
    found = {}
    for name in ("numpy", "whole", "numpy"):
        with dt.engine(name):
            found[name] = f(x).numpy(), engines(f.plan(x))
    assert [plan for _, plan in found.values()] == [["numpy"], ["whole"]]
    np.testing.assert_allclose(*(value for value, _ in found.values()), rtol=1e-6)


def test_tensors_of_another_engine_stay_there(current):
    pytest.importorskip("torch")
    x = ops.convert(X, engine="torch")
    f = dt.function(lambda x: ops.exp(x))
    assert (x + 1).engine == f(x).engine == "torch" and engines(f.plan(x)) == ["torch"]
    assert dt.function(lambda x: ops.exp(x), engine="whole")(x).engine == "numpy"


def test_values_move_to_it_and_back(current):
    pytest.importorskip("torch")
    w = dt.Variable(ops.convert(X, engine="torch"))
    step = dt.function(lambda: w.assign_add(ops.exp(w)), engine="whole")
    step()
    assert w.engine == "numpy" and ops.convert(w, engine="torch").engine == "torch"
    np.testing.assert_allclose(w.numpy(), X + np.exp(X), rtol=1e-6)


def test_no_rule_is_asked_for():
    engine = engine_registry.get_engine("whole")
    plan = Plan(dt.function(lambda x: ops.exp(x) * 2.0).graph(dt.spec((3,))), engine)
    assert plan([np.zeros(3, "float32")])[0].tolist() == [2, 2, 2]
    assert "lowered" not in vars(plan.segments[0]) and "Exp" not in engine.rules


def test_composites_that_it_does_not_claim_are_inlined():
    f = dt.function(lambda x: ops.squared_difference(x, 1.0), engine="whole")
    (segment,) = f.plan(np.zeros(3, "float32")).segments
    types = {op.type for op in segment.graph.operations} - {"Placeholder", "Const"}
    assert types <= CONVERTED.keys() and "SquaredDifference" not in types
    assert f(np.zeros(3, "float32")).numpy().tolist() == [1, 1, 1]


def test_a_training_step(current, rng):
    x, y = rng.normal(size=(8, 3)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")
    w = dt.Variable(np.zeros((3, 1), "float32"))

    @dt.function
    def step(x, y):
        with dt.GradientTape() as tape:
            loss = ops.sum(ops.square(x @ w - y))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    expected = np.zeros((3, 1))
    for _ in range(5):
        loss = step(x, y)
        np.testing.assert_allclose(float(loss), np.square(x @ expected - y).sum(), rtol=1e-4)
        expected = expected - 0.02 * x.T @ (x @ expected - y)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-4)
    assert engines(step.plan(x, y)) == ["whole"]


def test_the_engine_is_loaded_when_it_is_first_used():
    engine_registry._loaded.pop("whole", None)
    assert "whole" in dt.list_engines() and "whole" not in engine_registry._loaded
    assert dt.function(lambda x: ops.exp(x), engine="whole")(X).engine == "numpy"
    assert engine_registry._loaded["whole"].holder is engine_registry.get_engine("numpy")


# -- its declaration --------------------------------------------------------------------------------------------------


class Compiling(Engine):
    name = "compiling"
    compiles_programs = True


ERRORS = {
    "unknown": ("nump", UnknownEngine, r"'compiling' leaves its single calls to 'nump', .* there are numpy.*'numpy'\?"),
    "itself": ("compiling", UnknownEngine, "there is no other engine of this name"),
    "one that only compiles": ("whole", ValueError, "'whole' only compiles programs, too. Name an engine with rules"),
    "no name": (3, UnknownEngine, "leaves its single calls to 3"),
}


@pytest.mark.parametrize("which", ERRORS)
def test_an_engine_that_nobody_can_compute_for_is_refused(monkeypatch, which):
    name, error, text = ERRORS[which]
    load = engine_registry._load
    broken = type("Broken", (Compiling,), {"eager": name})(Rules())
    monkeypatch.setattr(engine_registry, "_load", lambda name: broken if name == "compiling" else load(name))
    with pytest.raises(error, match=text):
        engine_registry.get_engine("compiling")
    assert "compiling" not in engine_registry._loaded


def test_an_eager_engine_that_is_not_installed_is_named(monkeypatch):
    def load(name):
        if name == "compiling":
            return type("Broken", (Compiling,), {"eager": "torch"})(Rules())
        raise EngineNotInstalled(f"the engine {name!r} needs torch, which is not installed")

    monkeypatch.setattr(engine_registry, "_load", load)
    engine_registry._loaded.pop("torch", None)
    with pytest.raises(EngineNotInstalled, match="torch"):
        engine_registry.get_engine("compiling")
