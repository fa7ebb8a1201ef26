"""Measured plans that are interrupted; as a program, by signals at random moments.

python -m tests.choose.interrupted_measurer HOME SEED TIMES

HOME is the engine of the arguments and results, TIMES the number of interrupted plans of each kind.
"""

import random
import signal
import sys
import threading
import time

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.choose import measured_plan, measurer
from dovetail.core.base.scopes import scopes
from dovetail.functions.function import Function, Options
from tests.functions.interrupted import LONG_AGO, Stop

CALLS = 100  # enough that several strategies run
THREADS = {"dovetail-plans", "dovetail-plans-end"}
RAISED = (KeyboardInterrupt, Stop)  # a MemoryError drops a candidate
X = np.linspace(-1, 1, 6, dtype="float32")


class Program:
    """A function whose engine is being chosen.

    Attributes:
        function: it adds x to a variable, and its result contains that sum.
    """

    def __init__(self):
        self.threads = {thread.name for thread in threading.enumerate()}
        self.total = dt.Variable(np.zeros(6, "float32"))
        self.function = self.made()

    def step(self, x):
        self.total.assign_add(x)
        return ops.tanh(x * 2.0) + self.total

    def made(self):
        return dt.function(self.step, engine="auto")

    @property
    def plan(self):
        return self.function.plans[-1]

    def check(self):
        """Check that a call is right, and that earlier calls left nothing behind."""
        done = round(float(self.total.numpy()[0] / X[0])) + 1
        result = self.function(X)
        np.testing.assert_allclose(self.total.numpy(), X * done, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(result, np.tanh(X * 2) + X * done, rtol=1e-3, atol=1e-3)
        assert scopes().tapes == () and scopes().graphs == ()

    def settle(self):
        """Check calls, and the state that they leave."""
        for _ in range(CALLS):
            self.check()
            time.sleep(1e-5)  # this lets the thread that prepares candidates go on
        plan = self.plan
        assert plan.chosen is plan.candidates[plan.chosen.strategy]
        assert _in_another_thread(lambda: plan.lock.acquire(timeout=60) and plan.lock.release() is None)
        assert _in_another_thread(lambda: self.total.guard.holding(bool) is False)
        assert {thread.name for thread in threading.enumerate()} - self.threads <= THREADS


class Staying(Program):
    """A program whose results stay on the chosen engine, and may still be computed."""

    def made(self):
        return Function(self.step, options=Options(engine="auto", stays=True))


class Prepared(Program):
    """A program that announces many calls."""

    def made(self):
        function = dt.function(self.step, engine="auto")
        function.plan(X).prepare()
        return function


PROGRAMS = {"called": Program, "stays": Staying, "prepared": Prepared}


def _in_another_thread(test):
    found = []
    thread = threading.Thread(target=lambda: found.append(test()))
    thread.start()
    thread.join()
    return found == [True]


def by_signals(make, rng, times):
    """Interrupt choices by the handler of a signal, each at one random moment."""
    armed = []

    def handler(number, frame):
        if armed:
            raise armed.pop()

    signal.signal(signal.SIGALRM, handler)
    lasts, sent = 0.0, 0
    for number in range(times):
        program = make()
        start = time.perf_counter()
        armed.append(RAISED[number % len(RAISED)])
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, lasts) if lasts else 10.0)
            for _ in range(CALLS):
                program.function(X)
            lasts = time.perf_counter() - start
            sent += not armed  # a library may keep the error for itself
            armed.clear()  # here, since the signal may come now
        except BaseException as error:  # a library may turn it into another error
            assert not armed, error
            sent += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        armed.clear()
        program.settle()
    assert sent > times / 4, f"{sent} of {times} were interrupted"


def main(home, seed, times):
    measurer.ledger.started = LONG_AGO
    rng = random.Random(int(seed))
    others = [name for name in dt.list_engines() if name in (home, "numpy", "torch")]
    measured_plan.list_candidates = lambda: others  # the engines whose plans are made quickly
    with dt.engine(home):
        for name, make in PROGRAMS.items():
            by_signals(make, rng, int(times))
            print(name, "is right")


if __name__ == "__main__":
    main(*sys.argv[1:])
