"""Dropout of the rows of one rank of four: the part of the random numbers, by the whole, of which rows are taken.

python benchmarks/parts.py
"""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable
from typing import Any

from timing import compare, table

import dovetail as dt
from dovetail import ops
from dovetail.ops import random

ROWS, COLUMNS, RANKS = 512, 4096, 4
RUNS, ROUNDS, SECONDS = 3, 15, 0.05
ENGINES = "numpy", "torch", "jax", "tensorflow"


def whole(key: Any, x: Any) -> Any:
    rows = ROWS // RANKS
    return ops.where(random.bernoulli(key, (ROWS, COLUMNS), 0.5)[rows : 2 * rows], x / 0.5, 0)


def part(key: Any, x: Any) -> Any:
    return random.dropout(key, x, 0.5, part=(ROWS // RANKS, ROWS))


def peak(call: Callable[[], Any]) -> int:
    """The most memory that a call of NumPy takes, in bytes."""
    call()
    tracemalloc.start()
    call()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def figures(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def row(engine: str) -> list[str]:
    """The ratios of times of a compiled function and of an eager call; for NumPy, that of memory, too."""
    with dt.engine(engine):
        x, key = ops.ones((ROWS // RANKS, COLUMNS)), random.key(3)
        times = []
        for ours, theirs in ((dt.function(part), dt.function(whole)), (part, whole)):
            calls = (lambda: ours(key, x).numpy()), (lambda: theirs(key, x).numpy())  # noqa: B023  # called at once
            times.append(figures([compare(*calls, ROUNDS, SECONDS).ratio for _ in range(RUNS)]))
        memory = f"{peak(lambda: part(key, x)) / peak(lambda: whole(key, x)):.2f}" if engine == "numpy" else ""
    return [engine, *times, memory]


if __name__ == "__main__":
    title = f"Dropout of one rank of {RANKS} (`parts.py`), {ROWS} by {COLUMNS} float32: the part by the whole"
    print(table(title, ["engine", "time, compiled", "time, eager", "memory"], [row(engine) for engine in ENGINES]))
