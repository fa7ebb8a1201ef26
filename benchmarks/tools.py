"""The cost of Dovetail's tools, as ratios: a profile.

python benchmarks/tools.py
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import calls_for, frames, seconds_per_call, table

import dovetail as dt
from dovetail import ops

ROUNDS, SECONDS = 11, 0.05


def small(x: Any) -> Any:
    for _ in range(20):
        x = ops.tanh(x) + 1.0
    return x


def step(x: Any, w: Any) -> Any:
    y = ops.relu(x @ w)
    return ops.sum(ops.exp(ops.tanh(y)), axis=0)


def profiled(call: Callable[[], Any]) -> list[str]:
    """Calls before, in and after a profile, in turn: their ratios, and the frames of a call before and after."""
    count = min(1000, calls_for(call, SECONDS))
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


def main() -> None:
    rows = []
    for name in dt.list_engines():
        with dt.engine(name):
            rows += profile_rows(name)
    header = ["engine", "call", "in a profile", "after it", "frames before → after"]
    print(table("A profile (`tools.py`): time of a call, by the time before", header, rows))


if __name__ == "__main__":
    main()
