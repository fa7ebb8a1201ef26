"""Training steps in one and two processes on torch, each pinned to a core, against DistributedDataParallel.

The model is an MLP.  In each process the programs take turns, in blocks of steps that all ranks begin together.  A
block of `fit` is an epoch: a short or a long one, since `fit` begins by sending all variables.  In one process, torch's
own modules are the measure.  Bytes are those that the loopback device sent in the quietest block, with the headers of
gloo and of TCP.

    python benchmarks/distributed.py [rounds]
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
from timing import table

RUNS, RANKS = 3, (2, 1)
SIZES, BATCH, RATE = (784, 1024, 1024, 10), 64, 0.01
BLOCK, EPOCHS = 20, (20, 100)  # steps
SPREADS = (
    "processes",
    "step",
    "DDP ms",
    "Dovetail ms",
    "ratio",
    "smallest",
    "largest",
    "DDP bytes",
    "Dovetail bytes",
    "ratio of bytes",
)


def sent() -> int:
    """The bytes that the loopback device has sent."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split(":")[1].split()[8])


def ddp_step(parameters, x, y, rank: int, ranks: int) -> Callable[[], float]:
    """A step of torch's own modules, whose gradients DistributedDataParallel averages over several processes."""
    import torch
    import torch.distributed as dist

    layers = [torch.nn.Linear(*w.shape) for w in parameters[::2]]
    with torch.no_grad():
        for layer, w, b in zip(layers, parameters[::2], parameters[1::2], strict=True):
            layer.weight.copy_(torch.tensor(w.T))
            layer.bias.copy_(torch.tensor(b))
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    if ranks > 1:
        store = dist.FileStore(os.environ["DOVETAIL_STORE"] + ".ddp")
        dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=timedelta(seconds=60))
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    x, y = torch.tensor(x), torch.tensor(y)

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def function_step(parameters, x, y) -> Callable[[], float]:
    """A step of a Dovetail function."""
    import dovetail as dt
    from dovetail import ops

    variables = [dt.Variable(p) for p in parameters]
    x, y = ops.convert(x), ops.one_hot(ops.convert(y), SIZES[-1])

    @dt.function
    def step(x, y):
        with dt.GradientTape() as tape:
            w1, b1, w2, b2, w3, b3 = variables
            logits = ops.relu(ops.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3
            loss = -ops.mean(ops.sum(y * ops.log_softmax(logits), axis=-1))
        gradients = dt.distributed.average(tape.gradient(loss, variables))
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(RATE * gradient)
        return loss

    return lambda: float(step(x, y))


def keras_model(parameters):
    """A model of Keras on Dovetail."""
    import keras

    keras.distribution.set_distribution(keras.distribution.DataParallel())
    hidden = [keras.layers.Dense(size, "relu") for size in SIZES[1:-1]]
    model = keras.Sequential([keras.Input((SIZES[0],)), *hidden, keras.layers.Dense(SIZES[-1])])
    model.set_weights(parameters)
    model.compile(keras.optimizers.SGD(RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def keras_step(parameters, x, y) -> Callable[[], float]:
    """A step of `train_on_batch`, which gets the rows of all ranks."""
    model = keras_model(parameters)
    return lambda: float(model.train_on_batch(x, y))


def keras_epoch(parameters, x, y, steps: int) -> Callable[[], float]:
    """An epoch of `fit` of so many steps."""
    model, rows = keras_model(parameters), len(x)
    x, y = (np.concatenate([part] * steps) for part in (x, y))
    return lambda: model.fit(x, y, batch_size=rows, shuffle=False, verbose=0).history["loss"][0]


def measure(rounds: int) -> None:
    """Compare the losses of the programs in this rank, and print seconds and bytes of a step of each."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    import dovetail as dt

    dt.distributed.init(timeout=60)
    rng = np.random.default_rng(0)
    parameters = []
    for rows, columns in itertools.pairwise(SIZES):
        w = rng.normal(size=(rows, columns)) * (2 / rows) ** 0.5
        parameters += [w.astype("float32"), np.zeros(columns, "float32")]
    x = rng.normal(size=(ranks * BATCH, SIZES[0])).astype("float32")
    y = rng.integers(0, SIZES[-1], len(x))
    own = slice(rank * BATCH, (rank + 1) * BATCH)
    single = {
        "DDP": ddp_step(parameters, x[own], y[own], rank, ranks),
        "function": function_step(parameters, x[own], y[own]),
        "Keras, `train_on_batch`": keras_step(parameters, x, y),
    }
    blocks = {name: (partial(several, step), BLOCK) for name, step in single.items()}
    for steps in EPOCHS:
        blocks[f"Keras, `fit`, {steps} steps"] = keras_epoch(parameters, x, y, steps), steps
    losses = {name: dt.ops.all_reduce(np.float32(block()), "mean").numpy() for name, (block, _) in blocks.items()}
    same = [loss for name, loss in losses.items() if blocks[name][1] == BLOCK]
    np.testing.assert_allclose(same, losses["DDP"], rtol=1e-3)
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    sizes: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in range(rounds):
        for name, (block, steps) in blocks.items():
            dt.distributed.barrier()
            start, before = time.perf_counter(), sent()
            block()
            seconds[name].append((time.perf_counter() - start) / steps)
            sizes[name].append((sent() - before) / steps)
    if rank == 0:
        print(json.dumps({name: (seconds[name], min(sizes[name])) for name in blocks}))


def several(step: Callable[[], float]) -> float:
    """The mean loss of a block of steps."""
    return statistics.mean(step() for _ in range(BLOCK))


def run(rounds: int, ranks: int) -> dict[str, tuple[list[float], float]]:
    """The figures of one run with this number of processes."""
    with tempfile.TemporaryDirectory() as folder:
        common = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": str(ranks),
            "DOVETAIL_STORE": str(Path(folder) / "store"),
            "DOVETAIL_ENGINE": "torch",
            "KERAS_BACKEND": "dovetail",
        }
        command = [sys.executable, __file__, "--rank", str(rounds)]
        environments = [{**common, "RANK": str(rank)} for rank in range(ranks)]
        processes = [subprocess.Popen(command, env=one, stdout=subprocess.PIPE, text=True) for one in environments]
        try:
            printed = [process.communicate(timeout=300)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
    return json.loads(printed[0].splitlines()[-1])


def rows_of(ranks: int, rounds: int) -> list[list[str]]:
    """The rows of the table for one number of processes."""
    runs = [run(rounds, ranks) for _ in range(RUNS)]
    rows: list[list[str]] = []
    for name in [*runs[0]][1:]:
        pairs = [[o / t for o, t in zip(found[name][0], found["DDP"][0], strict=True)] for found in runs]
        ratios = sorted(statistics.median(pair) for pair in pairs)
        times = [statistics.median(s for found in runs for s in found[who][0]) * 1e3 for who in ("DDP", name)]
        sizes = [min(found[who][1] for found in runs) for who in ("DDP", name)]
        spread = [f"{ratio:.2f}" for ratio in (ratios[1], ratios[0], ratios[-1])]
        told = [*(f"{size:,.0f}" for size in sizes), f"{sizes[1] / sizes[0]:.3f}"] if ranks > 1 else [""] * 3
        rows.append([str(ranks), name, *(f"{t:.1f}" for t in times), *spread, *told])
    return rows


def main(rounds: int) -> None:
    rows = [row for ranks in RANKS for row in rows_of(ranks, rounds)]
    print(table("Processes against DistributedDataParallel, an MLP on torch", list(SPREADS), rows))


if __name__ == "__main__":
    measure(int(sys.argv[2])) if sys.argv[1:2] == ["--rank"] else main(int((*sys.argv[1:], "5")[0]))
