"""First engines of measured graphs: they start in the background, while another engine computes."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import costs, jobs, ledger, measured_plan, measurer
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.core.engines import engine_registry
from dovetail.core.engines.engine_registry import list_candidates
from dovetail.execute.choice import Strategy
from tests.choose.measuring import (
    CALLS,
    Clock,
    X,
    called,
    line,
    long_start,
    model,
    needs_two,
    train,
)
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


def test_an_import_makes_starts_cheaper_in_all_graphs(monkeypatch):
    monkeypatch.setattr(costs.Corrections, "load_seconds", lambda self, engine: 2.0)
    monkeypatch.setattr(costs.Corrections, "build_seconds", lambda self, engine, work: 0.25)
    functions = [dt.function(lambda x, w=w: line(x, w, 1.0), engine="auto") for w in (2.0, 3.0)]
    states = [function.plan(X).measurer.state for function in functions]
    starts = [{arm.strategy.engine: arm.start for arm in state.arms.values()} for state in states]
    assert starts == [dict.fromkeys(list_candidates(), 2.25)] * 2
    measurer.import_engine(ENGINES[-1])
    for state in states:
        assert {arm.strategy.engine: arm.start for arm in state.arms.values()} == starts[0] | {ENGINES[-1]: 0.25}


def test_the_first_call_tells_the_cost_of_a_program(monkeypatch):
    """Check the cost for the engine that runs first; others are prepared apart from their calls."""
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(0.0))
    clock = Clock(monkeypatch, **dict.fromkeys(ENGINES, 5.0))
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    function(X)
    clock.seconds = dict.fromkeys(list_candidates(), 1.0)
    plan, _ = called(function, X, count=10)
    engine = plan.chosen.strategy.engine
    assert costs.known.build_seconds(engine, plan.measurer.work) == pytest.approx(4.0, rel=0.1)
    assert [name for name, family in costs.known.factors if family == costs.BUILD] == [engine]


def test_plans_that_nobody_has_are_not_prepared(monkeypatch):
    asked = []
    monkeypatch.setattr(jobs, "later", asked.append)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    for _ in range(CALLS):
        function(X)
    del function
    gc.collect()
    monkeypatch.setattr(MeasuredPlan, "try_to_prepare", lambda *args: pytest.fail("it is prepared for nobody"))
    for job in asked:
        job()


@needs_two
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_another_engine_runs_until_the_first_one_is_ready(monkeypatch, rng, engine):
    """Check a training step: its variables go along, and the start costs nothing."""
    waiting = long_start(monkeypatch, engine)
    (alone, w, _), (measured, other_w, _) = model("numpy"), model("auto")
    batches = [(rng.normal(size=(4, 3)).astype("float32"), np.ones((4, 2), "float32")) for _ in range(12)]
    found = train(measured, batches[:6])
    plan = measured.plan(*batches[0])
    assert plan.chosen.strategy.engine == "numpy" and plan.measurer.state.current is None and len(waiting) == 1
    waiting.pop()()
    found += train(measured, batches[6:])
    assert plan.chosen.strategy == Strategy(engine) == plan.measurer.state.current
    assert plan.measurer.state.arms[Strategy(engine)].calls >= 5 and measurer.ledger.lost == 0
    np.testing.assert_allclose(found, train(alone, batches), rtol=1e-4)
    np.testing.assert_allclose(other_w.numpy(), w.numpy(), rtol=1e-4)


@needs_two
def test_the_first_engine_runs_as_soon_as_it_is_ready(monkeypatch):
    """Check a loop that asks for the size of the next group, which decides, before the engine is ready."""
    waiting = long_start(monkeypatch, ENGINES[-1])
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    function(X), function(X)
    state, group = function.plan(X).measurer.state, function.plan(X).measurer.next_group
    waiting.pop()()
    function(X)
    assert group == 1 and state.arms[Strategy(ENGINES[-1])].calls == 1


@needs_two
@pytest.mark.parametrize("compiles", [0.1, 9.0])
def test_a_call_imports_the_library_of_the_first_engine(monkeypatch, compiles):
    """Check that it makes the program, too, unless a compiler takes long for it."""
    engine, imported = ENGINES[-1], []
    waiting = long_start(monkeypatch, engine)
    monkeypatch.setattr(costs.Corrections, "build_seconds", lambda self, engine, work: compiles)
    monkeypatch.setattr(measured_plan, "import_engine", imported.append)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X, count=2)
    assert imported == ["numpy", engine] and len(waiting) == (compiles > 1.0)
    assert (Strategy(engine) in plan.candidates) == (compiles < 1.0)


@needs_two
def test_calls_that_the_start_of_the_first_engine_slows_are_no_cost_of_learning(monkeypatch):
    long_start(monkeypatch, ENGINES[-1])
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X, count=2)
    assert measurer.job.is_running
    plan.measurer.state.arms[plan.chosen.strategy].saw([0.1] * 5)
    plan.measurer.observe(plan.chosen.strategy, 9.0, True)
    assert measurer.ledger.lost == 0


@needs_two
def test_the_engine_that_runs_meanwhile_leaves_a_core_free(monkeypatch):
    monkeypatch.setattr(type(engine_registry.get_engine("numpy")), "thread_count", 2)
    seen = []
    counted = lambda n, run, given: seen.append(n) or run(given)  # noqa: E731
    monkeypatch.setattr(engine_registry.get_engine("numpy"), "with_threads", counted)
    waiting = long_start(monkeypatch, ENGINES[-1])
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X, count=3)
    assert plan.chosen.strategy == Strategy("numpy", threads=1) and seen == [1, 1, 1]
    waiting.pop()()
    called(function, X, count=3)
    assert plan.chosen.strategy == Strategy(ENGINES[-1]) and len(seen) == 3


@needs_two
def test_an_engine_that_cannot_run_meanwhile_is_left_out_with_all_its_threads(monkeypatch):
    monkeypatch.setattr(type(engine_registry.get_engine("numpy")), "thread_count", 2)
    long_start(monkeypatch, ENGINES[-1])
    make, tried = MeasuredPlan._make, []

    def fails_on_numpy(self, strategy):
        tried.append(strategy)
        assert len(tried) < 9, tried
        if strategy.engine == "numpy":
            raise NotImplementedError("numpy has no rule for it")
        return make(self, strategy)

    monkeypatch.setattr(MeasuredPlan, "_make", fails_on_numpy)
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X, count=2)
    assert plan.chosen.strategy == Strategy(ENGINES[-1])
    assert tried == [Strategy("numpy", threads=1), Strategy(ENGINES[-1])]


@needs_two
def test_only_one_engine_starts_in_the_background(monkeypatch):
    """Check that a second graph waits for its own first engine, which the background is importing."""
    engine = ENGINES[-1]
    waiting = long_start(monkeypatch, engine)
    first, second = (dt.function(lambda x, w=w: line(x, w, 1.0), engine="auto") for w in (2.0, 3.0))
    first(X), first(X), second(X)
    assert len(waiting) == 1
    assert second.plan(X).chosen.strategy == Strategy(engine)


def test_a_graph_starts_where_its_variables_are():
    """Check this so that a last, smaller batch does not move them from engine to engine."""
    engine = ENGINES[-1]
    w = dt.Variable(np.zeros((1000, 1000), "float32"))
    with dt.engine(engine):
        dt.function(lambda: w.assign_add(ops.ones((1000, 1000))))()
    plan = dt.function(lambda x: w.assign_add(x), engine="auto").plan(np.ones((1000, 1000), "float32"))
    state = plan.measurer.state
    assert state.place == engine and state.move > 0
    assert plan.chosen.strategy.engine == engine or min(arm.start for arm in state.arms.values()) > state.move


def test_the_first_strategy_suggests_others_after_a_few_calls(monkeypatch):
    monkeypatch.setattr(type(engine_registry.get_engine("numpy")), "thread_count", 2)
    begin = measurer.Measurer.begin
    monkeypatch.setattr(measurer.Measurer, "begin", lambda self, engines, *args: begin(self, ["numpy"], *args))
    function, one = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), Strategy("numpy", threads=1)
    plan, _ = called(function, X, count=3)
    assert one not in plan.measurer.state.arms
    called(function, X, count=5)
    assert one in plan.measurer.state.arms
