"""Checks for each of several ranks on `auto`; `test_agreement.py` starts them, and compares their engines."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import ledger, measured_plan, policy
from dovetail.choose.candidate import Candidate
from dovetail.execute.choice import Strategy

dt.distributed.init(timeout=30)
RANK = dt.distributed.rank()
X = np.float32([[1, 2], [3, 4]])
CALLS, ROUNDS = 30, 40  # calls between two looks at the plan, and the most looks
SECONDS = {"numpy": 0.08, "torch": 0.02}  # of a call, by the clock of `choose`; after short ones, some run untimed
LATE = (0, 0.3, 3)  # seconds that each rank needs longer for torch: the others have it sooner
ran: list[str] = []  # the engine of each call


def step(x):
    return x - ops.all_reduce(ops.tanh(x), "mean")


def choose(names, slower=1.0):
    """Let learning cost anything, begin on numpy, and let the clock advance in calls alone.

    This rank has these engines, and is slower by a factor.
    """
    run, make, now = Candidate._run, Candidate.__init__, [0.0]

    def timed(candidate, arguments):
        ran.append(candidate.strategy.engine)
        now[0] += slower * SECONDS[candidate.strategy.engine]
        time.sleep(5e-3)  # so that candidates become ready before the last call
        return run(candidate, arguments)

    def made(candidate, strategy, *args):
        if strategy.engine not in names:
            raise dt.errors.EngineNotInstalled(f"{strategy.engine} is missing here")
        if strategy.engine == "torch":
            time.sleep(LATE[RANK])
        make(candidate, strategy, *args)

    Candidate._run, Candidate.__init__ = timed, made
    ledger.Ledger.room = lambda self, now: ledger.Room(float("inf"))
    measured_plan.list_candidates = lambda: names
    policy.first = lambda state, arms: Strategy("numpy")
    policy.bridge = lambda *args: None
    policy.OCCASIONS = 1  # predictions know nothing of this clock, so all its times would be surprises
    time.perf_counter = lambda: now[0]


def many(function, done):
    """The plan after so many calls that `done(plan)` holds on each rank, or after the last round."""
    for _ in range(ROUNDS):
        for number in range(CALLS):
            np.testing.assert_allclose(function(X + number), X + number - np.tanh(X + number), rtol=1e-5)
        plan = function.plan(X)
        if float(ops.all_reduce(np.float32(done(plan)), "min")):  # a busy machine builds candidates late
            break
    return plan


def equal() -> None:
    """All have both engines; each rank is slower than the one before."""
    choose(["numpy", "torch"], slower=1 + RANK)
    f = dt.function(step, engine="auto")
    if RANK == 0:
        assert "AllReduce" in str(f.plan(X))  # a look makes no exchange
        alone = dt.function(ops.tanh, engine="auto")
        alone(X)  # the other rank does not call it
        ran.clear()
    plan = many(f, lambda plan: plan.is_settled)
    assert plan.is_settled and plan.chosen.strategy.engine == "torch", plan
    assert plan.measurer.follows == (RANK > 0)


def turns() -> None:
    """Two functions of one name, in turn: each has its own decisions."""
    choose(["numpy", "torch"], slower=1 + RANK)
    f, g = (dt.function(step, engine="auto") for _ in range(2))

    class Both:
        plan = staticmethod(g.plan)

        def __call__(self, x):
            f(x)
            return g(x)

    plans = many(Both(), lambda plan: plan.is_settled and f.plan(X).is_settled), f.plan(X)
    assert [plan.chosen.strategy.engine for plan in plans] == ["torch"] * 2, plans


def missing() -> None:
    """The second one lacks the faster engine, so all run on the other one."""
    choose(["numpy", "torch"] if RANK != 1 else ["numpy"])
    plan = many(dt.function(step, engine="auto"), lambda plan: RANK or "rank 1 cannot run it" in str(plan))
    assert {*ran} == {"numpy"}, ran
    if RANK == 0:
        assert "rank 1 cannot run it" in str(plan), plan


def named() -> None:
    """The first one names its engine, so the second one chooses, for itself and for others after it."""
    choose(["numpy", "torch"])
    plan = many(dt.function(step, engine="auto" if RANK else "numpy"), lambda plan: RANK == 0 or "torch" in ran)
    if RANK:
        assert "torch" in ran and plan.measurer.follows == (RANK > 1), plan


def broken() -> None:
    """A candidate that fails after its exchange is not replaced: the other rank would not come again."""
    choose(["numpy", "torch"])
    f = dt.function(step, engine="auto")
    f(X)
    run = Candidate._run

    def failing(candidate, arguments):
        run(candidate, arguments)
        raise RuntimeError("no memory" if RANK else "none here")

    Candidate._run = failing
    with pytest.raises(RuntimeError, match=r"no memory|none here"):
        f(X)
    Candidate._run = run
    np.testing.assert_allclose(f(X), X - np.tanh(X), rtol=1e-5)
    ran.clear()


if __name__ == "__main__":
    {"equal": equal, "turns": turns, "missing": missing, "named": named, "broken": broken}[sys.argv[1]]()
    print(f"checked {sys.argv[1]}: {' '.join(ran)}", flush=True)
