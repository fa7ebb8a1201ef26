"""Who chooses engines by measuring: programs, variables of the environment, forked processes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.core.engines import engine_registry
from tests.choose.measuring import X
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


def test_who_says_auto():
    function = dt.function(lambda x: x + 1.0)
    with dt.engine("auto"):
        assert isinstance(function.plan(X), MeasuredPlan)
        assert ops.ones(2).engine == "numpy"
        with dt.engine("numpy"):
            assert not isinstance(function.plan(X), MeasuredPlan)
        assert isinstance(function.plan(X), MeasuredPlan)
    assert not isinstance(function.plan(X), MeasuredPlan)


@pytest.mark.parametrize(("said", "chooses"), [(None, True), ("auto", True), ("numpy", False)])
def test_engines_are_chosen_unless_a_program_says_one(said, chooses):
    plan = "dt.function(lambda x: x + 1.0).plan(1.0)"
    program = f"import dovetail as dt; print(type({plan}).__name__, dt.ops.ones(2).engine)"
    environment = {name: value for name, value in os.environ.items() if name != "DOVETAIL_ENGINE"}
    environment |= {} if said is None else {"DOVETAIL_ENGINE": said}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["MeasuredPlan" if chooses else "Plan", "numpy"], done.stderr


IN_A_CHILD = """
import os, numpy as np, dovetail as dt
from dovetail.execute.choice import Strategy

total = dt.Variable(np.zeros(3, "float32"))
steady = dt.function(lambda x: x + 1.0, deterministic=True)

@dt.function(engine="auto")
def add(x):
    total.assign_add(x)
    return total * 2.0

x = np.ones(3, "float32")
plan = add.plan(x)
plan.try_to_prepare(Strategy("jax"))
plan.pin("jax")
add(x)
assert add.plan(x).chosen.strategy.engine == "jax" and steady(x).numpy()[0] == 2.0
where = steady.plan(x).chosen.strategy.engine
child = os.fork()
if child == 0:
    result = add(x)
    other = add(np.ones(1, "float32"))
    told = result.engine, float(result.numpy()[0]), float(other.numpy()[0]), add.plan(x).chosen.strategy.engine
    assert steady(x).numpy()[0] == 2.0 and steady.plan(x).chosen.strategy.engine == where
    print(told == ("numpy", 4.0, 6.0, "numpy") or told, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(add(x).numpy()[0] == 4.0, add.plan(x).chosen.strategy.engine)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.skipif("jax" not in ENGINES, reason="it does not work in a forked process")
def test_a_forked_child_goes_on_at_home():
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["True", "True", "jax"], done.stdout + done.stderr


def test_a_pinned_graph_runs_as_it_is_pinned():
    graph = dt.function(lambda x: ops.exp(x)).graph(dt.spec((3,)))
    graph.get_operation("Exp").engine = "numpy"
    assert not isinstance(dt.function(graph, engine="auto").plan(np.ones(3, "float32")), MeasuredPlan)


def test_a_function_of_one_engine(engine):
    function = dt.function(lambda x, y: x * y, engine=engine)
    with dt.engine("numpy"):
        result = function(X, ops.constant(X))
        assert result.engine == engine
        np.testing.assert_allclose(result, X * X)
        assert function(X, ops.constant(X)).engine == engine


def test_unknown_engines():
    with pytest.raises(dt.errors.UnknownEngine, match="there is no engine 'fast'"):
        dt.function(lambda x: x, engine="fast")


def test_libraries_that_come_later_leave_room_on_devices(monkeypatch):
    monkeypatch.setattr(engine_registry, "_loaded", {})
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false")  # the user's own setting
    engine_registry.share_devices()
    assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] == "false"
