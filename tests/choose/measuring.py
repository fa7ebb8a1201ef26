"""Measurers whose candidates take the seconds that a test says, and programs to measure."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import costs, estimates, jobs, ledger, measured_plan, measurer, policy
from dovetail.choose.candidate import Candidate
from dovetail.choose.ledger import Ledger
from dovetail.execute.choice import Strategy
from tests.conftest import ENGINES

CALLS = 400  # enough to find the best strategy of fast engines


needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")


def learn_freely(monkeypatch):
    """Forget other tests, let learning cost anything, and prepare candidates at once."""
    fresh = jobs.Job()
    monkeypatch.setattr(jobs, "later", lambda function: function())
    for module in (measurer, measured_plan):
        monkeypatch.setattr(module, "job", fresh)
    monkeypatch.setattr(measurer, "ledger", Ledger())
    monkeypatch.setattr(measured_plan, "_open", type(measured_plan._open)())
    monkeypatch.setattr(measurer, "_measurers", type(measurer._measurers)())
    monkeypatch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(float("inf")))
    monkeypatch.setattr(costs, "known", costs.Corrections())


class Clock:
    """A clock that advances only while a candidate runs, by a number of seconds a call."""

    def __init__(self, monkeypatch, **seconds):
        self.now, self.seconds, self.ran = 0.0, seconds, []
        run = Candidate._run

        def timed(candidate, arguments):
            engine, variant, *_ = candidate.strategy
            self.ran.append(candidate.strategy.name)
            self.now += self.seconds.get(engine, 1.0) * (1.1 if variant else 1.0)
            return run(candidate, arguments)

        monkeypatch.setattr(Candidate, "_run", timed)
        monkeypatch.setattr(measurer.time, "perf_counter", lambda: self.now)


def called(function, *args, count=CALLS):
    """The plan of a function after many calls, and the results of the calls."""
    results = [function(*args) for _ in range(count)]
    return function.plan(*args), results


def chosen(plan):
    return estimates.champion(plan.measurer.state).strategy.name


def begin_on(monkeypatch, engine):
    """Let this engine be the first one of all graphs, with no other one before it."""
    monkeypatch.setattr(policy, "first", lambda state, arms: Strategy(engine))
    monkeypatch.setattr(policy, "bridge", lambda *args: None)


def line(x, w, b):
    return ops.tanh(x * w + b)


X = np.linspace(-1, 1, 6, dtype="float32")


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


def failing(monkeypatch, name, engine, error):
    """Make a method of candidates fail on an engine."""
    whole = getattr(Candidate, name)

    def method(self, *args):
        if (args[0].engine if name == "__init__" else self.strategy.engine) == engine:
            raise error
        return whole(self, *args)

    monkeypatch.setattr(Candidate, name, method)


def long_start(monkeypatch, engine):
    """Make an engine the first choice, which is compiled in the background for long; return the waiting jobs."""
    begin = measurer.Measurer.begin

    def begun(self, engines, ahead, between=0.0):
        begin(self, [e for e in engines if e in ("numpy", engine)], ahead, between)
        for strategy, arm in self.state.arms.items():
            is_first = strategy.engine == engine
            arm.start, arm.predicted = (
                (5.0, estimates.Estimate(-9.0, 0.1)) if is_first else (0.0, estimates.Estimate(-3.0, 0.1))
            )
        self.state.earlier = 10**6

    monkeypatch.setattr(measurer.Measurer, "begin", begun)
    monkeypatch.setattr(measurer, "_prepare_next", lambda now: None)
    monkeypatch.setattr(policy, "EARLY", 0.0)
    monkeypatch.setattr(costs.Corrections, "build_seconds", lambda self, engine, work: 5.0)
    waiting = []
    monkeypatch.setattr(jobs, "later", waiting.append)
    return waiting
