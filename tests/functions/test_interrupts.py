"""Interrupted steps: all variables are old or all are new, no lock is held, nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.core.engine import FILE
from tests.conftest import SEED
from tests.functions.interrupted import RAISED, SITUATIONS

PACKAGE = str(Path(dt.__file__).parent)
ROOT = Path(__file__).parents[2]


class Lines:
    """A counter of Dovetail's lines in the `with` block, which raises an exception at one of them.

    Functions in `CLOSED` end in one call of a C function. Python traces that line, but handles no signal before the
    call.
    """

    CLOSED = ("in_64_bits", "opened")

    def __init__(self, raised_at=None, error=None):
        self.count = 0
        self.raised_at = raised_at
        self.error = error

    def _trace(self, frame, event, arg):
        name = frame.f_code.co_filename
        if event == "call":
            is_own = name.startswith(PACKAGE) or name == FILE
            return self._trace if is_own and frame.f_code.co_name not in self.CLOSED else None
        if event == "line":
            self.count += 1
            if self.count == self.raised_at:
                raise self.error("at a line")
        return self._trace

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exception):
        sys.settrace(self._before)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_exception_at_every_line_a9(engine, situation):
    if situation == "two engines" and len(dt.list_engines()) == 1:
        pytest.skip("there is one engine")
    steps = SITUATIONS[situation]()
    for _ in range(4):
        steps.run()
    done = 4.0
    with Lines() as lines:
        steps.run()
    done = steps.check(done)
    assert done == 5 and lines.count > 5
    raised = 0
    for at in range(1, lines.count + 1):
        try:
            with Lines(at, RAISED[at % len(RAISED)]):
                steps.run()
        except RAISED:
            raised += 1
        done = steps.check(done)
        done = steps.check_next(done)
    assert raised >= lines.count - 3  # a few lines fewer run if calls are cached


def test_signals_at_random_moments_a9(engine):
    """Check this in its own process, a few hundred times."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    command = [sys.executable, "-m", "tests.functions.interrupted", engine, str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{name} is right" for name in (*SITUATIONS, "chosen")]


def test_no_signal_handler_is_swapped(engine, monkeypatch):
    steps = SITUATIONS["compiled"]()
    steps.run()
    monkeypatch.setattr(signal, "signal", lambda *args: pytest.fail("a handler was set"))
    steps.run()


def test_a_signal_that_comes_twice(engine):
    """Check a second signal while the first is handled, at each of the lines where this happens."""
    steps = SITUATIONS["compiled"]()
    for _ in range(4):
        steps.run()
    with Lines() as lines:
        steps.run()
    done = 5.0
    for at in range(lines.count - 25, lines.count + 1):
        for later in range(1, 4):

            class Twice(Lines):
                def _trace(self, frame, event, arg, at=at, later=later):
                    if event == "line":
                        self.raised_at = at if self.count < at else at + later
                    return Lines._trace(self, frame, event, arg)

            try:
                with Twice(at, KeyboardInterrupt):
                    steps.run()
            except KeyboardInterrupt:
                pass
            done = steps.check(done)
            done = steps.check_next(done)


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_lock_is_free_in_a_forked_child():
    v = dt.Variable(1.0)
    held, go = threading.Event(), threading.Event()

    def hold():
        held.set()
        go.wait(60)

    thread = threading.Thread(target=lambda: v.guard.holding(hold))
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        v.assign_add(1.0)
        os._exit(int(v.numpy()))
    status = os.waitpid(child, 0)[1]
    go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 2 and v.numpy() == 1
