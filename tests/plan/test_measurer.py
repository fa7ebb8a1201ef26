"""Graphs that run on the engine measured as fastest: numbers and state are right wherever they run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import engine_registry, memory
from dovetail.core.engine_registry import get_engine, list_candidates
from dovetail.plan import costs, ledger, measured_plan, measurer, policy
from dovetail.plan.candidate import Candidate
from dovetail.plan.function import Function, Options
from dovetail.plan.measured_plan import MeasuredPlan
from dovetail.plan.strategy import Strategy
from tests.conftest import ENGINES
from tests.plan.measuring import (
    CALLS,
    Clock,
    X,
    called,
    chosen,
    line,
    model,
    needs_two,
    train,
)

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
    monkeypatch.setattr(costs.Corrections, "predict", lambda self, engine, work: policy.Estimate(-0.5, 0.3))
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
    assert clock.ran.count(slow) <= (policy.WARM + policy.TURN) * 2 and chosen(plan) != slow


def test_nothing_is_learned_without_room(monkeypatch):
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: 0.0)
    clock = Clock(monkeypatch)
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert len(set(clock.ran)) == 1 and plan.measurer.state.done == CALLS


@pytest.mark.parametrize("calls", [1, 7, 64, 200])
def test_calls_that_are_not_timed_count(monkeypatch, calls):
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: 0.0)
    monkeypatch.setattr(measurer, "WATCHED", 64)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan, _ = called(function, X, count=calls)
    assert (
        calls - 64 <= plan.measurer.state.done <= calls
        and sum(a.calls for a in plan.measurer.state.arms.values()) <= 15
    )


def test_one_call_in_about_64_is_timed_once_nothing_is_tried(monkeypatch):
    """Check that its time counts, so that the first calls, which are slow, do not stay the only ones."""
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: 0.0)
    monkeypatch.setattr(measurer, "WATCHED", 64)
    Clock(monkeypatch, **dict.fromkeys(ENGINES, 1e-4))
    plan, _ = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X, count=1000)
    assert 15 <= len(policy.champion(plan.measurer.state).times) <= 25


@needs_two
def test_sessions_choose_too(monkeypatch):
    """Check sessions without a named engine: variables change as on one engine."""
    fastest = ENGINES[-1]
    clock = Clock(monkeypatch, **{fastest: 0.5})
    graph, w = dt.Graph(), dt.Variable(np.zeros(6, "float32"))
    with graph.as_default():
        x = graph.placeholder(dt.spec((None,)), "x")
        y = ops.tanh(x) + w
        w.assign_add(x)
    for name, engine in (("auto", None), ("numpy", "numpy")):
        w.assign(np.zeros(6, "float32"))
        clock.ran.clear()
        with dt.engine(name), dt.Session(graph, engine=engine) as session:
            for number in range(CALLS):
                found, _ = session.run([y, graph.operations[-1]], {x: X})
                np.testing.assert_allclose(found, np.tanh(X) + number * X, rtol=1e-4, atol=1e-4)
        assert (fastest in clock.ran[-5:]) if engine is None else not clock.ran


def test_training_goes_on_wherever_it_is_computed(rng):
    """Check that state, random numbers and losses equal one engine's, while candidates take turns and after."""
    batches = [(rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(4, 2)).astype("float32"))] * 150
    (alone, w, count), (measured, other_w, other_count) = model("numpy"), model("auto")
    np.testing.assert_allclose(train(measured, batches), train(alone, batches), rtol=1e-4)
    np.testing.assert_allclose(other_w.numpy(), w.numpy(), rtol=1e-4)
    assert int(count) == int(other_count) == len(batches)


def test_graphs_that_share_variables_notice_each_other():
    """Check graphs that share a variable directly, or through a third one; others are not visited."""
    first, second, other = (dt.Variable(np.zeros(3, "float32")) for _ in range(3))
    adds = [dt.function(f, engine="auto") for f in (lambda x: first.assign_add(x), lambda x: second.assign_add(x))]
    both = dt.function(lambda x: first.assign_add(x) + second, engine="auto")
    alone = dt.function(lambda x: other.assign_add(x), engine="auto")
    x = np.ones(3, "float32")
    for function in (*adds, alone):
        function(x), function(x)
    visits = [f.plan(x).measurer.state.visits for f in (*adds, alone)]
    assert visits == [0, 0, 0]
    for function in (both, *adds, alone, both):
        function(x), function(x)
    assert [f.plan(x).measurer.state.visits for f in (*adds, alone)] == [1, 1, 0]
    assert both.plan(x).measurer.state.visits == 2
    best = policy.champion(adds[1].plan(x).measurer.state).strategy
    assert both.plan(x).measurer.state.place == best.engine


@needs_two
def test_a_forward_and_its_backward_are_one_choice(monkeypatch, rng):
    """Check that each pair runs on one engine, and that the sum of their times decides."""
    fastest = ENGINES[-1]
    clock = Clock(monkeypatch, **{fastest: 0.5})
    w = dt.Variable(rng.normal(size=4).astype("float32"))
    function = dt.function(lambda x: ops.sum(ops.exp(x * w)), engine="auto")
    x = rng.normal(size=4).astype("float32")
    for _ in range(CALLS):
        with dt.GradientTape() as tape:
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, w), x * np.exp(x * w.numpy()), rtol=1e-4)
    pairs = list(zip(clock.ran[::2], clock.ran[1::2], strict=True))
    assert len(pairs) == CALLS and all(forward == backward for forward, backward in pairs)
    assert {forward for forward, _ in pairs} >= set(ENGINES) and pairs[-1][0] == fastest
    (functional,) = function.concrete(x)._functionals.values()
    times = [arm.times for arm in functional.forward.plans[0].measurer.state.arms.values() if arm.times]
    assert all(set(map(round, of_one)) <= {1, 2} for of_one in times)  # the sum for both programs: 2 x 0.5, or 2 x 1


@needs_two
def test_gradients_of_a_deterministic_function_run_on_one_engine(monkeypatch, rng):
    """Check gradients of gradients, too."""
    clock = Clock(monkeypatch, **dict.fromkeys(ENGINES, 1.0) | {ENGINES[-1]: 0.5})
    function = dt.function(lambda x: ops.sum(ops.exp(x * 2.0)), engine="auto", deterministic=True)
    x = ops.constant(rng.normal(size=4).astype("float32"))
    for _ in range(CALLS // 10):
        with dt.GradientTape() as outer:
            outer.watch(x)
            with dt.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        outer.gradient(slope, x)
    assert set(clock.ran) == {measured_plan.steady().strategy.name}


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


def test_gradients_are_right_wherever_they_are_computed(rng):
    w = dt.Variable(rng.normal(size=4).astype("float32"))
    function = dt.function(lambda x: ops.sum(ops.exp(x * w)), engine="auto")
    x = rng.normal(size=4).astype("float32")
    for _ in range(60):
        with dt.GradientTape() as tape:
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, w), x * np.exp(x * w.numpy()), rtol=1e-4)


def test_several_threads():
    total = dt.Variable(0.0)

    @dt.function(engine="auto")
    def add(x):
        total.assign_add(ops.sum(x))
        return total + 0.0

    def run():
        for _ in range(100):
            add(np.ones(2, "float32"))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(total) == 800


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
from dovetail.plan.strategy import Strategy

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
