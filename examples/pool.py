"""A pool of memory for the large arrays of an engine: it counts, has a limit, and refuses.

    python examples/pool.py

A training step needs arrays of the same few sizes again and again.  The pool keeps the blocks that come back, and gives
them out again.  So after the first steps nothing new is taken from the system.  It never holds more than its limit: it
first lets go of blocks that nobody uses, then it refuses.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops


class Pool:
    """Blocks of memory by size, as in pyopencl's MemoryPool.

    Args:
        limit: the most bytes that it holds, given out or waiting.

    Attributes:
        active, waiting: the bytes that are given out, and that wait to be given out.
        counts: how many blocks were new, reused, freed, and how many requests were refused.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.active = self.waiting = 0
        self.counts: Counter[str] = Counter()
        self._free: dict[int, list[np.ndarray]] = defaultdict(list)

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: str | None) -> np.ndarray:
        """An array in a block of at least its size: a power of 2, so that many arrays fit it."""
        needed = int(np.prod(shape)) * dtype.itemsize
        size = max(4096, 1 << (needed - 1).bit_length())
        try:
            block = self._free[size].pop()  # one step, as `release` may come at any time, in any thread
            self.waiting -= size
            self.counts["reused"] += 1
        except IndexError:
            block = self._new(size, needed)
        self.active += size
        return block[:needed].view(dtype.numpy).reshape(shape)

    def release(self, array: np.ndarray) -> None:
        """Keep the block of an array that nobody uses any more."""
        block = array.base
        self.active -= block.nbytes
        self.waiting += block.nbytes
        self._free[block.nbytes].append(block)

    def free_waiting(self) -> None:
        """Give the blocks that wait back to the system."""
        self.counts["freed"] += sum(map(len, self._free.values()))
        self._free.clear()
        self.waiting = 0

    def _new(self, size: int, needed: int) -> np.ndarray:
        if self.active + self.waiting + size > self.limit:
            self.free_waiting()
        if self.active + size > self.limit:
            self.counts["refused"] += 1
            raise MemoryError(f"{needed:,} bytes: the pool has {self.limit - self.active:,} of {self.limit:,} left")
        self.counts["new"] += 1
        return np.empty(size, np.uint8)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20, help="training steps (default: 20)")
    parser.add_argument("--limit", type=int, default=8, help="MiB of the pool (default: 8)")
    options = parser.parse_args(arguments)
    pool = Pool(options.limit << 20)
    dt.set_allocator(pool, "numpy")
    try:
        with dt.engine("numpy"):
            return trained(pool, options.steps)
    finally:
        dt.set_allocator(None, "numpy")


def trained(pool: Pool, steps: int) -> dict[str, Any]:
    """Train a small net whose arrays are in the pool, then ask for more than the pool has."""
    rng = np.random.default_rng(0)
    x = ops.convert(rng.standard_normal((512, 64)).astype("float32"))
    y = ops.sum(x * x, axis=1, keepdims=True)
    w = [dt.Variable(0.1 * rng.standard_normal(shape).astype("float32")) for shape in ((64, 128), (128, 1))]

    def step() -> float:
        with dt.GradientTape() as tape:
            loss = ops.mean((ops.relu(x @ w[0]) @ w[1] - y) ** 2)
        for variable, gradient in zip(w, tape.gradient(loss, w), strict=True):
            variable.assign(variable - 1e-4 * gradient)
        return float(loss)

    losses = [step() for _ in range(steps)]
    taken = pool.counts["new"]
    print(f"loss {losses[0]:.0f} -> {losses[-1]:.0f}; {taken} new blocks, {pool.counts['reused']} reused")
    print(f"{pool.active:,} bytes are given out, {pool.waiting:,} wait")
    (info,) = (found for found in dt.memory_info("cpu:0") if found.engine == "numpy")
    print(f"memory_info: {info.arrays} arrays of {info.bytes:,} bytes")
    try:
        ops.exp(ops.zeros((1024, 4096)))
    except MemoryError as error:
        print("refused:", error)
    after = step()  # and the work goes on
    return {"losses": losses, "after": after, "counts": dict(pool.counts), "active": pool.active, "taken": taken}


if __name__ == "__main__":
    main()
