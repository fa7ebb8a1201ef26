"""Measured graphs whose engines fail, or whose calls are interrupted."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import estimates
from dovetail.choose.candidate import Candidate, NotDelivered
from dovetail.core.engines import engine_registry
from dovetail.execute.choice import Strategy
from dovetail.execute.plan import Plan
from tests.choose.measuring import (
    CALLS,
    X,
    begin_on,
    called,
    failing,
    line,
    long_start,
    model,
    needs_two,
)
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


@needs_two
def test_the_other_engine_goes_on_if_the_first_one_fails(monkeypatch, caplog):
    engine = ENGINES[-1]
    failing(monkeypatch, "__init__", engine, MemoryError("too large"))
    waiting = long_start(monkeypatch, engine)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    function(X), function(X)
    waiting.pop()()
    plan, results = called(function, X, count=20)
    np.testing.assert_allclose(results[-1], np.tanh(X * 2 + 1), rtol=1e-5)
    assert plan.chosen.strategy.engine == "numpy" and "too large" in caplog.text


@needs_two
def test_another_engine_is_prepared_if_the_first_one_fails(monkeypatch, caplog):
    engine = ENGINES[-1]
    begin_on(monkeypatch, engine)
    prepare = Plan.prepare

    def failing(plan):
        if plan.engine.name == engine:
            raise MemoryError("too large")
        prepare(plan)

    monkeypatch.setattr(Plan, "prepare", failing)
    plan = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto").plan(X)
    plan.prepare()
    assert plan.chosen.strategy == Strategy("numpy") and "too large" in caplog.text


@needs_two
def test_the_first_engine_runs_at_once_if_the_other_one_fails(monkeypatch):
    engine = ENGINES[-1]
    failing(monkeypatch, "run", "numpy", MemoryError("too large"))
    long_start(monkeypatch, engine)
    function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
    np.testing.assert_allclose(function(X), np.tanh(X * 2 + 1), rtol=1e-5)
    assert function.plan(X).chosen.strategy == Strategy(engine)


@needs_two
@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("method", ["__init__", "run"])
def test_a_strategy_that_fails_is_left_out_and_the_call_is_done(monkeypatch, caplog, engine, method):
    """Check this also for the first strategy; the log has one line about each that fails."""
    failing(monkeypatch, method, engine, MemoryError("too large"))
    step, _, count = model("auto")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    step(x, y)
    for arm in step.plan(x, y).measurer.state.arms.values():  # so all are tried
        arm.predicted, arm.start = estimates.Estimate(-20.0, 1.0), 0.0
    plan, results = called(step, x, y, count=60)
    assert int(count) == len(results) + 1
    assert f"{engine}: predicted " in str(plan) and "left out, MemoryError: too large" in str(plan)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == len({*texts}) > 0 and all(t.startswith(engine) and "too large" in t for t in texts)


def test_the_last_resort_is_numpy(monkeypatch):
    for engine in ENGINES[1:]:
        failing(monkeypatch, "run", engine, MemoryError("too large"))
    plan, results = called(dt.function(lambda x: line(x, 2.0, 1.0), engine="auto"), X, count=20)
    np.testing.assert_allclose(results[-1], np.tanh(X * 2 + 1), rtol=1e-5)
    assert plan.chosen.strategy == Strategy("numpy")


class Stop(Exception):
    """The exception of a signal handler."""


@needs_two
@pytest.mark.parametrize("home", ENGINES[:2])
def test_an_engine_that_fails_in_an_untimed_call_is_left_out(monkeypatch, home):
    """Check that the call is done elsewhere; an exception of a signal's handler reaches the program."""
    with dt.engine(home):
        function = dt.function(lambda x: line(x, 2.0, 1.0), engine="auto")
        x = ops.constant(X)
        function(x)
        plan = function.plan(x)
        plan.pin("torch")
        candidate, errors, call = plan.chosen, [Stop("now"), MemoryError("too large")], Plan.__call__

        def failing_once(self, arguments):
            if self is candidate.plan:
                raise errors.pop(0)
            return call(self, arguments)

        monkeypatch.setattr(Plan, "__call__", failing_once)
        monkeypatch.setattr(plan, "_untimed", 2)
        with pytest.raises(Stop, match="now"):
            function(x)
        assert plan.chosen is candidate
        np.testing.assert_allclose(function(x).numpy(), np.tanh(X * 2 + 1), rtol=1e-5)
        assert plan.chosen is not candidate and not errors


@needs_two
@pytest.mark.parametrize(
    ("error", "told", "text"),
    [(MemoryError, NotDelivered, r"the call is done on .* MemoryError: no room"), (Stop, Stop, "no room")],
)
def test_a_call_that_is_done_is_not_done_again(monkeypatch, error, told, text):
    """Check results that cannot be brought home: the call assigns its variables, and the program gets an error."""
    home = engine_registry.get_engine("numpy")
    receive = type(home).receive

    def failing(self, value, sender):
        if self is home and sender.name == ENGINES[1]:
            raise error("no room")
        return receive(self, value, sender)

    monkeypatch.setattr(type(home), "receive", failing)
    begin_on(monkeypatch, ENGINES[1])
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
    run = Candidate.run
    interrupted = []

    def interrupting(candidate, arguments):
        if candidate.strategy.engine == ENGINES[1] and len(interrupted) < 3:
            interrupted.append(candidate.strategy.name)
            raise KeyboardInterrupt
        return run(candidate, arguments)

    monkeypatch.setattr(Candidate, "run", interrupting)
    begin_on(monkeypatch, ENGINES[1])
    step, _, count = model("auto")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    done = 0
    for _ in range(CALLS):
        try:
            step(x, y)
            done += 1
        except KeyboardInterrupt:
            continue
    assert len(interrupted) == 3 and int(count) == done


@needs_two
def test_a_backward_that_fails_leaves_the_engine_out(monkeypatch, caplog):
    engine, run = ENGINES[1], Candidate.run
    w = dt.Variable(2.0)
    function = dt.function(lambda x: ops.exp(x * w), engine="auto")

    def failing(candidate, arguments):
        if candidate.strategy.engine == engine and len(arguments) > 1:  # the backward program takes more arguments
            raise MemoryError("too large")
        return run(candidate, arguments)

    monkeypatch.setattr(Candidate, "run", failing)
    for _ in range(60):
        with dt.GradientTape() as tape:
            y = function(np.float32(0.5))
        np.testing.assert_allclose(tape.gradient(y, w), 0.5 * np.exp(1.0), rtol=1e-5)
    assert len(caplog.records) <= 1 and all("too large" in record.message for record in caplog.records)
