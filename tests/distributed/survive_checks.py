"""A program that trains with checkpoints, whichever of its ranks are lost; `survive.py` ends or stops them.

It prints the step after which it begins, and ends after the one that its last argument says.  Its phase, a letter, is
in the file `phase.RANK`: "s" start, "f" first step, "t" training.  Rank 0 writes the losses of all steps, and the
weights, in the end.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

import dovetail as dt
from dovetail import ops

EPOCHS, ROWS, BATCH, EVERY = 18, 480, 24, 10
TABLES = 4
RNG = np.random.default_rng(11)
X = RNG.normal(size=(ROWS, 8))
Y = np.tanh(X @ RNG.normal(size=(8, 3)))


def variables():
    """The variables of a perceptron, a momentum for each, and the count of random draws."""
    shapes = {"w1": (8, 16), "b1": (16,), "w2": (16, 3), "b2": (3,)}
    weights = {
        name: dt.Variable(np.random.default_rng(i).normal(size=shape) / 4, name=name)
        for i, (name, shape) in enumerate(shapes.items())
    }
    slots = {f"{name}/momentum": dt.Variable(np.zeros(v.shape), trainable=False) for name, v in weights.items()}
    return weights, slots


def main(folder: Path, pause: float, megabytes: int, last: int = EPOCHS * ROWS // BATCH) -> None:
    """Train, with `pause` seconds after each step, and with `megabytes` more in each checkpoint."""

    def phase(letter: str) -> None:
        (folder / f"phase.{os.environ.get('RANK', '0')}").write_text(letter)

    phase("s")
    dt.distributed.init(timeout=float(os.environ.get("TIMEOUT", "60")), start=float(os.environ.get("START", "300")))
    rank, size = dt.distributed.rank(), dt.distributed.world_size()
    weights, slots = variables()
    sums = [dt.Variable(np.zeros(megabytes * 2**20 // 8 // TABLES), trainable=False) for _ in range(TABLES)]
    generator = dt.Generator(5)

    @dt.function
    def step(x, y, first):
        noise = ops.random.normal(generator.next_key(), (BATCH, 16), dtype="float64")  # of the whole batch
        with dt.GradientTape() as tape:
            hidden = ops.tanh(x @ weights["w1"] + weights["b1"]) + 0.1 * noise[first : first + x.shape[0]]
            loss = ops.mean((hidden @ weights["w2"] + weights["b2"] - y) ** 2)
        gradients = dt.distributed.average(tape.gradient(loss, list(weights.values())))
        for weight, slot, gradient in zip(weights.values(), slots.values(), gradients, strict=True):
            slot.assign(0.9 * slot + gradient)
            weight.assign_sub(0.05 * slot)
        return ops.all_reduce(loss, "mean")

    kept = weights | slots | {"draws": generator.count} | {f"sums/{i}": table for i, table in enumerate(sums)}
    checkpoints = dt.distributed.Checkpoints(folder / "checkpoints")
    found = checkpoints.restore(kept)
    done, losses = (found.step, found.position["losses"]) if found else (0, [])
    print(f"rank {rank} of {size} begins after step {done}", flush=True)
    phase("f")
    batches = ROWS // BATCH
    for number in range(done, last):
        epoch, batch = divmod(number, batches)
        order = np.random.default_rng([7, epoch]).permutation(ROWS)  # of the epoch, whenever it is drawn
        each = BATCH // size
        rows = order[batch * BATCH + rank * each :][:each]
        losses.append(step(X[rows], Y[rows], np.int32(rank * each)).item())
        time.sleep(pause)
        if number == done:
            phase("t")
        if (number + 1) % EVERY == 0:
            for table in sums:
                table.assign(table + losses[-1])
            checkpoints.save(number + 1, kept, {"epoch": epoch, "batch": batch + 1, "losses": losses})
    checkpoints.wait()
    if rank == 0:
        values = {name: v.numpy() for name, v in kept.items()}
        np.savez(folder / "results.npz", losses=np.array(losses), **values)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:]))
