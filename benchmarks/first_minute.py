"""The first minute of training: how many steps a new process makes, by the time since it started.

Each way runs in processes of its own, one after the other: `auto` with an empty cache, `auto` again with what the first
run kept, each engine alone, and Keras' own backends.  The table shows the seconds until step 1, 8, 64, 512 and 4,096,
processor time and peak memory.  A plot shows steps over time.

    python benchmarks/first_minute.py [--seconds 60] [--times 3] [--plot steps.png] [--record rows.json] [MLP CNN ...]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from timing import table
from tqdm import tqdm

NAMES = ("MLP", "CNN", "LSTM", "GRU", "Transformer", "ResNet", "MobileNet", "UNet", "Speech")
ENGINES = ("torch", "jax", "tensorflow", "numpy")
MARKS = (1, 8, 64, 512, 4096)  # steps
CHILD = "--child"


class Way(NamedTuple):
    """A way to run Keras.

    Attributes:
        name: in the table.
        backend: of Keras.
        engine: of Dovetail; "" for Keras' own backends.
        keeps: whether it finds the cache of the way before.
    """

    name: str
    backend: str
    engine: str = ""
    keeps: bool = False


WAYS = (
    Way("auto", "dovetail", "auto"),
    Way("auto, again", "dovetail", "auto", keeps=True),
    *(Way(name, "dovetail", name) for name in ENGINES),
    *(Way(f"Keras, {name}", name) for name in ENGINES[:3]),
)


class Run(NamedTuple):
    """One process.

    Attributes:
        curve: the number of steps after each epoch, and the seconds since the process started.
        processor: seconds.
        memory: bytes at the peak.
        plans: text of the plans that ran, for the log.
    """

    curve: list[tuple[int, float]]
    processor: float
    memory: int
    plans: list[str]

    def until(self, steps: int) -> float | None:
        """Seconds until so many steps were made, between two epochs in proportion; None if they were not."""
        before = 0, 0.0
        for now in self.curve:
            if now[0] >= steps:
                share = (steps - before[0]) / (now[0] - before[0])
                return before[1] + share * (now[1] - before[1])
            before = now
        return None


# -- the process that trains ------------------------------------------------------------------------------------------


def train(name: str, seconds: float) -> None:
    """Trains from the start of the process on, one step first, and prints the run."""
    start = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC) + _started()
    if os.environ["KERAS_BACKEND"] == "dovetail":
        import keras_dovetail  # noqa: F401  before Keras
    from keras_models import TASKS, compiled

    task = TASKS[name]
    model, x, y = compiled(task)
    curve, done = [], 0
    while not curve or curve[-1][1] < seconds:
        steps = min(task.steps, 7 * done) or 1  # so the marks are at ends of epochs
        size = steps * task.batch
        model.fit(x[:size], y[:size], batch_size=task.batch, verbose=0, shuffle=False)
        done += steps
        curve.append((done, time.time() - start))
    used = resource.getrusage(resource.RUSAGE_SELF)
    plans = [str(plan) for plan in getattr(model.train_function, "plans", [])]
    print(json.dumps(Run(curve, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, plans)))


def _started() -> float:
    """When this process started, by the monotonic clock."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


# -- the process that compares ----------------------------------------------------------------------------------------


def run(name: str, way: Way, seconds: float, cache: str) -> Run:
    environment = {**os.environ, "KERAS_BACKEND": way.backend, "DOVETAIL_CACHE": cache, "TF_CPP_MIN_LOG_LEVEL": "3"}
    if way.engine:
        environment["DOVETAIL_ENGINE"] = way.engine
    command = [sys.executable, __file__, CHILD, name, str(seconds)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    curve, *others = json.loads(done.stdout.splitlines()[-1])
    return Run([(steps, at) for steps, at in curve], *others)


def runs(name: str, ways: list[Way], seconds: float, times: int) -> Iterator[tuple[Way, Run]]:
    """The runs of a model, all ways in turn."""
    for _ in range(times):
        with tempfile.TemporaryDirectory() as cache:
            for way in ways:
                if not way.keeps:
                    for path in Path(cache).iterdir():
                        path.unlink()
                yield way, run(name, way, seconds, cache)


def row(way: Way, found: list[Run]) -> list[str]:
    """Medians of the runs of a way, with the spread of the first step."""
    cells = [way.name]
    for mark in MARKS:
        times = [t for each in found if (t := each.until(mark)) is not None]
        cells.append(f"{statistics.median(times):.3g}" if len(times) == len(found) else "-")
    firsts = [each.curve[0][1] for each in found]
    cells.append(f"{min(firsts):.2g} to {max(firsts):.2g}")
    cells.append(f"{statistics.median(each.curve[-1][0] for each in found):,.0f}")
    cells.append(f"{statistics.median(each.processor for each in found):.3g}")
    return [*cells, f"{statistics.median(each.memory for each in found) / 2**30:.2f}"]


def plot(path: Path, found: dict[str, dict[Way, list[Run]]]) -> None:
    """Steps over time, a picture a model."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(4.5 * len(found), 3.6), squeeze=False, layout="constrained")
    for axis, (name, ways) in zip(axes[0], found.items(), strict=True):
        for way, each in ways.items():
            steps, at = zip(*each[0].curve, strict=True)
            axis.plot(at, steps, label=way.name, linewidth=2.2 if way.engine == "auto" else 1.0)
        axis.set(title=name, xlabel="seconds since the process started", ylabel="steps", yscale="log", xscale="log")
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=7)
    figure.savefig(path, dpi=130)


def main() -> None:
    if sys.argv[1:2] == [CHILD]:
        train(sys.argv[2], float(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="the models (all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each process (60)")
    parser.add_argument("--times", type=int, default=3, help="that each way runs (3)")
    parser.add_argument("--ways", nargs="*", help="names of the table's rows (all)")
    parser.add_argument("--plot", type=Path, help="a picture of steps over time")
    parser.add_argument("--record", type=Path, help="the curves, as JSON")
    options = parser.parse_args()
    ways = [way for way in WAYS if not options.ways or way.name in options.ways]
    found: dict[str, dict[Way, list[Run]]] = {}
    names = options.names or NAMES
    with tqdm(total=len(names) * len(ways) * options.times, unit="process") as bar:
        for name in names:
            found[name] = {way: [] for way in ways}
            for way, each in runs(name, ways, options.seconds, options.times):
                found[name][way].append(each)
                bar.update()
            heads = ["way", *(f"{mark:,}" for mark in MARKS), "step 1, spread", "steps", "processor s", "GiB"]
            print(table(f"{name}, seconds until a step", heads, [row(w, r) for w, r in found[name].items()]))
    if options.plot:
        plot(options.plot, found)
    if options.record:
        plain: Any = {name: {way.name: each for way, each in rows.items()} for name, rows in found.items()}
        options.record.write_text(json.dumps(plain))


if __name__ == "__main__":
    main()
