"""What it costs and gains that large blocks of memory stay with the process: page faults, peak memory and time a step.

Keras on Dovetail trains, in two processes for each engine: one keeps the memory, one does not.  They take turns.

    python benchmarks/memory.py [--engines numpy torch jax tensorflow] [MLP CNN LSTM Transformer ResNet]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from contextlib import ExitStack

from keras_fit import NAMES, OWN, Server
from timing import table
from tqdm import tqdm

ROUNDS = 6


def serve(engine: str) -> None:
    """Makes a model, then trains an epoch for each line that comes in: page faults and seconds a step, peak bytes."""
    from keras_models import TASKS, compiled

    import dovetail
    import keras_dovetail  # noqa: F401  before Keras

    dovetail.set_engine(engine)
    task = TASKS[sys.stdin.readline().strip()]
    model, x, y = compiled(task)
    print("made", flush=True)
    for _ in sys.stdin:
        faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.perf_counter()
        model.fit(x, y, batch_size=task.batch, verbose=0, shuffle=False)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(
            json.dumps([(used.ru_minflt - faults) / task.steps, seconds / task.steps, used.ru_maxrss * 1024]),
            flush=True,
        )


def measure(name: str, engine: str) -> list[str]:
    """A row of the table."""
    with ExitStack() as stack:
        servers = []
        for keeps in ("0", "1"):
            os.environ["DOVETAIL_KEEP_MEMORY"] = keeps
            servers.append(stack.enter_context(Server("dovetail", engine, __file__)))
            servers[-1].ask(name)
        found: list[list[list[float]]] = [[], []]
        for round_ in range(ROUNDS):
            for i in (0, 1) if round_ % 2 else (1, 0):
                found[i].append(json.loads(servers[i].ask("fit")))
    settled = [epochs[2:] for epochs in found]  # the first traces and compiles
    faults, times = ([statistics.median(e[k] for e in epochs) for epochs in settled] for k in (0, 1))
    peaks = [max(e[2] for e in epochs) / 1e6 for epochs in found]
    row = [f"{faults[0]:,.0f}", f"{faults[1]:,.0f}", f"{times[0] * 1e3:.2f}", f"{times[1] * 1e3:.2f}"]
    return [name, engine, *row, f"{times[0] / times[1]:.2f}", f"{peaks[0]:,.0f}", f"{peaks[1]:,.0f}"]


def main(names: list[str], engines: list[str]) -> None:
    pairs = [(name, engine) for name in names or NAMES for engine in engines]
    rows = [measure(*pair) for pair in tqdm(pairs, desc="memory", file=sys.stderr)]
    header = ["model", "engine", "faults a step", "kept", "ms a step", "kept", "faster by", "peak MB", "kept"]
    print(table("Memory that is given back, and kept: page faults, time and peak memory in training", header, rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="the models (all)")
    parser.add_argument("--engines", nargs="+", default=["numpy", *OWN], help="what computes (all four)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is None:
        main(options.names, options.engines)
    else:
        serve(options.serve)
