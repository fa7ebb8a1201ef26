"""Files of tensors: saving and loading 100 MB, against five other ways, each in a fresh process.

    python benchmarks/files.py [--megabytes 100] [--rounds 5] [--leave-out keras]

Times are ratios to the safetensors library.  `read` is the time to load the file and to sum all its numbers.  Memory is
the anonymous memory that these steps add, as a multiple of the file: the operating system can drop mapped pages of a
file, but no anonymous ones.  The files are in memory already, so no disk is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import table

SIZE = 1 << 18  # numbers in a tensor, 1 MB
Numbers = dict[str, np.ndarray]
Way = tuple[Callable[[str], Any], Callable[[str], Any]]  # save to a path; load from it, and read all numbers


def summed(values: Any) -> float:
    """The sum of all numbers, which reads all pages."""
    return float(sum(np.asarray(value).sum() for value in values))


def dovetail(engine: str) -> Callable[[Numbers], Way]:
    def way(numbers: Numbers) -> Way:
        import dovetail as dt

        dt.set_engine(engine)
        dt.ops.constant([1.0])  # the library of the engine is imported
        given = {name: dt.Variable(array, name=name) for name, array in numbers.items()}
        return lambda path: dt.save(given, path), lambda path: summed(dt.load(path).values())

    return way


def safetensors(numbers: Numbers) -> Way:
    from safetensors.numpy import load_file, save_file

    return lambda path: save_file(numbers, path), lambda path: summed(load_file(path).values())


def savez(numbers: Numbers) -> Way:
    def load(path: str) -> float:
        with np.load(path) as file:
            return summed(file[name] for name in file)

    return lambda path: np.savez(path, **numbers), load


def torch(numbers: Numbers) -> Way:
    import torch

    given = {name: torch.from_numpy(array) for name, array in numbers.items()}
    return lambda path: torch.save(given, path), lambda path: summed(torch.load(path, weights_only=True).values())


def tensorflow(numbers: Numbers) -> Way:
    import tensorflow as tf

    saved = tf.train.Checkpoint(**{name: tf.Variable(array) for name, array in numbers.items()})

    def load(path: str) -> float:
        given = {name: tf.Variable(tf.zeros(SIZE)) for name in numbers}
        tf.train.Checkpoint(**given).read(path).assert_consumed()
        return summed(variable.numpy() for variable in given.values())

    return saved.write, load


def keras(numbers: Numbers) -> Way:
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    width = SIZE // 256
    layers = [keras.layers.Dense(256, use_bias=False, name=name) for name in numbers]
    x = keras.Input((width,))
    model = keras.Model(x, [layer(x) for layer in layers])
    for layer, array in zip(layers, numbers.values(), strict=True):
        layer.set_weights([array.reshape(width, 256)])
    load = lambda path: summed(w.numpy() for w in keras.saving.load_model(path, compile=False).weights)  # noqa: E731
    return model.save, load


WAYS: dict[str, tuple[Callable[[Numbers], Way], str]] = {  # name → the way, and the ending of its file
    "safetensors": (safetensors, "safetensors"),
    **{f"dt.save, {engine}": (dovetail(engine), "safetensors") for engine in ("numpy", "torch", "jax", "tensorflow")},
    "np.savez": (savez, "npz"),
    "torch.save": (torch, "pt"),
    "tf.train.Checkpoint": (tensorflow, "ckpt"),
    "keras, .keras": (keras, "keras"),
}


def anonymous() -> int:
    """The bytes of anonymous memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def measure(name: str, megabytes: int, path: str) -> dict[str, float]:
    """The seconds to save and to read, and the anonymous memory of reading as a multiple of the numbers."""
    draw = np.random.default_rng(0)
    make, ending = WAYS[name]
    numbers = {f"w{i}": draw.standard_normal(SIZE, "float32") for i in range(megabytes)}
    save, load = make(numbers)
    few = make({"w0": numbers["w0"]})  # a small file first, for which libraries import their parts
    few[0](f"{path}.few.{ending}")
    few[1](f"{path}.few.{ending}")
    file = f"{path}.{ending}"
    start = time.perf_counter()
    save(file)
    middle = time.perf_counter()
    before = anonymous()
    load(file)
    end = time.perf_counter()
    return {"save": middle - start, "read": end - middle, "memory": most_of(load, file, before) / (megabytes << 20)}


def most_of(load: Callable[[str], Any], file: str, before: int) -> float:
    """The most anonymous memory during another load, above the memory before; a thread samples it."""
    most, stop = [before], threading.Event()

    def sample() -> None:
        while not stop.wait(0.001):
            most.append(anonymous())

    thread = threading.Thread(target=sample)
    thread.start()
    load(file)
    stop.set()
    thread.join()
    return max(most) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="WORD", help="ways whose names begin with it")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "PATH"), help="measure one way in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], given.megabytes, given.one[1])))
        return
    ways = [name for name in WAYS if not name.startswith(tuple(given.leave_out))]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.rounds):
            for name in ways:
                command = [
                    sys.executable,
                    __file__,
                    "--megabytes",
                    str(given.megabytes),
                    "--one",
                    name,
                    f"{folder}/{number}",
                ]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
                for file in Path(folder).iterdir():
                    file.unlink()
    rows = []
    for name, runs in found.items():
        ratios = [
            [run[key] / peer[key] for run, peer in zip(runs, found["safetensors"], strict=True)]
            for key in ("save", "read")
        ]
        memory = statistics.median(run["memory"] for run in runs)
        rows.append([name, *(f"{statistics.median(r):.2f}" for r in ratios), f"{memory:.2f}"])
    seconds = [statistics.median(run[key] for run in found["safetensors"]) for key in ("save", "read")]
    print(table(f"{given.megabytes} MB (`files.py`)", ["way", "save", "read", "memory"], rows))
    print("\nsafetensors: " + ", ".join(f"{key} {s:.3f} s" for key, s in zip(("save", "read"), seconds, strict=True)))


if __name__ == "__main__":
    main()
