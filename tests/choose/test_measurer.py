"""The choice of the engine that is measured as fastest, by the times of calls."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import costs, estimates, ledger, measured_plan, measurer
from dovetail.choose.candidate import Candidate
from dovetail.core.base import memory
from dovetail.core.engines import engine_registry
from dovetail.core.engines.engine_registry import get_engine, list_candidates
from dovetail.execute.choice import Strategy
from dovetail.functions.function import Function, Options
from tests.choose.measuring import (
    CALLS,
    Clock,
    X,
    called,
    chosen,
    line,
    needs_two,
)
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


@needs_two
def test_the_fastest_is_chosen(monkeypatch):
    fastest = ENGINES[-1]
    clock = Clock(monkeypatch, **{fastest: 0.5})
    plan, results = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert chosen(plan) == fastest and str(plan).startswith(f"now: {fastest}, of ") and plan.status == ""
    for result in results:
        assert result.engine == "numpy"
        np.testing.assert_allclose(result, np.tanh(X * 2 + 1), rtol=1e-5)
    assert set(clock.ran) >= set(ENGINES) and clock.ran[-CALLS // 2 :].count(fastest) > 0.8 * CALLS // 2


def test_a_graph_that_is_traced_anew_goes_on_with_its_times_alone_and_in_groups():
    graph = dt.function(lambda x: line(x, 2.0, 1.0)).graph(dt.spec((3,)))
    first, second = (measurer.Measurer(graph, [(3,)], keeps=True) for _ in range(2))
    alone, group = Strategy("numpy"), Strategy("numpy", group=32)
    first.begin(["numpy"], ahead=0)
    first.state.arms[alone].saw([1e-4] * 7)
    first.allow_groups(32, joins=False)
    first.state.arms[group].saw([1e-5] * 7)
    first.state.done = 500
    second.begin(["numpy"], ahead=0)
    second.allow_groups(32, joins=False)
    assert second.state.done == 500 and not second.state.arms[group].is_ready
    assert (second.state.arms[alone].times, second.state.arms[group].times) == ([1e-4] * 7, [1e-5] * 7)


def test_groups_of_an_engine_tell_what_those_of_others_save():
    """Check the cost of a group, too: of its own program, since its single step is there before it."""
    graph = dt.function(lambda x: line(x, 2.0, 1.0)).graph(dt.spec((3,)))
    mine = measurer.Measurer(graph, [(3,)], keeps=False)
    numpy, jax = Strategy("numpy"), Strategy("jax")
    mine.begin(["numpy", "jax"], ahead=0)
    for strategy in (numpy, jax):
        mine.state.arms[strategy].saw([1e-3] * 7)
    mine.allow_groups(32, joins=False)
    mine.state.current, groups = numpy, [mine.state.arms[strategy._replace(group=32)] for strategy in (numpy, jax)]
    guessed = groups[1].predicted.seconds
    groups[0].is_ready, mine.state.current = True, groups[0].strategy
    for _ in range(measurer.FIRST_CALLS):
        mine.observe(groups[0].strategy, 32 * 2e-4, counts=True)
    assert groups[1].predicted.seconds < 0.6 * guessed
    build = measurer.costs.known.build_seconds("jax", mine.work)
    assert groups[1].start == build and mine.state.arms[jax].start >= build


@needs_two
def test_memory_is_given_back_after_a_trial(monkeypatch):
    Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    work = []
    monkeypatch.setattr(measured_plan, "later", work.append)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X)
    tried = sum(arm.calls > 1 for arm in plan.measurer.state.arms.values()) - 1
    assert len(work) >= tried > 0 and {*work} == {memory.give_back}


@needs_two
def test_results_that_stay_are_where_they_are_computed(monkeypatch):
    """Check measuring from call to call, since an engine may still compute results while the program goes on."""
    fastest = ENGINES[-1]
    Clock(monkeypatch, **{fastest: 0.5})
    function = Function(lambda x: line(x, 2.0, 1.0), options=Options(engine="auto", stays=True))
    plan, results = called(function, X)
    assert {result.engine for result in results} == {get_engine(name).holder.name for name in list_candidates()}
    assert results[-1].engine == fastest == chosen(plan)
    for result in results:
        np.testing.assert_allclose(result, np.tanh(X * 2 + 1), rtol=1e-5)


@pytest.mark.parametrize("stays", [True, False])
def test_a_call_ends_when_another_graph_runs(monkeypatch, stays):
    """In a GAN three graphs take turns: none counts the time of the others."""
    clock = Clock(monkeypatch)
    mine = Function(lambda x: line(x, 2.0, 1.0), options=Options(engine="auto", stays=True))
    other = Function(lambda x: line(x, 3.0, 1.0), options=Options(engine="auto", stays=stays))
    for _ in range(60):
        clock.seconds = dict.fromkeys(list_candidates(), 1.0)
        mine(X)
        clock.now += 0.25  # the program's own work
        clock.seconds = dict.fromkeys(list_candidates(), 8.0)
        other(X)
    own, others = ([t for arm in f.plan(X).measurer.state.arms.values() for t in arm.times] for f in (mine, other))
    assert own and others and max(own) < 1.4 and min(others) >= 8.0


@needs_two
def test_a_little_faster_is_not_enough(monkeypatch):
    Clock(monkeypatch, **{ENGINES[-1]: 0.98})
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert chosen(plan) == plan.chosen.strategy.name != ENGINES[-1]


@pytest.mark.skipif(len(ENGINES) < 3, reason="it takes two that are faster than the first")
@pytest.mark.parametrize("drift", [0.994, 1.0, 1.006])
@pytest.mark.parametrize("others", [0.58, 1.0])
def test_a_machine_that_becomes_slower_or_faster_does_not_decide(monkeypatch, drift, others):
    fastest, next_one = ENGINES[-1], ENGINES[1]
    monkeypatch.setattr(costs.Corrections, "start_seconds", lambda self, engine, work: 0.0)  # as if all were ready
    monkeypatch.setattr(costs.Corrections, "predict", lambda self, engine, work: estimates.Estimate(-0.5, 0.3))
    clock = Clock(monkeypatch, **dict.fromkeys(list_candidates(), 0.58) | {fastest: 0.5, next_one: others})
    run = Candidate.run

    def drifting(candidate, arguments):
        found = run(candidate, arguments)
        clock.seconds = {name: seconds * drift for name, seconds in clock.seconds.items()}
        return found

    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    monkeypatch.setattr(Candidate, "run", drifting)
    plan, _ = called(function, X)
    assert chosen(plan).partition(" ")[0] == fastest, str(plan)


@needs_two
@pytest.mark.parametrize("count", [0, 3, CALLS])
def test_a_strategy_can_be_pinned(monkeypatch, count):
    """Check pins before, during and after measuring; the numbers are the same."""
    Clock(monkeypatch)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    for _ in range(count):
        function(X)
    plan = function.plan(X)
    name = ENGINES[count % len(ENGINES)]
    plan.pin(name)
    for _ in range(3):
        np.testing.assert_allclose(function(X), np.tanh(X * 2 + 1), rtol=1e-5)
        assert plan.chosen.strategy.name == name and plan.status == "" and plan.is_settled
    with pytest.raises(ValueError, match=f"no strategy 'abacus'; it has .*'{name}'"):
        plan.pin("abacus")
    assert plan.chosen.strategy.name == name
    for other in ENGINES:  # other strategies can still be pinned
        plan.pin(other)
        np.testing.assert_allclose(function(X), np.tanh(X * 2 + 1), rtol=1e-5)
        assert plan.chosen.strategy.name == other


@needs_two
def test_a_slow_strategy_gets_few_calls(monkeypatch):
    slow = ENGINES[1]
    clock = Clock(monkeypatch, **{slow: 5.0})
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert clock.ran.count(slow) <= (estimates.WARM + estimates.TURN) * 2 and chosen(plan) != slow


def test_nothing_is_learned_without_room(monkeypatch):
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(0.0))
    clock = Clock(monkeypatch)
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert len(set(clock.ran)) == 1 and plan.measurer.state.done == CALLS


@pytest.mark.parametrize("calls", [1, 7, 64, 200])
def test_calls_that_are_not_timed_count(monkeypatch, calls):
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(0.0))
    monkeypatch.setattr(measurer, "WATCHED", 64)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X, count=calls)
    assert (
        calls - 64 <= plan.measurer.state.done <= calls
        and sum(a.calls for a in plan.measurer.state.arms.values()) <= 15
    )


def test_one_call_in_about_64_is_timed_once_nothing_is_tried(monkeypatch):
    """Check that its time counts, so that the first calls, which are slow, do not stay the only ones."""
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(0.0))
    monkeypatch.setattr(measurer, "WATCHED", 64)
    Clock(monkeypatch, **dict.fromkeys(ENGINES, 1e-4))
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X, count=1000)
    assert 15 <= len(estimates.champion(plan.measurer.state).times) <= 25


@pytest.mark.skipif("torch" not in ENGINES, reason="the others take their threads for ever")
@pytest.mark.parametrize(
    ("threads", "kind", "short", "considered"),
    [(2, "loop", 0.0, True), (2, "line", 0.0, False), (2, "line", 1.0, True), (1, "loop", 1.0, False)],
)
def test_one_thread_is_considered_for_loops_and_short_steps(monkeypatch, threads, kind, short, considered):
    torch = engine_registry.get_engine("torch")
    monkeypatch.setattr(type(torch), "thread_count", threads)
    monkeypatch.setattr(measurer, "SHORT", short)
    seen = []
    set_threads = sys.modules["torch"].set_num_threads
    monkeypatch.setattr(sys.modules["torch"], "set_num_threads", lambda n: (seen.append(n), set_threads(n)))
    programs = {
        "loop": lambda x: ops.scan(lambda a, b: (a * 0.5 + b, a), ops.sum(x), x)[1],
        "line": lambda x: line(x, 2.0, 1.0),
    }
    plan = dt.function(programs[kind], engine="auto").plan(X)
    plan.try_to_prepare(Strategy("torch"))
    one = Strategy("torch", threads=1)
    assert (one in plan.measurer.state.arms) == considered
    if considered:
        plan.try_to_prepare(one)
        before = sys.modules["torch"].get_num_threads()
        plan.pin(one.name)
        found = plan([X])[0]
        plan.pin("torch")
        np.testing.assert_allclose(found, plan([X])[0], rtol=1e-6)
        assert seen[:2] == [1, before] and sys.modules["torch"].get_num_threads() == before


@pytest.mark.parametrize(("is_pressed", "wanted"), [(False, 0.02), (True, 4e-4)])
def test_threads_that_wait_for_each_other_say_nothing_of_one_thread(is_pressed, wanted):
    graph = dt.function(lambda x: line(x, 2.0, 1.0)).graph(dt.spec((3,)))
    mine = measurer.Measurer(graph, [(3,)], keeps=False)
    mine.begin(["numpy"], ahead=0)
    arm, mine.state.is_pressed, mine.state.widened = mine.state.arms[Strategy("numpy")], is_pressed, True
    arm.rated = math.log(2e-4)
    arm.saw([0.02] * 7)
    mine.consider_threads(arm.strategy, 2)
    one = mine.state.arms[Strategy("numpy", threads=1)]
    assert math.exp(one.predicted.mean) == pytest.approx(wanted, rel=0.1)


def test_groups_are_foreseen_by_the_first_times_of_a_step():
    """Check that a step that takes far longer than predicted says so of its groups before they are tried."""
    graph = dt.function(lambda x: line(x, 2.0, 1.0)).graph(dt.spec((3,)))
    mine, numpy = measurer.Measurer(graph, [(3,)], keeps=False), Strategy("numpy")
    mine.begin(["numpy"], ahead=0)
    mine.allow_groups(32, joins=False)
    mine.state.current, mine.state.arms[numpy].is_ready = numpy, True
    group = mine.state.arms[numpy._replace(group=32)]
    before = group.predicted.seconds
    for _ in range(measurer.FIRST_CALLS - 1):
        mine.observe(numpy, 0.02, counts=True)  # more than a call costs
    assert before < 1e-4 and group.predicted.seconds > 5e-3


def test_the_log_has_the_rows_of_the_plan(caplog):
    with caplog.at_level("INFO", "dovetail.plan"):
        plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X, count=20)
        plan.measurer.keep(is_last=True)
    rows = [text.strip() for text in str(plan).splitlines()[1:] if ": predicted" in text]
    assert len(rows) >= len(ENGINES) and "learning has cost" in caplog.text
    said = caplog.records[-1].getMessage()
    assert [row.partition(",")[0] for row in rows] == [
        text.partition(",")[0] for text in said.splitlines() if ": predicted" in text
    ]
