"""Interrupted plans that are measured: they go on, results stay right, and no lock or thread is left over."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.choose import background, candidate, estimates, jobs, ledger, measured_plan, measurer, policy, records
from dovetail.choose.candidate import Candidate
from dovetail.core.engines.engine_registry import current_engine
from tests.choose.interrupted_measurer import CALLS, PROGRAMS, RAISED, Program, Staying, X
from tests.choose.measuring import learn_freely
from tests.conftest import ENGINES, SEED
from tests.functions.test_interrupts import Lines

ROOT = Path(__file__).parents[2]
MODULES = (background, candidate, jobs, ledger, measured_plan, measurer, policy, records)
FILES = {module.__file__ for module in MODULES}
POINTS = 24  # points of a choice, each of which gets an interrupt

needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")


@pytest.fixture
def rng(request):
    print(f"DOVETAIL_TEST_SEED={SEED}")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def two_engines(engine, monkeypatch):
    """Choose at once, between the engine and numpy, or between numpy and another engine."""
    other = next(name for name in ENGINES if name != engine)
    names = [engine, "numpy" if engine != "numpy" and "numpy" in ENGINES else other]
    monkeypatch.setattr(measured_plan, "list_candidates", lambda: names)
    learn_freely(monkeypatch)
    monkeypatch.setattr(measurer, "WATCHED", 1)
    monkeypatch.setattr(measurer.costs.Corrections, "start_seconds", lambda *args: 0.0)
    return names


class LinesOfMeasurers(Lines):
    """A counter as `Lines`, of the modules that measure."""

    def _trace(self, frame, event, arg):
        if event == "call" and frame.f_code.co_filename not in FILES:
            return None
        return super()._trace(frame, event, arg)


def interrupted(program, at=None, error=None):
    """The number of lines that run in these modules, with an optional exception at one of them."""
    lines = LinesOfMeasurers(at, error)
    try:
        with lines:
            for _ in range(CALLS):
                program.function(X)
    except RAISED:
        pass
    return lines.count


@needs_two
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_exception_at_any_line(two_engines, rng, name):
    count = interrupted(PROGRAMS[name]())
    assert count > 500
    for number in range(POINTS if name == "called" else POINTS // 4):
        program = PROGRAMS[name]()
        interrupted(program, rng.randrange(count), RAISED[number % len(RAISED)])
        program.settle()


@needs_two
def test_many_exceptions(two_engines, rng):
    """Check one choice that is interrupted again and again, and goes on with its measured times."""
    program = Program()
    for number in range(POINTS):
        interrupted(program, rng.randrange(1, 200), RAISED[number % len(RAISED)])
    program.settle()


PLACES = {
    "before the call": lambda run, *args: _raise(),
    "after the call": lambda run, *args: (run(*args), _raise()),
}


def _raise():
    raise KeyboardInterrupt


@needs_two
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", ["_run", "wait"])
def test_an_exception_inside_of_an_engines_call(two_engines, rng, monkeypatch, place, method):
    whole, raised = getattr(Candidate, method), []

    def interrupting(*args):
        if len(raised) < 12 and rng.random() < 0.3:
            raised.append(True)
            return PLACES[place](whole, *args)
        return whole(*args)

    program, interrupts = Staying() if method == "wait" else Program(), 0
    program.check()
    monkeypatch.setattr(Candidate, method, interrupting)
    for _ in range(CALLS):
        try:
            program.check()
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts == len(raised) > 3
    program.settle()


@needs_two
@pytest.mark.parametrize("step", ["make", "prepare", "decide", "observe", "keep"])
def test_an_exception_while_a_strategy_is_chosen(two_engines, monkeypatch, step):
    """Check that each step, interrupted the first time, is done the second time."""
    place, name = {
        "make": (Candidate, "__init__"),
        "prepare": (measured_plan.Plan, "prepare"),
        "decide": (measurer.Measurer, "decide"),
        "observe": (measurer.Measurer, "observe"),
        "keep": (measurer.Measurer, "keep"),
    }[step]
    whole, raised = getattr(place, name), []
    program = Program()
    program.check()
    for arm in program.plan.measurer.state.arms.values():  # so that all are tried
        arm.predicted = estimates.Estimate(-20.0, 1.0)

    def interrupting(*args, **options):
        if not raised:
            raised.append(True)
            raise KeyboardInterrupt
        return whole(*args, **options)

    monkeypatch.setattr(place, name, interrupting)
    with pytest.raises(KeyboardInterrupt):
        program.settle()
    program.settle()
    engines = {strategy.engine for strategy in program.plan.measurer.state.arms}
    assert engines == set(two_engines) and current_engine().name == two_engines[0]


def test_signals_at_random_moments(engine):
    """Check this in its own process, whose plans are made in the background."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    times = "30" if engine == "numpy" else "8"
    command = [sys.executable, "-m", "tests.choose.interrupted_measurer", engine, str(SEED), times]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{name} is right" for name in PROGRAMS]
