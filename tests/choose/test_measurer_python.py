"""Measured graphs that call the user's Python, and graphs that are pinned to devices."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import policy
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.choose.measurer import Measurer
from dovetail.execute.choice import Strategy
from dovetail.execute.plan import Plan
from dovetail.ops.control.host_calls import py_func, require
from tests.choose.measuring import Clock, X, begin_on, called, needs_two
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


def counted(seen):
    """A function that adds the number of its calls so far."""

    def count(x):
        seen.append(1)
        return x + np.float32(len(seen))

    return lambda x: ops.tanh(py_func([x], count, ["float32"], [X.shape])[0] * 0.01)


def checked(x):
    require(ops.all(x < 2.0), [x], "it is too large:")
    return ops.tanh(x)


def on_device(x):
    with dt.device("cpu:0"):
        return ops.tanh(x)


PROGRAMS = {
    "a check": checked,
    "a print": lambda x: ops.tanh(ops.print_tensor(x, "x")),
    "a device": on_device,
}


@needs_two
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fastest_engine_is_chosen(monkeypatch, name):
    Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    plan, results = called(dt.function(PROGRAMS[name], engine="auto"), X, count=150)  # the predictions are no help
    assert plan.chosen.strategy.engine == ENGINES[-1]
    np.testing.assert_allclose(results[-1], np.tanh(X), rtol=1e-5)


@needs_two
def test_a_users_function_is_called_once_in_each_call(monkeypatch):
    seen = []
    Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    plan, results = called(dt.function(counted(seen), engine="auto"), X, count=60)
    assert plan.chosen.strategy.engine == ENGINES[-1] and len(seen) == 60
    for number, result in enumerate(results, 1):
        np.testing.assert_allclose(result, np.tanh((X + number) * 0.01), rtol=1e-5)


@needs_two
def test_a_call_that_fails_after_a_users_function_is_not_made_again(monkeypatch):
    begin_on(monkeypatch, ENGINES[-1])
    seen = []

    def refused(x):
        seen.append(1)
        raise RuntimeError("no more batches")

    function = dt.function(lambda x: py_func([x], refused, ["float32"], [X.shape])[0], engine="auto")
    with pytest.raises(ValueError, match="no more batches"):
        function(X)
    assert len(seen) == 1 and function.plan(X).chosen.strategy.engine == ENGINES[-1]


@needs_two
def test_an_engine_that_fails_before_a_users_function_is_left_out(monkeypatch):
    """Check a program that cannot be made: it is made before the first call."""
    engine, seen, prepare = ENGINES[-1], [], Plan.prepare
    monkeypatch.setattr(
        policy, "first", lambda state, arms: max((a.strategy for a in arms), key=lambda s: s.engine == engine)
    )
    monkeypatch.setattr(policy, "bridge", lambda *args: None)

    def failing(plan):
        if plan.engine.name == engine:
            raise MemoryError("too large")
        prepare(plan)

    monkeypatch.setattr(Plan, "prepare", failing)
    plan, _ = called(dt.function(counted(seen), engine="auto"), X, count=3)
    assert plan.chosen.strategy == Strategy("numpy") and len(seen) == 3


def test_steps_that_call_python_have_no_groups():
    graphs = [dt.function(f).graph(dt.spec(X.shape)) for f in (counted([]), ops.tanh)]
    measurers = [Measurer(graph, [X.shape], keeps=False) for graph in graphs]
    for measurer in measurers:
        measurer.allow_groups(32, joins=False)
    assert [measurer.group_size for measurer in measurers] == [1, 32]


def test_a_device_for_which_no_other_may_stand_in_is_not_measured():
    plans = []
    for is_soft in (True, False):
        dt.set_soft_placement(is_soft)
        try:
            plans.append(dt.function(on_device, engine="auto").plan(X))
        finally:
            dt.set_soft_placement(True)
    assert [isinstance(plan, MeasuredPlan) for plan in plans] == [True, False]
