"""NumPy's global generator and signals while engines are imported."""

# ruff: noqa: NPY002  # it is the subject

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from dovetail.core.base.library_imports import without_draws, without_interrupts
from tests.conftest import ENGINES, SEED


def test_other_threads_draw_on_while_one_imports():
    np.random.seed(3)
    expected = np.random.rand(6)
    np.random.seed(3)
    found = [np.random.rand()]
    with without_draws():
        np.random.rand(5)
        thread = threading.Thread(target=lambda: found.extend(np.random.rand(4)))
        thread.start()
        thread.join()
    np.testing.assert_array_equal([*found, np.random.rand()], expected)


def test_after_an_error_this_thread_draws_again():
    np.random.seed(3)
    try:
        with without_draws():
            raise ImportError
    except ImportError:
        found = np.random.rand()
    np.random.seed(3)
    assert found == np.random.rand()


PROGRAM = """
import sys
import numpy as np
from dovetail.core.engines.engine_registry import get_engine
np.random.seed(3)
for name in sys.argv[1:]:
    get_engine(name)
found = np.random.rand()
np.random.seed(3)
assert found == np.random.rand()
"""


def test_importing_engines_draws_no_numbers():
    done = subprocess.run([sys.executable, "-c", PROGRAM, *ENGINES], capture_output=True, text=True)
    assert not done.returncode, done.stderr


INTERRUPTED = """
import random, signal, sys, time
import numpy as np
import dovetail as dt
from dovetail import ops

class Stop(Exception):
    pass

armed, came = [Stop], []

def handler(number, frame):
    came.append(number)
    if armed:
        raise armed.pop()

signal.signal(signal.SIGALRM, handler)
name, seed = sys.argv[1:]
signal.setitimer(signal.ITIMER_REAL, random.Random(seed).uniform(1e-3, 0.5))
try:
    dt.set_engine(name)
    time.sleep(1)
except Stop:
    pass
assert came == [signal.SIGALRM] and signal.getsignal(signal.SIGALRM) is handler
dt.set_engine(name)
doubled = dt.function(lambda x: ops.tanh(x * 2.0))
np.testing.assert_allclose(doubled(np.ones(3, "float32")), np.tanh(np.full(3, 2.0)), rtol=1e-6)
"""


@pytest.mark.parametrize("number", range(3))
def test_a_signal_leaves_the_import_whole(engine, number):
    print(f"DOVETAIL_TEST_SEED={SEED}")
    command = [sys.executable, "-c", INTERRUPTED, engine, f"{SEED} {number}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_handlers_run_once_after_the_import():
    came = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    try:
        with without_interrupts():
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)
            assert came == []
        assert came == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_raises_keeps_no_other_back():
    came = []

    def raises(number, frame):
        came.append(number)
        raise KeyboardInterrupt

    def counts(number, frame):
        came.append(number)

    before = {number: signal.signal(number, f) for number, f in ((signal.SIGALRM, raises), (signal.SIGUSR1, counts))}
    try:
        with pytest.raises(KeyboardInterrupt), without_interrupts():
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGUSR1)
        assert came == [signal.SIGALRM, signal.SIGUSR1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_handler_of_the_library_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        with without_interrupts():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_handlers_alone():
    at = []
    before = signal.getsignal(signal.SIGINT)

    def importing():
        with without_interrupts():
            at.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=importing)
    thread.start()
    thread.join()
    assert at == [before]
