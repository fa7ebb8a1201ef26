"""Calls of K on small tensors, against `tf_keras.backend`.

python benchmarks/k_calls.py [FUNCTION ...]
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
from timing import compare, table

import dovetail as dt
from dovetail import backend

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (4, 4)).astype("float32")
BATCH = RNG.normal(size=(2, 3, 4)).astype("float32")
IMAGES = RNG.normal(size=(1, 5, 5, 2)).astype("float32")
KERNEL = RNG.normal(size=(3, 3, 2, 4)).astype("float32")
CLASSES = np.array([0, 2, 1, 3], "int32")

# name → (the arrays, the call)
CALLS: dict[str, tuple[list[np.ndarray], Callable[..., Any]]] = {
    "x + y": ([X, X], lambda K, x, y: x + y),
    "square": ([X], lambda K, x: K.square(x)),
    "sqrt": ([X], lambda K, x: K.sqrt(x)),
    "maximum": ([X, X], lambda K, x, y: K.maximum(x, y)),
    "sum": ([X], lambda K, x: K.sum(x)),
    "mean": ([X], lambda K, x: K.mean(x)),
    "mean, axis": ([X], lambda K, x: K.mean(x, axis=-1)),
    "max": ([X], lambda K, x: K.max(x, axis=1)),
    "argmax": ([X], lambda K, x: K.argmax(x)),
    "dot": ([X, X], lambda K, x, y: K.dot(x, y)),
    "batch_dot": ([BATCH, BATCH], lambda K, x, y: K.batch_dot(x, y, axes=2)),
    "reshape": ([X], lambda K, x: K.reshape(x, (2, 8))),
    "permute_dimensions": ([BATCH], lambda K, x: K.permute_dimensions(x, (0, 2, 1))),
    "expand_dims": ([X], lambda K, x: K.expand_dims(x)),
    "concatenate": ([X, X], lambda K, x, y: K.concatenate([x, y])),
    "stack": ([X, X], lambda K, x, y: K.stack([x, y])),
    "tile": ([X], lambda K, x: K.tile(x, (2, 1))),
    "cast": ([X], lambda K, x: K.cast(x, "float64")),
    "clip": ([X], lambda K, x: K.clip(x, 0.2, 0.8)),
    "one_hot": ([CLASSES], lambda K, x: K.one_hot(x, 4)),
    "relu": ([X], lambda K, x: K.relu(x)),
    "sigmoid": ([X], lambda K, x: K.sigmoid(x)),
    "softmax": ([X], lambda K, x: K.softmax(x)),
    "l2_normalize": ([X], lambda K, x: K.l2_normalize(x, axis=-1)),
    "categorical_crossentropy": ([X, X], lambda K, x, y: K.categorical_crossentropy(x, y)),
    "binary_crossentropy": ([X, X], lambda K, x, y: K.binary_crossentropy(x, y)),
    "conv2d": ([IMAGES, KERNEL], lambda K, x, k: K.conv2d(x, k)),
}


def main(names: list[str]) -> None:
    import tensorflow as tf
    import tf_keras

    engines, rows, ratios = dt.list_engines(), [], {name: [] for name in dt.list_engines()}
    for name in names or CALLS:
        arrays, call = CALLS[name]
        theirs = [tf.constant(a) for a in arrays]
        row, slow = [], []
        for engine in engines:
            with dt.engine(engine):
                ours = [dt.ops.convert(a) for a in arrays]
                expected, found = call(tf_keras.backend, *theirs), call(backend, *ours)
                np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
                timed = compare(
                    lambda call=call, ours=ours: call(backend, *ours),
                    lambda call=call, theirs=theirs: call(tf_keras.backend, *theirs),
                    rounds=11,
                    seconds=0.02,
                )
            slow.append(timed.theirs)
            ratios[engine].append(1 / timed.ratio)
            row.append(f"{timed.ours * 1e6:.1f} ({1 / timed.ratio:.1f}x)")
        rows.append([name, f"{statistics.median(slow) * 1e6:.1f}", *row])
    means = [f"{statistics.geometric_mean(ratios[engine]):.1f}x" for engine in engines]
    rows.append(["geometric mean", "", *means])
    print(table("K's calls, float32, small tensors", ["call", "tf_keras µs", *engines], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
