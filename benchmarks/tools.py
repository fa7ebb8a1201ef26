"""The cost of Dovetail's tools, as ratios: a profile, checks of numbers, taps, and pictures of graphs.

python benchmarks/tools.py
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from timing import calls_for, frames, seconds_per_call, table

import dovetail as dt
from dovetail import backend as K
from dovetail import ops

ROUNDS, SECONDS = 11, 0.05


def small(x: Any) -> Any:
    for _ in range(20):
        x = ops.tanh(x) + 1.0
    return x


def step(x: Any, w: Any) -> Any:
    y = dt.tap(ops.relu(x @ w), "hidden")
    return ops.sum(ops.exp(ops.tanh(y)), axis=0)


def profiled(call: Callable[[], Any]) -> list[str]:
    """Calls before, in and after a profile, in turn: their ratios, and the frames of a call before and after."""
    for _ in range(3):
        call()  # traced, and compiled
    count = calls_for(call, SECONDS)
    before_frames = sum(frames(call).values())
    inside, after = [], []
    for _ in range(ROUNDS):
        before = seconds_per_call(call, count)
        with dt.profile():
            call()  # made ready
            inside.append(seconds_per_call(call, count) / before)
        gc.collect()  # the events, and the messages of the libraries' traces
        after.append(seconds_per_call(call, count) / before)
    ratios = [f"{statistics.median(found):.2f}" for found in (inside, after)]
    return [*ratios, f"{before_frames} → {sum(frames(call).values())}"]


def profile_rows(name: str) -> list[list[str]]:
    tiny, large = ops.ones((4, 4)), ops.convert(np.ones((512, 512), "float32"))
    chain, matrix = dt.function(small), dt.function(step)
    cases: dict[str, Callable[[], Any]] = {
        "an eager add of 16 numbers": lambda: tiny + tiny,
        "a program of 40 small operations": lambda: chain(tiny).numpy(),
        "a program with a product, 512 by 512": lambda: matrix(large, large).numpy(),
    }
    return [[name, what, *profiled(call)] for what, call in cases.items()]


def probed(call: Callable[[], Any]) -> list[str]:
    """Calls without probes, checked, with taps, and after that, in turn: their ratios, and the frames of a call."""
    for _ in range(3):
        call()
    count, before_frames = calls_for(call, SECONDS), sum(frames(call).values())
    found: list[list[float]] = [[], [], []]
    for _ in range(ROUNDS):
        before = seconds_per_call(call, count)
        for ratios, scope in zip(found, (dt.check_numerics, dt.taps, nullcontext), strict=True):
            with scope():
                call()  # made ready
                ratios.append(seconds_per_call(call, count) / before)
    return [
        *(f"{statistics.median(ratios):.2f}" for ratios in found),
        f"{before_frames} → {sum(frames(call).values())}",
    ]


def probe_rows(name: str) -> list[list[str]]:
    tiny, large = ops.ones((4, 4)), ops.convert(np.full((512, 512), 1e-3, "float32"))
    matrix, weights = dt.function(step), dt.Variable(large)

    @dt.function
    def train(x: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = ops.mean(ops.square(x @ weights))
        weights.assign_sub(1e-6 * tape.gradient(loss, weights))
        return loss

    cases: dict[str, Callable[[], Any]] = {
        "an eager add of 16 numbers": lambda: tiny + tiny,
        "a program with a product, 512 by 512": lambda: matrix(large, large).numpy(),
        "a step that assigns a variable, 512 by 512": lambda: train(large).numpy(),
    }
    return [[name, what, *probed(call)] for what, call in cases.items()]


def large_graph() -> Any:
    """A graph of about 10,000 operations in 100 scopes."""

    def program(x: Any) -> Any:
        for number in range(100):
            with K.name_scope(f"layer_{number}"):
                y = x
                for _ in range(25):
                    y = ops.tanh(y) * 0.5 + y
                x = x + y
        return x

    return dt.function(program).graph(dt.spec((8, 8)))


def show_rows() -> list[list[str]]:
    """The processor time of writing pictures of a large graph, by that of saving it, and the sizes of the files."""
    graph = large_graph()
    with tempfile.TemporaryDirectory() as folder:
        paths = {kind: Path(folder, f"graph{kind}") for kind in (".safetensors", ".html", ".json", ".dot")}
        times: dict[str, list[float]] = {kind: [] for kind in paths}
        for _ in range(3):
            for kind, path in paths.items():
                start = time.process_time()
                dt.save(graph, path) if kind == ".safetensors" else graph.show(path)
                times[kind].append(time.process_time() - start)
        saved = statistics.median(times.pop(".safetensors"))
        return [
            [
                kind,
                f"{statistics.median(found):.2f}",
                f"{statistics.median(found) / saved:.2f}",
                f"{paths[kind].stat().st_size / 1e6:.2f}",
            ]
            for kind, found in times.items()
        ]


TABLES: list[tuple[str, list[str], Callable[[str], list[list[str]]]]] = [
    ("A profile", ["in a profile", "after it", "frames before → after"], profile_rows),
    ("Probes", ["checked", "with taps", "after them", "frames before → after"], probe_rows),
]


def main() -> None:
    for title, columns, rows_of in TABLES:
        rows = []
        for name in dt.list_engines():
            with dt.engine(name):
                rows += rows_of(name)
        print(table(f"{title} (`tools.py`): time of a call, by the time before", ["engine", "call", *columns], rows))
    columns = ["picture", "seconds", "by dt.save", "MB"]
    print(table("Pictures of 10,000 operations (`tools.py`): processor time, three times", columns, show_rows()))


if __name__ == "__main__":
    main()
