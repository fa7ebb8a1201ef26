"""What ranks train together, and rank 0 alone: the numbers must be equal.

python -m tests.keras_dovetail.numbers_checks [MODEL …]   # as each rank; prints a digest of each model's weights
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import keras
import numpy as np

import dovetail as dt
from dovetail.core.engines.collectives import WORLD
from dovetail.ops.random import dropout
from keras_dovetail.src import random as keras_random
from keras_dovetail.src.parallel import shards

keras.distribution.initialize()
layers = keras.layers
ROWS, BATCH, EPOCHS = 70, 15, 10  # 50 steps; the last one of an epoch has 10 rows
RNG = np.random.default_rng(5)
ORDERS = {rows: RNG.permutation(rows) for rows in (BATCH, ROWS % BATCH)}
LABELS = RNG.integers(0, 3, ROWS)


def mlp() -> list[Any]:
    return [layers.Dense(8, "tanh"), layers.Dropout(0.4)]


def cnn() -> list[Any]:
    norm = layers.BatchNormalization(synchronized=True)
    return [layers.Conv2D(3, 3), norm, layers.ReLU(), layers.SpatialDropout2D(0.3), layers.Flatten()]


def lstm() -> list[Any]:
    return [layers.LSTM(5, dropout=0.2, recurrent_dropout=0.2), layers.Dropout(0.3)]


def transformer() -> list[Any]:
    x = given = keras.Input((6, 4))
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 3, dropout=0.2)(x, x))
    x = layers.LayerNormalization()(x + layers.Dropout(0.3)(layers.Dense(4, "gelu")(x)))
    return [keras.Model(given, x), layers.GlobalAveragePooling1D()]


MODELS: dict[str, tuple[Callable[[], list[Any]], tuple[int, ...]]] = {
    "mlp": (mlp, (6,)),
    "cnn": (cnn, (5, 5, 2)),
    "lstm": (lstm, (6, 4)),
    "transformer": (transformer, (6, 4)),
}


def trained(name: str, x: np.ndarray, y: np.ndarray, distribution: Any) -> list[np.ndarray]:
    """The weights after 50 steps."""
    keras.utils.set_random_seed(1)
    keras.distribution.set_distribution(distribution)
    model = keras.Sequential([*MODELS[name][0](), layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
    model.build((None, *x.shape[1:]))
    model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
    return [np.asarray(weight) for weight in model.weights if "seed" not in weight.path]


def with_rows_in_order(x: np.ndarray) -> np.ndarray:
    """The same batches with their rows in other orders."""
    starts = range(0, len(x), BATCH)
    return np.concatenate([x[start : start + BATCH][ORDERS[len(x[start : start + BATCH])]] for start in starts])


def dropout_in_order(key: Any, x: Any, rate: float, shape: Any, part: Any) -> Any:
    """Dropout whose choices go along with the rows of `with_rows_in_order`."""
    order = ORDERS[x.shape[0]]
    before = dt.ops.take(x, np.argsort(order), 0)
    return dt.ops.take(dropout(key, before, rate, shape, part), order, 0)


def distance(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    """The root of the mean square of the differences."""
    squares = np.concatenate([(a.astype("float64") - b).ravel() ** 2 for a, b in zip(ours, theirs, strict=True)])
    return float(np.sqrt(squares.mean()))


def same_numbers(name: str, compares: bool) -> None:
    """In float64 the ranks have the weights of one process; in float32 they are as near as roundings let them be."""
    digest = hashlib.sha256()
    for dtype in ("float64", "float32"):
        keras.config.set_floatx(dtype)
        x = np.random.default_rng(7).normal(size=(ROWS, *MODELS[name][1])).astype(dtype)
        shared = trained(name, x, LABELS, keras.distribution.DataParallel())
        for weight in shared:
            digest.update(weight.tobytes())
        if WORLD.rank or not compares:
            continue
        alone = trained(name, x, LABELS, None)
        if dtype == "float64":
            worst = max(np.abs(a - b).max() for a, b in zip(shared, alone, strict=True))
            assert worst <= 1e-9, f"{name}: {worst}"
            print(f"{name} float64: {worst:.1e}", flush=True)
            continue
        with mock.patch.object(keras_random.random, "dropout", dropout_in_order):
            permuted = trained(name, with_rows_in_order(x), with_rows_in_order(LABELS), None)
        found, own = distance(shared, alone), distance(permuted, alone)
        print(f"{name} float32: {found:.1e}, and with permuted rows {own:.1e}", flush=True)
        assert found <= 3 * own, f"{name}: {found} is more than 3 times {own}"
    print(f"weights {name} {digest.hexdigest()}", flush=True)


DRAWS: dict[str, Callable[[int, Any], Any]] = {
    "normal": lambda rows, seed: keras.random.normal((rows, 3), seed=seed),
    "uniform": lambda rows, seed: keras.random.uniform((rows, 3), seed=seed),
    "truncated_normal": lambda rows, seed: keras.random.truncated_normal((rows, 3), seed=seed),
    "randint": lambda rows, seed: keras.random.randint((rows, 3), 0, 1000, seed=seed),
    "categorical": lambda rows, seed: keras.random.categorical(keras.ops.zeros((rows, 9)), 4, seed=seed),
    "dropout": lambda rows, seed: keras.random.dropout(keras.ops.ones((rows, 3)), 0.5, seed=seed),
    "gamma": lambda rows, seed: keras.random.gamma((rows, 3), 2.0, seed=seed),
    "beta": lambda rows, seed: keras.random.beta((rows, 3), keras.ops.full((rows, 3), 2.0), 0.5, seed=seed),
    "binomial": lambda rows, seed: keras.random.binomial((rows, 3), 9.0, keras.ops.full((rows, 1), 0.3), seed=seed),
}


def same_draws() -> None:
    """Each of Keras' draws gives this rank's rows of the numbers of one process."""
    counts = tuple(range(3, 3 + WORLD.size))
    share = shards.Share(counts, counts[WORLD.rank])
    for name, draw in DRAWS.items():
        whole = np.asarray(draw(share.total, 11))[share.start : share.start + share.rows]
        with shards.computing(share):
            np.testing.assert_allclose(np.asarray(draw(share.rows, 11)), whole, 1e-6, 1e-6, err_msg=name)


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--bits"]
    same_draws()
    for model in names or MODELS:
        same_numbers(model, "--bits" not in sys.argv)
