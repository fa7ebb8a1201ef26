"""A rank that saves checkpoints, or restores some that other ranks wrote; `test_checkpoints.py` starts several."""

from __future__ import annotations

import sys

import numpy as np

import dovetail as dt


def variables(first: float):
    """Variables of several sizes, which begin with a number."""
    return {f"v{i}": dt.Variable(np.arange(i * 3, dtype="float64").reshape(i, 3) + first) for i in range(5)}


if __name__ == "__main__":
    dt.distributed.init(timeout=60)
    for folder in sys.argv[2:]:
        checkpoints = dt.distributed.Checkpoints(folder.format(rank=dt.distributed.rank()))
        if sys.argv[1] == "save":
            checkpoints.save(4, variables(1.0), {"batch": 9})
            checkpoints.save(5, variables(2.0), {"batch": 10})
            checkpoints.wait()
        else:
            restored = variables(0.0)
            found = checkpoints.restore(restored)
            sums = (v.numpy().sum() for v in restored.values())
            print("restored", found.step, found.position, found.world_size, *sums)
