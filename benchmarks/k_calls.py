"""Calls of K on small tensors, against `tf_keras.backend`: how often Dovetail is faster.

python benchmarks/k_calls.py [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from timing import compare, table

import dovetail as dt
from dovetail import backend as K

rng = np.random.default_rng(0)
X, Y = (rng.uniform(0.1, 1.0, (4, 4)).astype("float32") for _ in range(2))
BATCH = rng.normal(size=(2, 4, 4)).astype("float32")
IMAGES, KERNEL = rng.normal(size=(1, 8, 8, 3)).astype("float32"), rng.normal(size=(3, 3, 3, 4)).astype("float32")
CLASSES = rng.integers(0, 4, 4).astype("int32")

CALLS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {  # (K, *arrays) → result, and the arrays
    "x + y": (lambda K, x, y: x + y, (X, Y)),
    "square": (lambda K, x: K.square(x), (X,)),
    "sqrt": (lambda K, x: K.sqrt(x), (X,)),
    "clip": (lambda K, x: K.clip(x, 0.2, 0.8), (X,)),
    "maximum": (lambda K, x, y: K.maximum(x, y), (X, Y)),
    "greater": (lambda K, x, y: K.greater(x, y), (X, Y)),
    "cast": (lambda K, x: K.cast(x, "int32"), (X,)),
    "sum": (lambda K, x: K.sum(x), (X,)),
    "mean": (lambda K, x: K.mean(x, axis=-1), (X,)),
    "max": (lambda K, x: K.max(x, axis=1, keepdims=True), (X,)),
    "argmax": (lambda K, x: K.argmax(x), (X,)),
    "dot": (lambda K, x, y: K.dot(x, y), (X, Y)),
    "batch_dot": (lambda K, x, y: K.batch_dot(x, y, axes=(2, 1)), (BATCH, BATCH)),
    "reshape": (lambda K, x: K.reshape(x, (2, 8)), (X,)),
    "expand_dims": (lambda K, x: K.expand_dims(x), (X,)),
    "permute_dimensions": (lambda K, x: K.permute_dimensions(x, (1, 0)), (X,)),
    "concatenate": (lambda K, x, y: K.concatenate([x, y]), (X, Y)),
    "stack": (lambda K, x, y: K.stack([x, y]), (X, Y)),
    "tile": (lambda K, x: K.tile(x, (1, 2)), (X,)),
    "one_hot": (lambda K, x: K.one_hot(x, 4), (CLASSES,)),
    "l2_normalize": (lambda K, x: K.l2_normalize(x, axis=-1), (X,)),
    "relu": (lambda K, x: K.relu(x), (X,)),
    "sigmoid": (lambda K, x: K.sigmoid(x), (X,)),
    "softmax": (lambda K, x: K.softmax(x), (X,)),
    "binary_crossentropy": (lambda K, x, y: K.binary_crossentropy(x, y), (X, Y)),
    "categorical_crossentropy": (lambda K, x, y: K.categorical_crossentropy(x, y), (X, Y)),
    "conv2d": (lambda K, x, kernel: K.conv2d(x, kernel), (IMAGES, KERNEL)),
}


def row(name: str, engines: list[str]) -> tuple[list[str], list[float]]:
    """One line of the table, and tf_keras' time in those of Dovetail's, engine by engine."""
    run, arrays = CALLS[name]
    theirs = [tf.constant(a) for a in arrays]
    cells, ratios = [], []
    for engine in engines:
        with dt.engine(engine):
            ours = [dt.ops.convert(a) for a in arrays]
            found = compare(lambda run=run, ours=ours: run(K, *ours), lambda: run(tf_keras.backend, *theirs), 9, 0.02)
        if not cells:
            cells = [name, f"{found.theirs * 1e6:.1f}"]
        ratios.append(1 / found.ratio)
        cells.append(f"{found.ours * 1e6:.1f} ({ratios[-1]:.1f}x)")
    return cells, ratios


def main() -> None:
    engines = dt.engines()
    found = [row(name, engines) for name in sys.argv[1:] or CALLS]
    means = np.exp(np.mean(np.log([ratios for _, ratios in found]), axis=0))
    rows = [cells for cells, _ in found] + [["geometric mean", "", *(f"{mean:.1f}x" for mean in means)]]
    header = ["call", "tf_keras µs", *(f"{engine} µs" for engine in engines)]
    print(table("Calls of K on small tensors; in brackets how often faster than tf_keras.backend", header, rows))


if __name__ == "__main__":
    main()
