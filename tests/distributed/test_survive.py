"""Lost ranks, machines and launchers: training goes on with the numbers of an undisturbed run."""

from __future__ import annotations

import functools
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.distributed import ranks, survive
from tests.libraries import require

require("torch", "it carries")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the ranks, and Linux ends them")

SEED = int(os.environ.get("DOVETAIL_TEST_SEED", "0"))


def wait_for(happens):
    """The result of a function, as soon as it is true."""
    end = time.monotonic() + survive.LIMIT
    while not (found := happens()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_ended_and_stopped_ranks_change_no_number():
    draw = random.Random(SEED)
    print("seed", SEED)
    expected = survive.run([], 2, pause=0.01, DOVETAIL_ENGINE="numpy")
    hows = ((signal.SIGKILL, 0, 0.6), (signal.SIGKILL, 1, 0.35), (signal.SIGSTOP, 0, 0.35), (signal.SIGKILL, 1, 0.35))
    losses = [survive.Loss(how, rank, draw.uniform(0, most) * expected.seconds) for how, rank, most in hows]
    found = survive.run(losses, 2, pause=0.01, DOVETAIL_ENGINE="numpy", TIMEOUT="5", START="10")
    print(losses, found.phases, found.printed)
    survive.compare(found, expected)
    assert "ended" not in found.phases
    assert re.search(
        r"rank 0 ended with the exit status -9; all ranks start again \(restarts left: 19\)", found.printed
    )


def test_the_number_of_ranks_may_change_at_each_start(tmp_path):
    def train(folder, engines, last):
        folder.mkdir(exist_ok=True)
        printed = ranks.run("tests.distributed.survive_checks", engines, str(folder), "0", "0", str(last))
        return {line.partition(" of ")[2] for text in printed for line in text.splitlines()}

    def results(folder):
        return survive.Run(0, dict(np.load(folder / "results.npz")), [], "")

    train(tmp_path / "undisturbed", ("numpy",) * 2, 360)
    changed = tmp_path / "changed"
    starts = [(("numpy", "torch"), 127, 0), (("numpy",) * 3, 247, 120), (("torch",), 360, 240)]
    for engines, last, done in starts:  # the steps after the last checkpoint are lost each time
        assert train(changed, engines, last) == {f"{len(engines)} begins after step {done}"}
    survive.compare(results(changed), results(tmp_path / "undisturbed"))


@pytest.mark.parametrize(("how", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_ranks_end_with_their_launcher_also_a_stopped_one(how, status, tmp_path):
    command, environment = survive.command(tmp_path, 2, pause=1.0), {**os.environ, "DOVETAIL_ENGINE": "numpy"}
    with (tmp_path / "printed").open("w") as printed:
        launcher = subprocess.Popen(command, env=environment, stderr=printed)
    try:
        ranks = list(wait_for(lambda: survive.ranks_of(launcher.pid, 0)).values())
        wait_for(lambda: all((tmp_path / f"phase.{rank}").exists() for rank in (0, 1)))
        wait_for(lambda: {(tmp_path / f"phase.{rank}").read_text() for rank in (0, 1)} <= {"f", "t"})
        os.kill(ranks[0], signal.SIGSTOP)
        launcher.send_signal(how)
        assert launcher.wait(survive.LIMIT) == status
    finally:
        launcher.kill()
        launcher.wait()
    wait_for(lambda: not any(is_running(rank) for rank in ranks))
    assert "dovetail/distributed/launch.py" not in (tmp_path / "printed").read_text()  # no traceback of the launcher


def is_running(process: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def is_open(host, port):
    """Whether a process listens at an address."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


@pytest.mark.long("it takes a minute")
def test_training_goes_on_when_a_machine_leaves_and_when_it_comes_back(tmp_path):
    expected = survive.run([], 2, DOVETAIL_ENGINE="numpy")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    options = ("--nnodes", "1:2", "--rendezvous", f"{address[0]}:{address[1]}")
    environment = {**os.environ, "DOVETAIL_ENGINE": "numpy", "TIMEOUT": "20", "OMP_NUM_THREADS": "1"}
    output = tmp_path / "output"

    with ExitStack() as stack:
        file = stack.enter_context(output.open("w"))

        def machine():
            command = survive.command(tmp_path, 1, 0.05, *options)
            found = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
            stack.callback(found.wait)
            stack.callback(found.kill)
            return found

        first = machine()  # where the launchers meet, so it must be there first, and stay
        wait_for(functools.partial(is_open, *address))
        second = machine()
        checkpoints = tmp_path / "checkpoints"
        wait_for(lambda: list(checkpoints.glob("*.json")))
        second.kill()
        wait_for(lambda: "of 1 begins after step" in output.read_text())
        third = machine()
        assert (first.wait(survive.LIMIT), third.wait(survive.LIMIT)) == (0, 0), output.read_text()
    assert re.search(r"of 2 begins after step [1-9]", output.read_text()), output.read_text()
    found = survive.Run(0, dict(np.load(tmp_path / "results.npz")), [], "")
    survive.compare(found, expected)


@pytest.mark.long("12 runs take minutes")
@pytest.mark.parametrize("seed", range(12))  # `python -m tests.distributed.survive` runs 60
def test_a_lost_rank_changes_no_number(seed):
    print(*survive.lose(seed))
