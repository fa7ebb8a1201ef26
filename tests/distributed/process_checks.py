"""A rank that computes collectives; `test_processes.py` starts several, and ends or stops one."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np

import dovetail as dt
from dovetail import ops


def listening() -> set[str]:
    """The addresses on which this process, or one that it knows as its parent, listens; as /proc says it."""
    found = set()
    for process in (os.getpid(), os.getppid()):
        folder = f"/proc/{process}/fd"
        sockets = {
            os.readlink(f"{folder}/{name}") for name in os.listdir(folder) if os.path.lexists(f"{folder}/{name}")
        }
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{process}/net/{table}") as lines:
                rows = [line.split() for line in lines][1:]
            found |= {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
    return found


def sockets() -> None:
    """Ranks listen on 127.0.0.1 alone, and their launcher nowhere."""
    assert ops.all_reduce(1).numpy() == dt.distributed.world_size()
    found = listening()
    print(f"rank {dt.distributed.rank()}: {sorted(found)}\n", end="", flush=True)  # in one write, as both print at once
    dt.distributed.barrier()  # so that all ranks are there until each has looked and printed
    raise SystemExit(3 if dt.distributed.rank() and sys.argv[2:] == ["fail"] else 0)


def lost() -> None:
    """One rank is ended or stopped after a collective; the others say so."""
    step = dt.function(lambda x: ops.all_reduce(ops.tanh(x)))
    step(np.ones(3, "float32"))
    print("ready", flush=True)
    time.sleep(1 if dt.distributed.rank() else 0)  # the last rank is lost now
    for _ in range(2):
        try:
            step(np.ones(3, "float32"))
        except dt.errors.CollectiveError as error:
            print(error, flush=True)


def stubborn() -> None:
    """One rank fails, and the other ignores SIGTERM; it prints how many seconds it lives on."""

    def live_on(*_: object) -> None:
        for seconds in range(40):
            print(f"lives on for {seconds} s", flush=True)
            time.sleep(1)

    signal.signal(signal.SIGTERM, live_on)
    dt.distributed.barrier()
    if dt.distributed.rank():
        raise ValueError("the first failure")
    time.sleep(120)


if __name__ == "__main__":
    dt.distributed.init(timeout=float(os.environ.get("TIMEOUT", "60")))
    {"sockets": sockets, "lost": lost, "stubborn": stubborn}[sys.argv[1]]()
