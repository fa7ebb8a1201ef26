"""Runs in which ranks are ended or stopped; `python -m tests.distributed.survive` prints a table of them.

Each run begins `survive_checks.py` by `dovetail run --processes`, and loses ranks at moments that are drawn from the
seed, uniformly over the time from the start of the ranks to the end.  It must end with the losses and weights of a run
that lost none.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.parts import WHOLE

LIMIT = 300 if WHOLE else 120  # seconds of a run
PROGRAM = Path(__file__).with_name("survive_checks.py")
ENGINES = ("numpy", "torch", "jax")
PHASES = {"s": "start", "f": "first step", "t": "steps", "w": "checkpoint", "": "start"}


@dataclass(frozen=True)
class Loss:
    """A rank to lose.

    Attributes:
        how: SIGKILL or SIGSTOP.
        rank: which one.
        moment: seconds after the ranks have started.
    """

    how: signal.Signals
    rank: int
    moment: float


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    Attributes:
        seconds: the time from the start of the ranks to the end.
        results: the losses, weights and slots.
        phases: the phase of the program at each loss.
        printed: its output.
    """

    seconds: float
    results: dict[str, np.ndarray]
    phases: list[str]
    printed: str


def ranks_of(launcher: int, start: int) -> dict[int, int]:
    """The processes of a launcher that belong to one of its starts: rank → process."""
    found = {}
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        try:
            rows = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        names = dict(row.split(b"=", 1) for row in rows if b"=" in row)
        if names.get(b"TORCHELASTIC_RESTART_COUNT") == str(start).encode():
            found[int(names[b"RANK"])] = int(child)
    return found


def command(folder: Path, processes: int, pause: float, *options: str, megabytes: int = 0) -> list[str]:
    """The command that trains, with so many seconds after each step, and so many megabytes more in a checkpoint."""
    own = ["--processes", str(processes), "--restarts", "20", *options]
    return [sys.executable, "-m", "dovetail", "run", *own, str(PROGRAM), str(folder), str(pause), str(megabytes)]


def run(losses: Sequence[Loss], processes: int, pause: float = 0.002, megabytes: int = 0, **environment: str) -> Run:
    """Train, and lose ranks."""
    with tempfile.TemporaryDirectory() as name:
        folder, output, phases = Path(name), Path(name) / "output", []
        with output.open("w") as file:
            launcher = subprocess.Popen(
                command(folder, processes, pause, megabytes=megabytes),
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            end, began = time.monotonic() + LIMIT, None
            for start, loss in enumerate([*losses, None]):
                while len(ranks := ranks_of(launcher.pid, start)) < processes and launcher.poll() is None:
                    assert time.monotonic() < end, output.read_text()
                    time.sleep(0.01)
                if launcher.poll() is not None:  # the last rank to lose had ended, but its launcher had not seen it
                    phases[-1:] = ["ended"]
                    break
                began = began or time.monotonic()
                if loss is not None:
                    time.sleep(loss.moment)
                    try:
                        os.kill(ranks[loss.rank], loss.how)
                    except ProcessLookupError:
                        phases.append("ended")
                        break
                    phases.append(_phase(folder, loss.rank))
            status = launcher.wait(max(1, end - time.monotonic()))
        finally:
            launcher.kill()  # its ranks end with it
            launcher.wait()
        printed = output.read_text()
        assert status == 0, printed
        return Run(time.monotonic() - began, dict(np.load(folder / "results.npz")), phases, printed)


def _phase(folder: Path, rank: int) -> str:
    checkpoints = folder / "checkpoints"
    files = os.listdir(checkpoints) if checkpoints.exists() else []
    whole = {name.partition(".")[0] for name in files if name.endswith(".json")}
    if any(name.lstrip(".").partition(".")[0] not in whole for name in files):
        return PHASES["w"]
    path = folder / f"phase.{rank}"
    return PHASES[path.read_text() if path.exists() else ""]


def compare(found: Run, expected: Run) -> float:
    """The greatest difference of losses, weights and slots; an error above 1e-9."""
    assert found.results.keys() == expected.results.keys() and len(expected.results["losses"]) > 100
    worst = 0.0
    for name, values in expected.results.items():
        np.testing.assert_allclose(found.results[name], values, rtol=0, atol=1e-9, err_msg=name)
        worst = max(worst, float(np.abs(found.results[name] - values).max(initial=0)))
    return worst


@functools.cache
def undisturbed(engine: str, processes: int, pause: float, megabytes: int) -> Run:
    """A run that loses no rank."""
    return run([], processes, pause, megabytes, DOVETAIL_ENGINE=engine)


def lose(seed: int, pause: float = 0.002, megabytes: int = 0) -> tuple[object, ...]:
    """Train, and lose the rank that the seed draws, at a moment that it draws; return the row of the table."""
    draw = random.Random(seed)
    engine, processes = ENGINES[seed % 3], draw.choice((2, 2, 2, 3))
    how = signal.SIGSTOP if seed % 6 == seed // 6 % 6 else signal.SIGKILL
    expected = undisturbed(engine, processes, pause, megabytes)
    loss = Loss(how, draw.randrange(processes), draw.uniform(0, 0.9 * expected.seconds))
    found = run([loss], processes, pause, megabytes, DOVETAIL_ENGINE=engine, TIMEOUT="8", START="20")
    begins = [line.rpartition(" ")[2] for line in found.printed.splitlines() if "begins after step" in line]
    difference = compare(found, expected)
    row = (seed, engine, processes, how.name, loss.rank, f"{loss.moment:.1f}", *found.phases, begins[-1])
    return *row, f"{difference:.1g}", f"{found.seconds:.1f}"


def main() -> None:
    """Run seeds, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 60), help="the first, and the one after the last")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds after each step")
    parser.add_argument("--megabytes", type=int, default=32, help="of each checkpoint")
    options = parser.parse_args()
    print("seed | engine | ranks | signal | rank | moment | phase | begins after step | difference | seconds")
    for seed in range(*options.seeds):
        print(*lose(seed, options.pause, options.megabytes), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
