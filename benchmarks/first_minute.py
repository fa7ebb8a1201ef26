"""The first minute of a process: how many steps it makes, by the seconds since it started.

Each way to run Keras has processes of its own, one after the other: `auto` with an empty cache, `auto, again` with the
cache of that run, each engine of Dovetail alone, and Keras' own backends.  There are four kinds of rows.

- MLP, CNN, ...: training; the seconds until step 1, 8, 64, 512 and 4,096.
- MLP-predict, CNN-predict, ...: prediction; the same for batches.
- Autoencoder, BiLSTM, VAE, ...: whole programs; the seconds until the end of each of their two epochs.  MobileNetV2,
  EfficientNetB0 and ResNet50 of keras.applications predict in the second one.
- MLP-fit, CNN-fit, ...: `fit(epochs=1)` again and again; the number of epochs when the time is over.

Each row has a table of these seconds, with the processor's seconds and peak memory.  The summary compares both kinds of
`auto` with the best single engine and with Keras' best backend.  A process that fails has "-" in the table, and its
error is on stderr.

Everything, which takes hours; nothing else should run on the machine meanwhile:

    python benchmarks/first_minute.py --record rows.json --plot steps.png

The same beside four programs that compute all the time:

    python benchmarks/first_minute.py MLP CNN --load 4 --times 5

A short try:

    python benchmarks/first_minute.py MLP GAN --seconds 5 --times 1 --ways auto torch

The tables of recorded runs.  Several records count as one, so a long measurement can be cut into parts:

    python benchmarks/first_minute.py --from rows.json more.json --plot steps.png

The numbers that a simulation of the choice needs, from runs of `auto` and of single engines.  A test replays:

    python benchmarks/first_minute.py MLP CNN LSTM ResNet --seconds 15 --times 1 \\
        --ways auto numpy torch jax tensorflow --simulation tests/choose/recorded.json
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import first_minute_report as report
from first_minute_report import AGAIN, AUTO, ENGINES, KERAS, PROGRAMS, ROWS, WAYS, Rows, Run
from processes import as_installed
from tqdm import tqdm

CHILD = "--child"
GRACE = 240.0  # seconds that a process may take longer than it is asked to train
SOURCES = Path(__file__).parent.parent / "src"
IMPORTS = "import keras, torch, jax, tensorflow"  # once before all processes, so that none waits for the disk


# -- the process that trains or predicts ------------------------------------------------------------------------------


class Child(NamedTuple):
    """The work of a process.

    Attributes:
        name: of the row.
        seconds: that it should take.
        started: when the process was started, by the monotonic clock, which all processes share.
    """

    name: str
    seconds: float
    started: float

    def run(self) -> Run:
        """Make steps from the start of the process on."""
        if os.environ["KERAS_BACKEND"] == "dovetail":
            import keras_dovetail  # noqa: F401  before Keras
        curve: list[tuple[int, float]] = []

        def ended(done: int) -> None:
            curve.append((done, time.monotonic() - self.started))

        models = self._run_program(ended) if self.name in PROGRAMS else self._repeat(ended)
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Run(curve, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, **_learned(models))

    def _run_program(self, ended: Callable[[int], None]) -> list[Any]:
        import keras_programs

        return keras_programs.PROGRAMS[self.name](ended)

    def _repeat(self, ended: Callable[[int], None]) -> list[Any]:
        """Train or predict, one step first, until the time is over; with one engine, at most until the last mark."""
        from keras_models import FITS, TASKS, compiled

        name, _, action = self.name.partition("-")
        task = (FITS if action == "fit" else TASKS)[name]
        model, x, y = compiled(task)
        if action == "fit":
            return self._fit(model, x, y, task.batch, ended)
        done, most = 0, math.inf if os.environ.get("DOVETAIL_ENGINE") == AUTO else max(report.STEPS.values())
        while done == 0 or (done < most and time.monotonic() - self.started < self.seconds):
            steps = min(task.steps, 7 * done) or 1  # so the marks are at ends of epochs
            size = steps * task.batch
            if action == "predict":
                model.predict(x[:size], batch_size=task.batch, verbose=0)
            else:
                model.fit(x[:size], y[:size], batch_size=task.batch, verbose=0, shuffle=False)
            done += steps
            ended(done)
        return [model]

    def _fit(self, model: Any, x: Any, y: Any, batch: int, ended: Callable[[int], None]) -> list[Any]:
        """Fit one epoch after the other until the time is over."""
        epochs = 0
        while time.monotonic() - self.started < self.seconds:
            model.fit(x, y, batch_size=batch, epochs=1, verbose=0)
            epochs += 1
            ended(epochs)
        return [model]


def _learned(models: list[Any]) -> dict[str, Any]:
    """The fields of a run that Dovetail's measurer knows; none on Keras' own backends."""
    if "dovetail" not in sys.modules:
        return {}
    from dovetail.execute.choice import Strategy

    functions = [getattr(model, f"{kind}_function", None) for model in models for kind in ("train", "predict")]
    plans = [plan for function in functions for plan in getattr(function, "plans", ()) if hasattr(plan, "measurer")]
    measurers = list({id(plan.measurer): plan.measurer for plan in plans}.values())
    most = max(measurers, key=lambda measurer: measurer.state.done)
    arms = [arm for arm in most.state.arms.values() if arm.strategy == Strategy(arm.strategy.engine)]
    return {
        "chosen": [plan.chosen.strategy.name for plan in plans],
        "plans": [f"{measurer.name}\n{measurer.report}" for measurer in measurers],
        "predicted": {arm.strategy.engine: (math.exp(arm.predicted.mean), arm.start) for arm in arms},
    }


# -- the process that compares ----------------------------------------------------------------------------------------


def environment(way: str, cache: Path) -> dict[str, str]:
    """The environment of a process that runs Keras in a way."""
    found = {**as_installed(), "DOVETAIL_CACHE": str(cache), "KERAS_BACKEND": "dovetail"}
    if way in KERAS:
        found["KERAS_BACKEND"] = KERAS[way]
    else:
        found["DOVETAIL_ENGINE"] = way if way in ENGINES else "auto"
    return found


def run(name: str, way: str, seconds: float, cache: Path) -> Run:
    """One process; if it fails, the run says why."""
    limit = seconds + GRACE
    command = [sys.executable, __file__, CHILD, json.dumps([name, seconds, time.monotonic()])]
    try:
        done = subprocess.run(
            command, env=environment(way, cache), capture_output=True, text=True, timeout=limit, cwd=Path.cwd()
        )
    except subprocess.TimeoutExpired:
        return Run(problem=f"it was not ready after {limit:.0f} s")
    if done.returncode:
        last = (done.stderr.strip() or "nothing on stderr").splitlines()[-1]
        return Run(problem=f"it ended with status {done.returncode}: {last}")
    return Run.of(json.loads(done.stdout.splitlines()[-1]))


def runs(name: str, ways: list[str], seconds: float, times: int) -> Iterator[tuple[str, Run]]:
    """The runs of a row, all ways in turn."""
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder)
            for number, way in enumerate(ways):
                if way != AGAIN:  # which finds the records of the run before
                    cache = Path(folder) / str(number)
                yield way, run(name, way, seconds, cache)


Found = Iterator[tuple[str, dict[str, list[Run]]]]


@contextlib.contextmanager
def loaded(programs: int) -> Iterator[None]:
    """Let some other programs compute all the time."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(names: list[str], ways: list[str], seconds: float, times: int) -> Found:
    """The runs of each row; failures are on stderr at once."""
    compileall.compile_dir(SOURCES, quiet=1)  # else the first processes would
    subprocess.run([sys.executable, "-c", IMPORTS], env=as_installed(), capture_output=True, check=False)
    with tqdm(total=len(names) * len(ways) * times, unit="process", file=sys.stderr) as bar:
        for name in names:
            found: dict[str, list[Run]] = {way: [] for way in ways}
            for way, each in runs(name, ways, seconds, times):
                found[way].append(each)
                if each.problem:
                    tqdm.write(f"{name}, {way}: {each.problem}", file=sys.stderr)
                bar.update()
            yield name, found


def command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"the rows (all): {', '.join(ROWS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each process; programs end by themselves (60)")
    parser.add_argument("--times", type=int, default=3, help="that each way runs; tables have medians (3)")
    ways = ", ".join(map(repr, WAYS))
    parser.add_argument("--load", type=int, default=0, metavar="N", help="other programs that compute meanwhile (0)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, metavar="WAY", help=f"the ways to run (all): {ways}")
    parser.add_argument(
        "--from", nargs="+", type=Path, dest="records", metavar="JSON", help="shows records again, runs nothing"
    )
    parser.add_argument("--record", type=Path, metavar="JSON", help="writes all runs, after each row")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draws steps over time")
    parser.add_argument("--simulation", type=Path, metavar="JSON", help="writes numbers for a simulation of the choice")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in ROWS]:
        parser.error(f"unknown rows {unknown}; there are {', '.join(ROWS)}")
    if options.ways and AGAIN in options.ways and AUTO not in options.ways:
        parser.error(f"{AGAIN!r} needs the cache of {AUTO!r}; name both")
    if missing := [str(path) for path in options.records or () if not path.is_file()]:
        parser.error(f"there are no files {missing}; --record writes such files")
    return options


def main() -> None:
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(asdict(Child(*json.loads(sys.argv[2])).run())))
        return
    options = command_line()
    names = [name for name in ROWS if not options.names or name in options.names]
    ways = [way for way in WAYS if not options.ways or way in options.ways]
    found: Rows = {}
    if options.records:
        recorded = report.load(options.records)
        rows: Found = ((name, recorded[name]) for name in names if name in recorded)
    else:
        rows = measure(names, ways, options.seconds, options.times)
    with loaded(0 if options.records else options.load):
        for name, each in rows:
            found[name] = each
            print(report.table_of(name, each), flush=True)
            if options.record:
                report.save(options.record, found)
    print(*report.summaries(found), sep="\n")
    if options.simulation:
        report.save_simulation(options.simulation, found)
    if options.plot:
        report.plot(options.plot, found)


if __name__ == "__main__":
    main()
