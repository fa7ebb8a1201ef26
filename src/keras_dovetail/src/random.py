"""The backend's functions for `keras.src.backend.random`: numbers from Keras' seeds, the same on each engine."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.interop.privates import SeedGenerator, draw_seed, floatx, make_default_seed  # noqa: F401
from dovetail.ops import random
from dovetail.ops.shapes.shape import dims_of
from keras_dovetail.src.dtypes import as_tensor
from keras_dovetail.src.parallel.shards import by_all_rows, drawn, part_of


def _key(seed: Any) -> Any:
    """Dovetail's key of a seed: the bits of the two uint32 that Keras draws."""
    return ops.bitcast(as_tensor(draw_seed(seed), "uint32"), "int32")


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    return random.normal(_key(seed), shape, mean, stddev, dtype or floatx(), part_of(shape))


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    return random.uniform(_key(seed), shape, minval, maxval, dtype or floatx(), part_of(shape))


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    return random.truncated_normal(_key(seed), shape, mean, stddev, dtype or floatx(), part_of(shape))


def categorical(logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None) -> Any:
    logits = as_tensor(logits)
    return random.categorical(_key(seed), logits, (num_samples,), dtype, part_of(dims_of(logits)))


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    whole = dtype if "int" in str(dtype) else "int32"
    return as_tensor(random.randint(_key(seed), shape, minval, maxval, whole, part_of(shape)), dtype)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    x = as_tensor(inputs)
    if rate == 0:
        return x
    if rate == 1:
        return ops.zeros_like(x)
    dims = dims_of(x)
    shape = dims if noise_shape is None else [d if n is None else n for n, d in zip(noise_shape, dims, strict=True)]
    return random.dropout(_key(seed), x, rate, shape, part_of(shape))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    x, key = as_tensor(x), _key(seed)
    if axis % max(len(x.shape), 1):
        return random.shuffle(key, x, axis)
    return by_all_rows(lambda rows: random.shuffle(key, rows), x)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    key = _key(seed)
    return drawn(lambda whole, alpha: random.gamma(key, whole, alpha, 1.0, dtype or floatx()), shape, alpha)


def binomial(shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None) -> Any:
    key = _key(seed)
    return drawn(lambda whole, n, p: random.binomial(key, whole, n, p, dtype or floatx()), shape, counts, probabilities)


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Any:
    key = _key(seed)
    return drawn(lambda whole, a, b: random.beta(key, whole, a, b, dtype or floatx()), shape, alpha, beta)
