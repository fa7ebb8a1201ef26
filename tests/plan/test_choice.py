"""An engine chosen by measuring: which one it is, that numbers and state stay right, and that what fails is dropped."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import engine_registry
from dovetail.plan import choice
from dovetail.plan.candidate import NotDelivered
from dovetail.plan.function import Function, Options
from tests.conftest import ENGINES

CALLS = 400  # more than any choice takes

needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """What is done in the background is done at once."""
    monkeypatch.setattr(choice, "later", lambda function: function())
    monkeypatch.setattr(choice, "WORTHWHILE", 0.0)


class Clock:
    """Time that passes only while a candidate runs, so many seconds a call."""

    def __init__(self, monkeypatch, **seconds):
        self.now, self.seconds, self.ran = 0.0, seconds, []
        run = choice.Candidate._run

        def timed(candidate, arguments):
            self.ran.append(candidate.name)
            self.now += self.seconds.get(candidate.name, 1.0)
            return run(candidate, arguments)

        monkeypatch.setattr(choice.Candidate, "_run", timed)
        monkeypatch.setattr(choice.time, "perf_counter", lambda: self.now)


def settled(function, *args):
    """The choice of a function, once it is settled, and the results of the calls before."""
    results = []
    for _ in range(CALLS):
        results.append(function(*args))
        plan = function.plan(*args)
        if plan.is_settled:
            return plan, results
    raise AssertionError(f"not settled: {plan}")


@pytest.mark.parametrize(("seconds", "calls"), [(0.3, 3), (0.01, 51)])
def test_others_are_prepared_once_calls_took_long_enough(monkeypatch, seconds, calls):
    monkeypatch.setattr(choice, "WORTHWHILE", 0.499)
    asked = []
    monkeypatch.setattr(choice, "later", asked.append)
    Clock(monkeypatch, numpy=seconds)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    for _ in range(calls):
        assert not asked
        function(X)
    assert len(asked) == 1
    del function
    gc.collect()
    with monkeypatch.context() as patched:
        patched.setattr(choice.Choice, "_prepare", lambda self: pytest.fail("it is prepared for nobody"))
        asked[0]()


def line(x, w, b):
    return ops.tanh(x * w + b)


X = np.linspace(-1, 1, 6, dtype="float32")


@needs_two
def test_the_fastest_is_chosen(monkeypatch):
    fastest, given_back = ENGINES[-1], []
    clock = Clock(monkeypatch, **{fastest: 0.5})
    monkeypatch.setattr(choice, "give_back", lambda: given_back.append([c.name for c in plan.candidates if c.plan]))
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    plan = function.plan(X)
    _, results = settled(function, X)
    assert given_back == [[fastest]]
    assert plan.chosen.name == fastest and fastest in str(plan) and plan.status == ""
    assert f"chosen: {fastest}, of {len(plan.candidates)} plans, 2.00 times as fast as " in str(plan)
    for result in results:
        assert result.engine == "numpy"
        np.testing.assert_allclose(result, np.tanh(X * 2 + 1), rtol=1e-5)
    clock.ran.clear()
    function(X)
    assert clock.ran == [fastest]
    assert all(clock.seconds.get(c.name, 1.0) == pytest.approx(c.median) for c in plan.candidates)


@needs_two
def test_results_that_stay_are_where_they_are_computed(monkeypatch):
    """An engine may still compute them while the program goes on, so it is measured from call to call."""
    fastest = ENGINES[-1]
    Clock(monkeypatch, **{fastest: 0.5})
    function = Function(lambda x: line(x, 2.0, 1.0), options=Options(engine="auto", stays=True))
    plan, results = settled(function, X)
    assert {result.engine for result in results} == set(ENGINES)
    results.append(function(X))
    assert results[-1].engine == fastest == plan.chosen.name
    for result in results:
        np.testing.assert_allclose(result, np.tanh(X * 2 + 1), rtol=1e-5)


@needs_two
def test_a_little_faster_is_not_enough(monkeypatch):
    Clock(monkeypatch, **{ENGINES[-1]: 0.95})
    plan, _ = settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert plan.chosen.name == "numpy"


@pytest.mark.skipif(len(ENGINES) < 3, reason="it takes two that are faster than the first")
@pytest.mark.parametrize("drift", [0.994, 1.0, 1.006])
@pytest.mark.parametrize("others", [0.52, 1.0])
def test_a_machine_that_becomes_slower_or_faster_does_not_decide(monkeypatch, drift, others):
    """A few percent are told apart, since the best and what they are to replace take turns."""
    fastest, next_one = ENGINES[-1], ENGINES[1]
    clock = Clock(monkeypatch, **dict.fromkeys(ENGINES, 0.58) | {fastest: 0.5, next_one: others})
    run = choice.Candidate.run

    def drifting(candidate, arguments):
        found = run(candidate, arguments)
        clock.seconds = {name: seconds * drift for name, seconds in clock.seconds.items()}
        return found

    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    monkeypatch.setattr(choice.Candidate, "run", drifting)
    plan, _ = settled(function, X)
    assert plan.chosen.name == fastest


@needs_two
@pytest.mark.parametrize("count", [0, 3, CALLS])
def test_another_candidate_can_be_taken(monkeypatch, count):
    """Before anything is measured, meanwhile, and instead of what was chosen; its numbers are the same."""
    Clock(monkeypatch)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    for _ in range(count):
        function(X)
    plan = function.plan(X)
    for name in [candidate.name for candidate in plan.candidates][::-1]:
        plan.take(name)
        assert plan.is_settled and plan.chosen.name == name and plan.status == ""
        np.testing.assert_allclose(function(X), np.tanh(X * 2 + 1), rtol=1e-5)
    with pytest.raises(ValueError, match="no candidate 'abacus'; it has 'numpy'"):
        plan.take("abacus")
    assert plan.chosen.name == name


@needs_two
def test_each_has_ten_calls_but_the_hopeless(monkeypatch):
    slow, *others = ENGINES[1:]
    clock = Clock(monkeypatch, **{slow: 5.0})
    settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert clock.ran.count(slow) == 2 * (choice.WARM + choice.TRIAL)
    assert all(clock.ran.count(name) >= 10 for name in ("numpy", *others))


@needs_two
def test_one_call_that_was_not_disturbed_is_enough_to_go_on(monkeypatch):
    name = ENGINES[1]
    clock = Clock(monkeypatch, **{name: 0.5})
    run = choice.Candidate.run

    def disturbed(candidate, arguments):
        clock.seconds[name] = 5.0 if clock.ran.count(name) % 4 == 2 else 0.5  # of the two that count the first
        return run(candidate, arguments)

    monkeypatch.setattr(choice.Candidate, "run", disturbed)
    plan, _ = settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert plan.chosen.name == name


@needs_two
def test_one_call_of_many_that_takes_no_time_is_not_enough(monkeypatch):
    """As one after a pause, on an engine that computes in the background."""
    slow = ENGINES[1]
    clock = Clock(monkeypatch, **{slow: 5.0})
    run = choice.Candidate.run
    trials = 2 * (choice.WARM + choice.TRIAL)

    def paused(candidate, arguments):
        clock.seconds[slow] = 0.01 if clock.ran.count(slow) in (trials - 1, trials + choice.WARM) else 5.0
        return run(candidate, arguments)

    monkeypatch.setattr(choice.Candidate, "run", paused)
    settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert clock.ran.count(slow) == trials + choice.WARM + choice.TURN


@needs_two
def test_sessions_choose_too(monkeypatch):
    """Where their own engine is not named: variables go on as on one engine."""
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
        assert (clock.ran[-1] == fastest) if engine is None else not clock.ran


@needs_two
@pytest.mark.parametrize("unit", [1.0, 1e-2])  # of calls that are brief they may have been a hundred times as slow
def test_what_was_tried_while_others_were_compiled_is_tried_again(monkeypatch, unit):
    slow = ENGINES[1]
    clock = Clock(monkeypatch, **dict.fromkeys(ENGINES, unit) | {slow: 5.0 if unit == 1 else 0.4})
    run = choice.Candidate.run

    def undisturbed(candidate, arguments):
        result = run(candidate, arguments)
        if clock.ran.count(slow) == choice.WARM + choice.TRIAL:
            clock.seconds[slow] = 0.5 * unit
        return result

    monkeypatch.setattr(choice.Candidate, "run", undisturbed)
    plan, _ = settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert plan.chosen.name == slow


def train(step, batches):
    losses = []
    for x, y in batches:
        losses.append(float(step(x, y)))
    return losses


def model(engine):
    w, count = dt.Variable(np.full((3, 2), 0.1, "float32")), dt.Variable(0)
    seeds = dt.Generator(7)

    @dt.function(engine=engine)
    def step(x, y):
        with dt.GradientTape() as tape:
            noise = ops.random.normal(seeds, y.shape) * 0.01
            loss = ops.mean((ops.matmul(ops.tanh(x), w) + noise - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        count.assign_add(1)
        return loss

    return step, w, count


def test_training_goes_on_wherever_it_is_computed(rng):
    """State, random numbers and losses are those of one engine, while candidates take turns and after."""
    batches = [(rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(4, 2)).astype("float32"))] * 150
    (alone, w, count), (chosen, other_w, other_count) = model("numpy"), model("auto")
    np.testing.assert_allclose(train(chosen, batches), train(alone, batches), rtol=1e-4)
    assert chosen.plan(*batches[0]).is_settled
    np.testing.assert_allclose(other_w.numpy(), w.numpy(), rtol=1e-4)
    assert int(count) == int(other_count) == len(batches)


@needs_two
def test_what_cannot_be_prepared_is_dropped(monkeypatch, caplog):
    make = choice.Candidate.make

    def failing(candidate, *args):
        if candidate.engine == ENGINES[1]:
            raise MemoryError("too large")
        make(candidate, *args)

    monkeypatch.setattr(choice.Candidate, "make", failing)
    plan, _ = settled(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X)
    assert f"{ENGINES[1]}: dropped, MemoryError: too large" in str(plan)
    assert len(caplog.records) == 1 and "too large" in caplog.text


@needs_two
def test_what_fails_while_it_runs_is_dropped_and_the_call_is_done(monkeypatch, caplog):
    run = choice.Candidate.run

    def failing(candidate, arguments):
        if candidate.engine == ENGINES[1]:
            raise MemoryError("no room")
        return run(candidate, arguments)

    monkeypatch.setattr(choice.Candidate, "run", failing)
    step, _, count = model("auto")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    _, results = settled(step, x, y)
    assert int(count) == len(results) and len(caplog.records) == 1


class Stop(Exception):
    """What the handler of a signal raises."""


@needs_two
@pytest.mark.parametrize(
    ("error", "told", "text"),
    [(MemoryError, NotDelivered, r"the call is done on .* MemoryError: no room"), (Stop, Stop, "no room")],
)
def test_a_call_that_is_done_is_not_done_again(monkeypatch, error, told, text):
    """Where its results cannot be brought home: its assignments are done, and the program is told."""
    home = dt.core.engine_registry.get_engine("numpy")
    receive = type(home).receive

    def failing(self, value, sender):
        if self is home and sender.name == ENGINES[1]:
            raise error("no room")
        return receive(self, value, sender)

    monkeypatch.setattr(type(home), "receive", failing)
    step, _, count = model("auto")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    asked = 0
    with pytest.raises(told, match=text):
        while asked < CALLS:
            asked += 1
            step(x, y)
    assert int(count) == asked


def test_what_the_program_does_wrong_is_told():
    function = dt.function(lambda x, size: ops.reshape(x, (size, 2)), engine="auto")
    with pytest.raises(ValueError, match="reshape"):
        for _ in range(5):
            function(X, np.int32(5))


@needs_two
def test_an_interrupt_changes_nothing(monkeypatch):
    run = choice.Candidate.run
    interrupted = []

    def interrupting(candidate, arguments):
        if candidate.engine == ENGINES[1] and len(interrupted) < 3:
            interrupted.append(candidate.name)
            raise KeyboardInterrupt
        return run(candidate, arguments)

    monkeypatch.setattr(choice.Candidate, "run", interrupting)
    step, _, count = model("auto")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    done = 0
    for _ in range(CALLS):
        try:
            step(x, y)
            done += 1
        except KeyboardInterrupt:
            continue
    assert len(interrupted) == 3 and int(count) == done and step.plan(x, y).is_settled


def test_other_shapes_start_with_what_is_known(monkeypatch):
    Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    first, _ = settled(function, X)
    ranking = sorted((c for c in first.candidates if c.times), key=lambda c: (c is not first.chosen, c.median))
    second, _ = settled(function, X[:4])
    assert [c.name for c in second.candidates] == [c.name for c in ranking[:2]]


def test_what_is_called_once_prepares_nothing(monkeypatch):
    clock = Clock(monkeypatch)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    for count in range(1, 7):
        function(np.ones(count, "float32"))
    assert set(clock.ran) == {"numpy"}


def test_gradients_of_what_is_chosen(rng):
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
        assert isinstance(function.plan(X), choice.Choice)
        assert ops.ones(2).engine == "numpy"
        with dt.engine("numpy"):
            assert not isinstance(function.plan(X), choice.Choice)
        assert isinstance(function.plan(X), choice.Choice)
    assert not isinstance(function.plan(X), choice.Choice)


@pytest.mark.parametrize(("said", "chooses"), [(None, True), ("auto", True), ("numpy", False)])
def test_engines_are_chosen_unless_a_program_says_one(said, chooses):
    plan = "dt.function(lambda x: x + 1.0).plan(1.0)"
    program = f"import dovetail as dt; print(type({plan}).__name__, dt.ops.ones(2).engine)"
    environment = {name: value for name, value in os.environ.items() if name != "DOVETAIL_ENGINE"}
    environment |= {} if said is None else {"DOVETAIL_ENGINE": said}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["Choice" if chooses else "Plan", "numpy"], done.stderr


IN_A_CHILD = """
import os, time, numpy as np, dovetail as dt
from dovetail.plan import choice

choice.later, choice.WORTHWHILE = lambda function: function(), 0.0
choice._others = lambda known: [choice.Candidate("jax")]
run = choice.Candidate._run
choice.Candidate._run = lambda self, given: time.sleep(0.02 if self.engine == "numpy" else 0) or run(self, given)
total = dt.Variable(np.zeros(3, "float32"))
steady = dt.function(lambda x: x + 1.0, deterministic=True)

@dt.function(engine="auto")
def add(x):
    total.assign_add(x)
    return total * 2.0

x = np.ones(3, "float32")
calls = 0
while not add.plan(x).is_settled:
    add(x)
    calls += 1
assert add.plan(x).chosen.engine == "jax" and steady(x).numpy()[0] == 2.0
where = steady.plan(x).chosen.engine
child = os.fork()
if child == 0:
    result = add(x)
    other = add(np.ones(1, "float32"))
    told = result.engine, result.numpy()[0] - 2 * calls, other.numpy()[0] - 2 * calls, add.plan(x).chosen.engine
    assert steady(x).numpy()[0] == 2.0 and steady.plan(x).chosen.engine == where
    print(told == ("numpy", 2.0, 4.0, "numpy") or told, add.plan(x).is_settled, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(add(x).numpy()[0] == 2 * calls + 2, add.plan(x).chosen.engine)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.skipif("jax" not in ENGINES, reason="it does not work in a forked process")
def test_a_forked_child_goes_on_at_home():
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["True", "True", "True", "jax"], done.stdout + done.stderr


def test_a_pinned_graph_runs_as_it_is_pinned():
    graph = dt.function(lambda x: ops.exp(x)).graph(dt.spec((3,)))
    graph.get_operation("Exp").engine = "numpy"
    assert not isinstance(dt.function(graph, engine="auto").plan(np.ones(3, "float32")), choice.Choice)


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
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false")  # as the user says
    engine_registry.share_devices()
    assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] == "false"
