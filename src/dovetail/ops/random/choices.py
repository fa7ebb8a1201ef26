"""Random integers, and choices made at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from dovetail.core.base.domains import Domain, at_least, within
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import ALL, as_dtype
from dovetail.core.values import host
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.math.arithmetic import divide, mod
from dovetail.ops.math.bitwise import bitwise_and, bitwise_xor
from dovetail.ops.math.compare import greater_equal, less, where
from dovetail.ops.math.exponential import log
from dovetail.ops.math.reduce import argmax
from dovetail.ops.random.floats import parameter, random_uniform, unit_exponential, word_count
from dovetail.ops.random.keys import as_key, element_bits, elements, random_bits
from dovetail.ops.shapes.create import full
from dovetail.ops.shapes.index import take
from dovetail.ops.shapes.shape import cast, dims_of, reshape, shape_of, shaped
from dovetail.ops.shapes.sort import argsort


@checked
def randint(key: Any, shape: Any, low: Any, high: Any, dtype: Any = "int32", part: Any = None) -> Any:
    """Integers in [low, high).

    All have the same chance, up to the range divided by 2**62; in wider ranges some have twice the chance of others.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        low, high: the first number, and the one after the last; tensors broadcast to the shape.
        dtype: an integer dtype.
        part: the first row and the number of rows of a whole of which the result is a part.

    Raises:
        ValueError: no integer lies in between.
        OverflowError: not all of the integers fit into the dtype.  Numbers of tensors are not checked.

    Source: `numpy.random.Generator.integers`.

    Example:
        >>> sorted(set(randint(0, (100,), 2, 5).tolist()))
        [2, 3, 4]
    """
    dtype = as_dtype(dtype)
    low, high = (int(value) if isinstance(value, np.integer) else value for value in (low, high))
    words = element_bits(as_key(key), shape, elements(part, shape, 2), 2)
    if not (isinstance(low, int) and isinstance(high, int)):
        low, high = (parameter(value, shape, ALL["int64"]) for value in (low, high))
        return cast(mod(_of_62_bits(words), high - low) + low, dtype)
    if low >= high:
        raise ValueError(f"there is no integer in [{low}, {high}).")
    host.fitted([low, high - 1], dtype)
    return cast(_below(high - low, words) + _as_int64(low), dtype)


def _of_62_bits(words: Any) -> Any:
    upper, lower = (cast(bitwise_and(words[i], 2**31 - 1), "int64") for i in range(2))
    return upper * 2**31 + lower


def _below(count: int, words: Any) -> Any:
    """Integers in [0, count) from pairs of int32 words; those from 2**63 on are the int64 of the same bits."""
    if count <= 2**62:
        return mod(_of_62_bits(words), count)
    upper, lower = (cast(words[i], "int64") for i in range(2))
    bits = upper * 2**32 + bitwise_and(lower, 2**32 - 1)
    if count < 2**63:
        return mod(bitwise_and(bits, 2**63 - 1), count)
    is_beyond = greater_equal(bitwise_xor(bits, -(2**63)), count - 2**63) if count < 2**64 else False
    return where(is_beyond, bits - _as_int64(count), bits)


def _as_int64(number: int) -> int:
    """The int64 of the same bits."""
    return (number + 2**63) % 2**64 - 2**63


@checked
def bernoulli(key: Any, shape: Any = (), p: Annotated[Any, within(0, 1)] = 0.5, part: Any = None) -> Any:
    """Booleans that are true with the chance `p`.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        p: the chance, from 0 to 1; a tensor broadcasts to the shape, and its numbers are not checked.
        part: the first row and the number of rows of a whole of which the result is a part.

    Source: `jax.random.bernoulli`.

    Example:
        >>> bernoulli(0, (3,), 1.0).numpy()
        array([ True,  True,  True])
    """
    if not isinstance(p, (int, float)):
        dtype = ALL["float64" if dtype_of(p) == "float64" else "float32"]
        unit = random_uniform(as_key(key), shape, dtype, elements(part, shape, word_count(dtype)))
        return less(unit, parameter(p, shape, dtype))
    words = round(p * 2**32) - 2**31  # to compare with the raw words is faster
    if words == 2**31:
        return full(shape, True)
    return less(element_bits(as_key(key), shape, elements(part, shape)), words)


@checked
def categorical(key: Any, logits: Any, shape: Sequence[Any] = (), dtype: Any = "int32", part: Any = None) -> Any:
    """Positions drawn with the chances softmax(logits) along the last axis.

    Args:
        key: a key, a seed or a Generator.
        logits: of shape (..., classes).
        shape: the shape of the draws for each row of logits.
        dtype: an integer dtype.
        part: the first row and the number of rows of a whole of which the result is a part.

    Returns:
        A tensor of shape (..., *shape).

    Source: `tf.random.categorical`, by the Gumbel-max trick.

    Example:
        >>> categorical(0, [[0., -1e9], [-1e9, 0.]], (2,)).numpy()
        array([[0, 0],
               [1, 1]], dtype=int32)
    """
    logits = shaped(logits)
    if not len(static_shape(logits)):
        raise ValueError("logits must have a last axis, with a score for each class.")
    *batch, classes = dims_of(logits)
    rows = reshape(logits, [*batch, *(1 for _ in shape), classes])
    drawn = [*batch, *shape, classes]
    noise = unit_exponential(as_key(key), drawn, dtype_of(logits), elements(part, drawn if drawn[1:] else ()))
    return cast(argmax(rows - log(noise), -1), dtype)


@checked
def permutation(key: Any, n: Annotated[Any, at_least(0)]) -> Any:
    """The numbers 0 … n - 1 in random order.

    Args:
        key: a key, a seed or a Generator.
        n: how many numbers.

    Source: `numpy.random.Generator.permutation`.

    Example:
        >>> sorted(permutation(0, 4).tolist())
        [0, 1, 2, 3]
    """
    words = cast(random_bits(as_key(key), (2, n)), "int64")
    return argsort(words[0] * 2**32 + words[1])


@checked
def shuffle(key: Any, x: Any, axis: int = 0) -> Any:
    """The slices of `x` along an axis in random order.

    Source: `numpy.random.Generator.permutation`.

    Example:
        >>> sorted(shuffle(0, [3, 1, 2]).tolist())
        [1, 2, 3]
    """
    x = shaped(x)
    return take(x, permutation(key, dims_of(x)[normalize_axis(axis, len(static_shape(x)))]), axis)


@checked
def dropout(
    key: Any,
    x: Any,
    rate: Annotated[Any, Domain(0, 1, without_high=True)],
    noise_shape: Any = None,
    part: Any = None,
) -> Any:
    """Set some elements, chosen at random, to zero, and scale the others so that the expected sum stays.

    Args:
        key: a key, a seed or a Generator.
        x: floats.
        rate: the chance of an element to become zero, in [0, 1).
        noise_shape: the shape of the choices, which broadcasts to the shape of `x`.  If it has as many axes, None means
            the size of the axis of `x`.
        part: the first row and the number of rows of a whole of which the choices are a part.

    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting" (2014).

    Example:
        >>> sorted(set(dropout(0, [1.] * 100, 0.5).tolist()))
        [0.0, 2.0]
    """
    x = shaped(x)
    if noise_shape is None:
        noise_shape = shape_of(x)
    elif isinstance(noise_shape, (list, tuple)) and len(noise_shape) == len(static_shape(x)):
        noise_shape = [dim if size is None else size for size, dim in zip(noise_shape, dims_of(x), strict=True)]
    return where(bernoulli(key, noise_shape, 1 - rate, part), divide(x, 1 - rate), 0)
