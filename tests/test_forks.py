"""Processes that fork after Dovetail has computed: neither the child nor the parent hangs, and both are right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from dovetail.choose.background import later
from dovetail.core.base.locks import holding, let_forks_wait, make_lock
from tests.conftest import ENGINES
from tests.forked import PROGRAMS, WAYS

if not hasattr(os, "fork"):
    pytest.skip("there is no fork here", allow_module_level=True)
ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*")
LIMIT = 120  # seconds; a child that waits for a missing thread waits forever
HERE = [name for name in ("numpy", "torch") if name in ENGINES]
ON = [*HERE, "auto"]
CASES = [(engine, program, "fork") for engine in ON for program in PROGRAMS]
CASES += [(engine, "function", way) for engine in ON for way in WAYS if way != "fork"]
CASES += [(engine, "keras", way) for engine in ON for way in ("process", "loader", "busy")]
NEEDS = {"keras": "keras", "loader": "torch"}


@pytest.mark.parametrize(("engine", "program", "way"), CASES)
def test_a_process_that_forks(engine, program, way, tmp_path):
    for needed in {program, way} & NEEDS.keys():
        if find_spec(NEEDS[needed]) is None:
            pytest.skip(f"{NEEDS[needed]} is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.forked", engine, program, way]
    path = tmp_path / "said"  # a child that hangs would keep a pipe open
    with path.open("w") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # and its children
            process.wait()
            pytest.fail(f"it hangs: {path.read_text()[-2000:]}")
    assert path.read_text().splitlines()[-1:] == ["right"], path.read_text()[-3000:]


@pytest.mark.skipif("torch" not in ENGINES, reason="it is about torch")
def test_torch_has_one_thread_in_a_child_and_says_so():
    """Check this since OpenMP would wait for threads that the fork did not copy."""
    program = (
        "import logging, os, torch, dovetail as dt\n"
        "dt.set_engine('torch'); torch.set_num_threads(3)\n"
        "child = os.fork()\n"
        "dt.set_threads(2)\n"
        "os.write(1, b'%d\\n' % torch.get_num_threads())\n"  # print() would write number and line end apart, unbuffered
        "if child: os.waitpid(child, 0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=LIMIT
    )
    assert sorted(done.stdout.split()) == ["1", "2"], done.stderr
    assert done.stderr.count("torch keeps its number of threads") == 1


def test_a_fork_waits_for_work_in_the_background():
    """Check this since a kernel's first call sets up a library, which would stay unfinished in a child."""
    begun, done = threading.Event(), []

    def work():
        begun.set()
        time.sleep(0.5)
        done.append(True)

    later(work)
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if done else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_fork_waits_for_a_lock_that_another_thread_holds():
    lock, held, freed = make_lock(), threading.Event(), []
    let_forks_wait(lock, 60.0)

    def hold():
        held.set()
        time.sleep(0.5)
        freed.append(True)

    thread = threading.Thread(target=holding, args=(lock, hold))
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if freed and holding(lock, lambda: True) else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    assert lock.acquire(blocking=False)
    lock.release()
