"""Processes: how they are started and meet, and what they say of a rank that is missing."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.collectives import WORLD
from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")

CHECKS = Path(__file__).with_name("process_checks.py")
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.parametrize(
    ("engines", "lose", "limit", "words"),
    [
        (("numpy", "torch"), subprocess.Popen.kill, "60", r"the connection to rank 1 of 2 was lost after [\d.e-]+ s"),
        (("numpy", "torch"), ranks.stop, "4", "rank 1 of 2 did not come within 4 s"),
        (("numpy", "torch", "numpy"), ranks.stop, "4", "rank 2 of 3 did not come within 4 s"),
    ],
    ids=["ended", "stopped", "stopped, and another one comes late"],
)
def test_the_others_name_a_rank_that_is_missing(engines, lose, limit, words):
    with ranks.started("tests.distributed.process_checks", engines, "lost", TIMEOUT=limit) as processes:
        printed = ranks.after_ready(processes, len(engines) - 1, lose)
    for text in printed:
        first, second = [line for line in text.splitlines() if "AllReduce" in line]
        assert re.match(rf"AllReduce at process_checks.py:\d+: {words}", first), text
        assert re.match(r"AllReduce at .*: an earlier one failed, so start all processes again", second), text


def in_session_graph():
    with dt.SessionGraph().as_default():
        ops.all_gather([1.0])


@pytest.mark.parametrize(
    "early",
    [
        lambda: ops.all_reduce([1.0]),
        lambda: dt.function(ops.reduce_scatter)([1.0]),
        lambda: dt.distributed.average([[1.0]]),
        in_session_graph,
    ],
    ids=["eager", "function", "average", "session"],
)
def test_init_refuses_to_come_after_a_collective(early, monkeypatch):
    monkeypatch.setattr(WORLD, "early", [])
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    early()
    words = r"distributed.init at test_processes.py:\d+: test_processes.py:\d+ computed or recorded a collective before"
    with pytest.raises(RuntimeError, match=words):
        dt.distributed.init()
    assert dt.distributed.world_size() == 1


def listened(printed: str) -> list[set[str]]:
    return [set(re.findall(r"'([0-9A-F]{8,})'", line)) for line in printed.splitlines() if line.startswith("rank")]


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux tells the sockets of a process")
def test_the_command_starts_processes_that_listen_on_loopback_alone_and_gives_their_status():
    command = [sys.executable, "-m", "dovetail", "run", "--processes", "2", str(CHECKS), "sockets", "fail"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ranks.LIMIT)
    assert done.returncode == 3 and "rank 1 ended with the exit status 3" in done.stderr, done.stderr
    found = listened(done.stdout)
    assert len(found) == 2 and all(addresses and addresses <= LOOPBACK for addresses in found), done.stdout


def test_the_command_shows_the_first_failure_and_kills_a_rank_that_ignores_its_end():
    command = [sys.executable, "-m", "dovetail", "run", "--processes", "2", str(CHECKS), "stubborn"]
    environment = {**os.environ, "DOVETAIL_ENGINE": "numpy"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=ranks.LIMIT, env=environment)
    assert done.returncode == 1 and "rank 1 ended with the exit status 1" in done.stderr, done.stderr
    assert done.stderr.count("Traceback") == 1 and "ValueError: the first failure" in done.stderr
    seconds = [int(text) for text in re.findall(r"lives on for (\d+) s", done.stdout)]
    assert 2 <= max(seconds) <= 8, done.stdout  # the docs say five


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux tells the sockets of a process")
def test_torchrun_started_by_hand_listens_on_loopback_alone(tmp_path):
    """Check the command of docs/distributed.md; with `--standalone`, torchrun itself listens to all."""
    meet = ["--rdzv-backend=c10d", "--rdzv-conf=store_type=file", f"--rdzv-endpoint={tmp_path / 'meet'}"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", *meet, "--local-addr=127.0.0.1"]
    environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "DOVETAIL_ENGINE": "numpy"}
    command = [*launcher, str(CHECKS), "sockets"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ranks.LIMIT, env=environment)
    found = listened(done.stdout)
    assert len(found) == 2 and all(addresses and addresses <= LOOPBACK for addresses in found), (
        done.stdout + done.stderr
    )


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="only Linux tells the sockets of a process")
def test_processes_meet_by_torchruns_environment():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    meet = {"DOVETAIL_STORE": "", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for printed in ranks.run("tests.distributed.process_checks", ("numpy", "numpy"), "sockets", **meet):
        (addresses,) = listened(printed)
        assert addresses and addresses <= LOOPBACK, printed
