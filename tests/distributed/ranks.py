"""Several ranks of one program: processes on this machine, which meet by a file and end in time, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.libraries import QUICKLY
from tests.parts import WHOLE

LIMIT = 600 if WHOLE else 90  # seconds


class Rank(subprocess.Popen):
    """A process that writes to a file; a pipe that is full would stop it, and so the ranks that wait for it.

    Args:
        command: to run.
        environment: the variables of the process.
        output: the file for what it prints.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
        self.output = output
        with output.open("w") as file:
            super().__init__(command, env=environment, stdout=file, stderr=subprocess.STDOUT)

    def printed(self, limit: float) -> str:
        """The text that the process printed, after its end, which comes within so many seconds."""
        self.wait(limit)
        return self.output.read_text()

    def is_ready(self) -> bool:
        """Whether the process printed a line."""
        return "\n" in self.output.read_text()


@contextmanager
def started(module: str, engines: Sequence[str], *arguments: str, **environment: str):
    """The processes of `python -m module`, a rank for each engine; those that are left are killed."""
    with tempfile.TemporaryDirectory() as folder:
        common = {
            "XLA_FLAGS": QUICKLY,
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",  # tests compare what ranks print
            "WORLD_SIZE": str(len(engines)),
            "DOVETAIL_STORE": str(Path(folder) / "store"),
            "DOVETAIL_CACHE": "",
            **environment,
        }
        ranks = [
            Rank(
                [sys.executable, "-m", module, *arguments],
                {**common, "RANK": str(rank), "DOVETAIL_ENGINE": engine},
                Path(folder) / f"output{rank}",
            )
            for rank, engine in enumerate(engines)
        ]
        try:
            yield ranks
        finally:
            for process in ranks:
                process.kill()
                process.wait()


def run(module: str, engines: Sequence[str], *arguments: str, limit: int = LIMIT, **environment: str) -> list[str]:
    """The text that each rank printed; an error if one failed."""
    with started(module, engines, *arguments, **environment) as ranks:
        end = time.monotonic() + limit
        try:
            printed = [process.printed(max(1, end - time.monotonic())) for process in ranks]
        except subprocess.TimeoutExpired as late:
            told = "\n---\n".join(process.output.read_text()[-4000:] for process in ranks)
            raise AssertionError(f"the ranks did not end within {limit} s; they printed:\n{told}") from late
    problems = [text for process, text in zip(ranks, printed, strict=True) if process.returncode]
    assert not problems, "\n---\n".join(problems)
    return printed


def after_ready(ranks: Sequence[Rank], rank: int, what: Callable[[Rank], None]) -> list[str]:
    """The text that the other ranks printed, after one rank printed a line and was ended or stopped."""
    end = time.monotonic() + LIMIT
    while not ranks[rank].is_ready():
        assert ranks[rank].poll() is None, ranks[rank].printed(0)
        assert time.monotonic() < end, f"rank {rank} printed no line within {LIMIT} s"
        time.sleep(0.02)
    what(ranks[rank])
    return [process.printed(LIMIT) for other, process in enumerate(ranks) if other != rank]


def stop(process: subprocess.Popen) -> None:
    """Stop a process, which then neither ends nor answers."""
    process.send_signal(signal.SIGSTOP)
