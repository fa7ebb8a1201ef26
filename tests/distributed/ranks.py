"""Several ranks of one program: processes on this machine, which meet by a file and end in time, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.libraries import QUICKLY

LIMIT = 600 if os.environ.get("DOVETAIL_TEST_WHOLE") else 90  # seconds


@contextmanager
def started(module: str, engines: Sequence[str], *arguments: str, **environment: str):
    """The processes of `python -m module`, a rank for each engine; those that are left are killed."""
    with tempfile.TemporaryDirectory() as folder:
        common = {
            "XLA_FLAGS": QUICKLY,
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": str(len(engines)),
            "DOVETAIL_STORE": str(Path(folder) / "store"),
            "DOVETAIL_CACHE": "",
            **environment,
        }
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env={**common, "RANK": str(rank), "DOVETAIL_ENGINE": engine},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank, engine in enumerate(engines)
        ]
        try:
            yield ranks
        finally:
            for process in ranks:
                process.kill()
                process.communicate()


def run(module: str, engines: Sequence[str], *arguments: str, limit: int = LIMIT, **environment: str) -> list[str]:
    """The text that each rank printed; an error if one failed."""
    with started(module, engines, *arguments, **environment) as ranks:
        end = time.monotonic() + limit
        printed = [process.communicate(timeout=max(1, end - time.monotonic()))[0] for process in ranks]
    problems = [text for process, text in zip(ranks, printed, strict=True) if process.returncode]
    assert not problems, "\n---\n".join(problems)
    return printed


def after_ready(ranks: Sequence[subprocess.Popen], rank: int, what: Callable[[subprocess.Popen], None]) -> list[str]:
    """The text that the other ranks printed, after one rank printed a line and was ended or stopped."""
    ranks[rank].stdout.readline()
    what(ranks[rank])
    return [process.communicate(timeout=LIMIT)[0] for other, process in enumerate(ranks) if other != rank]


def stop(process: subprocess.Popen) -> None:
    """Stop a process, which then neither ends nor answers."""
    process.send_signal(signal.SIGSTOP)
