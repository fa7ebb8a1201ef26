"""Keras' `fit` and `predict`: on its own backends for TensorFlow, JAX and PyTorch, and on Dovetail with each engine.

A process for each of them holds a model, and they take turns: an epoch each, in an order that changes.  The best epochs
are compared.  The first epoch, which traces and compiles, has a separate table.

    python benchmarks/keras_fit.py [--epochs 15] [MLP CNN LSTM Transformer ResNet]
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack

from processes import Server, answer, command_line
from timing import table
from tqdm import tqdm

OWN = ("jax", "torch", "tensorflow")  # Keras' backends, and Dovetail's engines other than numpy
PLACES = [*((name, "") for name in OWN), *(("dovetail", name) for name in ("numpy", *OWN))]
NAMES = ("MLP", "CNN", "LSTM", "Transformer", "ResNet")
ACTIONS = ("fit", "predict")


# -- a process with one backend ---------------------------------------------------------------------------------------


def serve(engine: str) -> None:
    """Make a model, then train or predict an epoch for each line, and answer with its seconds."""
    if engine:
        import keras_dovetail  # noqa: F401  before Keras
    from keras_models import TASKS, compiled

    if engine:
        import dovetail

        dovetail.set_engine(engine)
    for line in sys.stdin:
        action = line.strip()
        if action in TASKS:
            task = TASKS[action]
            model, x, y = compiled(task)
            answer("made")
            continue
        start = time.perf_counter()
        if action == "fit":
            model.fit(x, y, batch_size=task.batch, verbose=0, shuffle=False)
        else:
            model.predict(x, batch_size=task.batch, verbose=0)
        answer((time.perf_counter() - start) / task.steps)


# -- the comparison ---------------------------------------------------------------------------------------------------


def measure(name: str, epochs: int) -> dict[tuple[str, str, str], list[float]]:
    """Seconds a step of each epoch, by action, backend and engine."""
    with ExitStack() as stack:
        servers = {place: stack.enter_context(Server(*place, __file__)) for place in PLACES}
        for server in servers.values():
            server.ask(name)
        found: dict[tuple[str, str, str], list[float]] = {}
        for action in ACTIONS:
            for epoch in tqdm(range(epochs + 1), desc=f"{name}, {action}", file=sys.stderr):
                start = epoch % len(PLACES)
                for place in PLACES[start:] + PLACES[:start]:
                    found.setdefault((action, *place), []).append(servers[place].ask(action))
    return found


def rows_of(name: str, times: dict[tuple[str, str, str], list[float]], first: bool) -> list[list[str]]:
    """A row for each action: milliseconds a step, and for Dovetail how often those fit into Keras' on that engine."""
    rows = []
    for action in ACTIONS:
        chosen = {place: times[action, *place][0] if first else min(times[action, *place][1:]) for place in PLACES}
        fastest = min(chosen[engine, ""] for engine in OWN)
        row = [name, action]
        for backend, engine in PLACES:
            ours = chosen[backend, engine]
            theirs = chosen.get((engine, ""), fastest)
            row.append(f"{ours * 1e3:.2f}" + (f" ({theirs / ours:.1f}x)" if backend == "dovetail" else ""))
        rows.append(row)
    return rows


def main(names: list[str], epochs: int) -> None:
    first, best = [], []
    for name in names or NAMES:
        times = measure(name, epochs)
        first += rows_of(name, times, first=True)
        best += rows_of(name, times, first=False)
    header = ["model", "", *(f"Dovetail, {engine}" if engine else f"Keras, {backend}" for backend, engine in PLACES)]
    note = "numpy against the fastest of Keras' backends, the others against Keras' own for the engine"
    print(table(f"Keras: ms a step, the best of {epochs} epochs; {note}", header, best))
    print(table("Keras: ms a step in the first epoch, which traces and compiles", header, first))


if __name__ == "__main__":
    command_line(__doc__, NAMES, ("--epochs", 15, "that are measured after the first"), main, serve)
