"""The first step of Keras' training on PyTorch: Dovetail's engine, and Keras' own backend, in fresh processes.

It measures processor time from making the layers to the end of `fit` of one step, less a second `fit`.  The
libraries are imported before.  Frames of Python functions are counted in another run.

    python benchmarks/first_step.py [--rounds 20] [MLP Dense]

With BEFORE=PATH the sources of an earlier version take turns with these, from PATH/src.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from processes import Server, answer, command_line
from timing import frames, table
from tqdm import tqdm

LAYERS = 300
NAMES = ("MLP", "Dense")
SOURCES = Path(__file__).parent.parent / "src"


# -- a process with one backend ---------------------------------------------------------------------------------------


def dense() -> tuple[Any, Any, Any]:
    """A model of many equal layers, with a batch that it learns."""
    import keras
    from keras_models import RANDOM

    model = keras.Sequential([keras.Input((64,)), *(keras.layers.Dense(64) for _ in range(LAYERS))])
    model.compile(keras.optimizers.Adam(), "mse")
    return model, *(RANDOM.normal(size=(32, 64)).astype("float32") for _ in range(2))


def serve(engine: str) -> None:
    """Answers the name of a model with seconds of its first step, or with frames if the line ends with "frames"."""
    if engine:
        os.environ["DOVETAIL_ENGINE"] = engine
        import keras_dovetail  # noqa: F401  before Keras
    import torch
    from keras_models import TASKS, compiled

    torch.set_num_threads(1)
    name, *counts = sys.stdin.readline().split()
    task = TASKS["MLP"]._replace(steps=1)

    def first() -> tuple[Any, Any, Any]:
        model, x, y = compiled(task) if name == "MLP" else dense()
        model.fit(x, y, batch_size=32, verbose=0, shuffle=False)
        return model, x, y

    gc.collect()
    if counts:
        answer(frames(first).total())
        return
    start = time.process_time()
    model, x, y = first()
    middle = time.process_time()
    model.fit(x, y, batch_size=32, verbose=0, shuffle=False)
    answer(2 * middle - start - time.process_time())


# -- the comparison ---------------------------------------------------------------------------------------------------


def places() -> dict[str, tuple[str, str, Path]]:
    """The places to compare: backend of Keras, engine, and sources of Dovetail."""
    found = {"Dovetail": ("dovetail", "torch", SOURCES), "Keras": ("torch", "", SOURCES)}
    before = os.environ.get("BEFORE")
    return {"Dovetail before": ("dovetail", "torch", Path(before) / "src"), **found} if before else found


def asked(place: tuple[str, str, Path], line: str) -> Any:
    """The answer of a fresh process, which keeps no plans and reads none."""
    backend, engine, sources = place
    more = {"PYTHONPATH": str(sources), "DOVETAIL_CACHE": "", "OMP_NUM_THREADS": "1"}
    with Server(backend, engine, __file__, more) as server:
        return server.ask(line)


def measure(name: str, rounds: int) -> list[list[str]]:
    """A row for each place: median, quartiles and frames."""
    compared = places()
    times: dict[str, list[float]] = {place: [] for place in compared}
    for place in compared.values():
        asked(place, name)  # Python writes its bytecode
    for number in tqdm(range(rounds), desc=name, file=sys.stderr):
        order = list(compared)
        start = number % len(order)
        for place in order[start:] + order[:start]:
            times[place].append(asked(compared[place], name))
    rows = []
    for place, found in times.items():
        low, median, high = (f"{n * 1e3:.0f}" for n in statistics.quantiles(found, n=4))
        rows.append([name, place, median, f"{low} to {high}", f"{asked(compared[place], f'{name} frames'):,}"])
    return rows


def main(names: list[str], rounds: int) -> None:
    rows = [row for name in names or NAMES for row in measure(name, rounds)]
    header = ["model", "on PyTorch", "ms, median", "quartiles", "frames"]
    print(table(f"The first step of {rounds} fresh processes", header, rows))


if __name__ == "__main__":
    command_line(__doc__, NAMES, ("--rounds", 20, "fresh processes of each"), main, serve)
