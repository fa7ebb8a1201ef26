"""Predictions of the nine models on each engine that `auto` chooses from, in turns: the gain by one that only compiles.

python benchmarks/candidates.py [MLP CNN LSTM GRU Transformer ResNet MobileNet UNet Speech]
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from typing import Any

from timing import repeated, seconds_per_call, table

import dovetail as dt
from dovetail.core.engines.engine_registry import list_candidates

ROUNDS, SECONDS = 3, 0.4


def row_of(name: str, model: Any, batch: Any) -> list[str]:
    """Milliseconds on the best engine that computes everything, on the best other one, and what that gains."""
    calls = {}
    for engine in list_candidates():
        predict = dt.function(lambda x: model(x, training=False), engine=engine)
        calls[engine] = lambda predict=predict: predict(batch).numpy()
        calls[engine]()
    times: dict[str, list[float]] = {engine: [] for engine in calls}
    for _ in range(ROUNDS):
        for engine, call in calls.items():
            times[engine].append(statistics.median(repeated(partial(seconds_per_call, call, 1), SECONDS)))
    middle = {engine: statistics.median(found) for engine, found in times.items()}
    best = min(dt.list_engines(), key=middle.__getitem__)
    other = min((engine for engine in middle if engine not in dt.list_engines()), key=middle.__getitem__)
    gains = [min(times[e][i] for e in dt.list_engines()) / min(t[i] for t in times.values()) for i in range(ROUNDS)]
    spread = f"{min(gains):.2f} to {max(gains):.2f}"
    cells = [f"{middle[best] * 1e3:.2f}", best, f"{middle[other] * 1e3:.2f}", other]
    return [name, *cells, f"{statistics.median(gains):.2f}", spread]


def rows_of(names: list[str]) -> list[list[str]]:
    from keras_models import TASKS, compiled

    rows = []
    for name in names or TASKS:
        model, x, _ = compiled(TASKS[name])
        rows.append(row_of(name, model, x[: TASKS[name].batch]))
    return rows


def main() -> None:
    import keras_dovetail  # noqa: F401  before Keras, which then runs on it

    rows = rows_of(sys.argv[1:])
    mean = statistics.geometric_mean([float(row[5]) for row in rows])
    header = ["model", "ms", "engine", "ms", "engine that only compiles", "gain with it", "spread"]
    print(table(f"Further candidates of `auto`, predictions: geometric mean {mean:.2f}", header, rows))


if __name__ == "__main__":
    main()
