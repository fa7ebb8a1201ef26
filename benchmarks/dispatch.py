"""Eager dispatch: adding two 4×4 tensors, against the engine's own add.

python benchmarks/dispatch.py
"""

from __future__ import annotations

import numpy as np
from timing import compare, table

import dovetail as dt


def native_add(name: str, value):
    if name == "numpy":
        return lambda: np.add(value, value)
    if name == "torch":
        import torch

        return lambda: torch.add(value, value)
    if name == "tensorflow":
        import tensorflow as tf

        return lambda: tf.add(value, value)
    import jax.numpy as jnp

    return lambda: jnp.add(value, value)


def main() -> None:
    rows = []
    for name in dt.list_engines():
        with dt.engine(name):
            x = dt.ops.convert(np.ones((4, 4), "float32"))
            found = compare(lambda x=x: x + x, native_add(name, x.value))
        rows.append([name, f"{found.ours * 1e6:.2f}", f"{found.theirs * 1e6:.2f}", f"{found.difference * 1e6:+.2f}"])
    print(
        table(
            "Eager dispatch: x + x, 4 by 4, float32",
            ["engine", "Dovetail µs", "engine's own µs", "difference µs"],
            rows,
        )
    )


if __name__ == "__main__":
    main()
