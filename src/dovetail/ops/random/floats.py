"""Random floats."""

from __future__ import annotations

import math
from typing import Annotated, Any

from dovetail.core.base.domains import above, at_least
from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import DTypeLike
from dovetail.core.dtypes import ALL, DType, as_dtype
from dovetail.core.kinds import Float, Integer, Ints, MaybeEach
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.math.bitwise import bitwise_and, logical_and
from dovetail.ops.math.compare import clip, less, less_equal, where
from dovetail.ops.math.exponential import exp, log, rsqrt, sqrt
from dovetail.ops.math.reduce import argmax
from dovetail.ops.math.special import erfinv
from dovetail.ops.math.trigonometry import cos, sin
from dovetail.ops.random.keys import (
    KEY,
    as_key,
    bits_spec,
    columns,
    count_of,
    element_bits,
    elements,
    lead,
    random_bits,
    split,
)
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.create import arange
from dovetail.ops.shapes.index import take_along_axis
from dovetail.ops.shapes.join import concatenate, stack
from dovetail.ops.shapes.shape import broadcast_to, cast, expand_dims, reshape, squeeze

# -- without parameters -----------------------------------------------------------------------------------------------

DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}  # binary digits of the significand
LOW = 26  # the bits of a float64 that come from the second of its two words


def _float_spec(key: TensorSpec, shape: Any, dtype: Any, part: TensorSpec | None) -> TensorSpec:
    if dtype not in DIGITS:
        raise TypeError(f"random floats are {', '.join(DIGITS)}, not {dtype}.")
    return TensorSpec(bits_spec(key, shape, part=part).shape, dtype)


FLOATS = {
    "infer": _float_spec,
    "differentiable": False,
    "samples": [
        sample(KEY, (3, 5), "float32"),
        sample(KEY, (4,), "float64"),
        sample(KEY, (), "float16"),
        sample(KEY, (3, 2), "float32", columns(4, 13)),
    ],
}


@composite("StatelessRandomUniform", cost="random", **FLOATS)
def random_uniform(key: Integer, shape: Ints, dtype: DTypeLike, part: MaybeEach = None) -> Tensor:
    """Floats in [0, 1): the multiples of 2**-8 for bfloat16, 2**-11, 2**-24 and 2**-53 for the larger types.

    Args:
        part: two int64: the first element and the number of elements of a whole of which the result is a part.

    Source: `tf.raw_ops.StatelessRandomUniform`.

    Example:
        >>> random_uniform(as_key(0), (2,), "float32").shape
        (2,)
    """
    digits = DIGITS[dtype]
    if dtype != "float64":
        return cast(bitwise_and(element_bits(key, shape, part), 2**digits - 1), dtype) * 2.0**-digits
    words = element_bits(key, shape, part, 2)
    high, low = bitwise_and(words[0], 2 ** (digits - LOW) - 1), bitwise_and(words[1], 2**LOW - 1)
    return (cast(high, dtype) * 2.0**LOW + cast(low, dtype)) * 2.0**-digits


def word_count(dtype: Any) -> int:
    """How many random words `random_uniform` takes for an element."""
    return 2 if dtype == "float64" else 1


def positive(words: Any, dtype: Any) -> Any:
    """int32 words as floats in (0, 1], as fine as the dtype allows near 0."""
    return (cast(bitwise_and(words, 2**31 - 1), dtype) + 0.5) * 2.0**-31


@composite("StatelessRandomNormal", cost="random", **FLOATS)
def random_normal(key: Integer, shape: Ints, dtype: DTypeLike, part: MaybeEach = None) -> Tensor:
    """Normally distributed floats of mean 0 and variance 1.

    Args:
        part: as for `random_uniform`.

    Source: `tf.raw_ops.StatelessRandomNormal`; Box and Muller, "A note on the generation of random normal deviates"
    (1958).

    Example:
        >>> random_normal(as_key(0), (2,), "float32").shape
        (2,)
    """
    wide = as_dtype("float64" if dtype == "float64" else "float32")
    size = count_of(shape)
    half = ((size if part is None else part[1]) + 1) // 2  # its pairs of words make two numbers each
    if part is None:
        words = random_bits(key, (2, half))
    else:
        words = random_bits(key, [2, size], None, stack([part[0], half]))
    radius = sqrt(-2 * log(positive(words[0], wide)))
    angle = cast(words[1], wide) * (math.pi * 2.0**-31)
    pair = radius * cos(angle), radius * sin(angle)
    if part is not None:
        is_first = less(part[0] + cast(arange(size), "int64"), half)
        return cast(reshape(where(is_first, *pair), shape), dtype)
    numbers = concatenate(pair)
    return cast(reshape(numbers if isinstance(size, int) and size == 2 * half else numbers[:size], shape), dtype)


# -- with parameters --------------------------------------------------------------------------------------------------


def _float(dtype: Any) -> DType:
    """The dtype, `floatx` if none is given.

    Raises:
        TypeError: the dtype is not a type of floats.
    """
    kind = as_dtype(float if dtype is None else dtype)
    if kind not in DIGITS:
        raise op_error(TypeError, "random", f"dtype must be one of {', '.join(DIGITS)}, not {kind}.")
    return kind


@checked
def uniform(key: Any, shape: Any = (), low: Any = 0.0, high: Any = 1.0, dtype: Any = None, part: Any = None) -> Any:
    """Floats, uniform in [low, high).

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        low, high: the bounds, also if `low` is the larger one; tensors broadcast to the shape.
        dtype: a float dtype; `floatx` if not given.
        part: the first row and the number of rows of a whole of which the result is a part.

    Source: `numpy.random.Generator.uniform`.

    Example:
        >>> x = uniform(0, (100,), low=-1, high=1)
        >>> bool((x.numpy() >= -1).all() and (x.numpy() < 1).all())
        True
    """
    dtype = _float(dtype)
    unit = random_uniform(as_key(key), shape, dtype, elements(part, shape, word_count(dtype)))
    low, high = (parameter(value, shape, dtype) for value in (low, high))
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return unit
    numbers = unit * (high - low) + low
    return where(_before(numbers, high, low), numbers, low)  # rounding may have reached `high`


def _before(numbers: Any, end: Any, start: Any) -> Any:
    """Whether numbers between start and end have not reached the end; the start may be the larger one."""
    if isinstance(start, (int, float)) and isinstance(end, (int, float)):
        return less(numbers, end) if start <= end else less(end, numbers)
    return where(less_equal(start, end), less(numbers, end), less(end, numbers))


@checked
def normal(key: Any, shape: Any = (), mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, part: Any = None) -> Any:
    """Normally distributed floats.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        mean, stddev: mean and standard deviation (a negative one mirrors the numbers); tensors broadcast to the shape.
        dtype: a float dtype; `floatx` if not given.
        part: the first row and the number of rows of a whole of which the result is a part.

    Source: `numpy.random.Generator.normal`.

    Example:
        >>> x = normal(0, (10_000,), mean=5)
        >>> abs(float(x.numpy().mean()) - 5) < 0.05
        True
    """
    unit = random_normal(as_key(key), shape, _float(dtype), elements(part, shape))
    return _moved(unit, shape, mean, stddev)


def parameter(value: Any, shape: Any, dtype: DType) -> Any:
    """A parameter of a distribution: a Python number as it is, a tensor in the shape and dtype of the result.

    So a tensor that does not fit raises an error: to add it to fewer random numbers would use one number several times.
    """
    return value if isinstance(value, (int, float)) else broadcast_to(cast(value, dtype), shape)


def _moved(x: Any, shape: Any, mean: Any, stddev: Any) -> Any:
    """x * stddev + mean, without the steps that change nothing."""
    mean, stddev = (parameter(value, shape, x.dtype) for value in (mean, stddev))
    if not (isinstance(stddev, (int, float)) and stddev == 1):
        x = x * stddev
    return x if isinstance(mean, (int, float)) and mean == 0 else x + mean


@checked
def truncated_normal(
    key: Any, shape: Any = (), mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, part: Any = None
) -> Any:
    """Normally distributed floats, except numbers further than two standard deviations from the mean.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        mean, stddev: the parameters of the distribution before it is cut, as for `normal`.
        dtype: a float dtype; `floatx` if not given.
        part: the first row and the number of rows of a whole of which the result is a part.

    Source: `tf.random.truncated_normal`, by inverting the distribution function.

    Example:
        >>> x = truncated_normal(0, (10_000,))
        >>> bool((abs(x.numpy()) <= 2).all())
        True
    """
    dtype = _float(dtype)
    edge = math.erf(math.sqrt(2))
    wide = dtype if dtype == "float64" else ALL["float32"]
    unit = random_uniform(as_key(key), shape, wide, elements(part, shape, word_count(wide)))
    numbers = erfinv((unit * 2 - 1) * edge) * math.sqrt(2)
    return _moved(cast(clip(numbers, -2, 2), dtype), shape, mean, stddev)


@checked
def exponential(
    key: Any, shape: Any = (), scale: Annotated[Any, at_least(0)] = 1.0, dtype: Any = None, part: Any = None
) -> Any:
    """Exponentially distributed floats.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        scale: the mean, 0 or more; a tensor broadcasts to the shape, and its numbers are not checked.
        dtype: a float dtype; `floatx` if not given.
        part: the first row and the number of rows of a whole of which the result is a part.

    Source: `numpy.random.Generator.exponential`.

    Example:
        >>> x = exponential(0, (10_000,))
        >>> abs(float(x.numpy().mean()) - 1) < 0.05
        True
    """
    dtype = _float(dtype)
    unit = unit_exponential(as_key(key), shape, dtype, elements(part, shape))
    return _moved(cast(unit, dtype), shape, 0, scale)


def unit_exponential(key: Any, shape: Any, dtype: DType, part: Any = None) -> Any:
    """Exponentials of mean 1; float32 for the smaller dtypes."""
    return -log(positive(element_bits(key, shape, part), dtype if dtype == "float64" else ALL["float32"]))


@checked
def gamma(
    key: Any,
    shape: Any = (),
    alpha: Annotated[Any, above(0)] = 1.0,
    beta: Annotated[Any, above(0)] = 1.0,
    dtype: Any = None,
) -> Any:
    """Gamma-distributed floats.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        alpha: the shape parameter, above 0; a tensor broadcasts to the shape, and its numbers are not checked.  No
            gradient passes to it.
        beta: the rate, above 0; the same holds for a tensor.
        dtype: a float dtype; `floatx` if not given.

    Source: `tf.random.gamma`.

    Example:
        >>> x = gamma(0, (10_000,), alpha=3.0)
        >>> abs(float(x.numpy().mean()) - 3) < 0.1
        True
    """
    dtype = _float(dtype)
    return random_gamma(as_key(key), shape, cast(alpha, dtype)) / parameter(beta, shape, dtype)


def _gamma_spec(key: TensorSpec, shape: Any, alpha: TensorSpec) -> TensorSpec:
    return TensorSpec(bits_spec(key, shape).shape, alpha.dtype)


def first_accepted(candidates: Any, accepted: Any, otherwise: Any) -> Any:
    """The first accepted candidate along the first axis, or another value if none is accepted."""
    position = expand_dims(argmax(cast(accepted, "int32"), 0), 0)
    return squeeze(take_along_axis(where(accepted, candidates, otherwise), position, 0), 0)


CANDIDATES = 6  # for each number; at least 95% are accepted, so one number in 10**8 has none and becomes the mode


@composite(
    "StatelessRandomGammaV2",
    cost="random",
    infer=_gamma_spec,
    differentiable=False,
    samples=[sample(KEY, (3, 4), array(3, 1, low=0.2, high=4), tolerance=1e-4), sample(KEY, (), array(low=1, high=9))],
)
def random_gamma(key: Integer, shape: Ints, alpha: Float) -> Tensor:
    """Gamma-distributed floats of rate 1, in the dtype of `alpha`.

    Source: `tf.raw_ops.StatelessRandomGammaV2`; Marsaglia and Tsang, "A simple method for generating gamma variables"
    (2000).

    Example:
        >>> random_gamma(as_key(0), (2,), 3.0).shape
        (2,)
    """
    dtype = alpha.dtype
    wide = dtype if dtype == "float64" else ALL["float32"]
    alpha = broadcast_to(cast(alpha, wide), shape)
    for_x, for_test, for_small = (split(key, 3)[i] for i in range(3))
    candidates = lead(CANDIDATES, shape)
    d = where(alpha < 1, alpha + 1, alpha) - 1 / 3
    x = random_normal(for_x, candidates, wide)
    v = (1 + x * rsqrt(9 * d)) ** 3
    in_range = v > 0
    log_v = log(where(in_range, v, 1))
    enough = x * x / 2 + d * (1 - v + log_v) + unit_exponential(for_test, candidates, wide) > 0
    accepted = logical_and(in_range, enough)
    shrunk = exp(-unit_exponential(for_small, shape, wide) / alpha)  # from alpha + 1 back to an alpha below 1
    return cast(d * first_accepted(v, accepted, 1) * where(alpha < 1, shrunk, 1), dtype)


@checked
def beta(
    key: Any,
    shape: Any = (),
    alpha: Annotated[Any, above(0)] = 1.0,
    beta: Annotated[Any, above(0)] = 1.0,
    dtype: Any = None,
) -> Any:
    """Beta-distributed floats.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        alpha, beta: the two parameters, above 0; tensors broadcast to the shape, and their numbers are not checked.  No
            gradient passes to them.
        dtype: a float dtype; `floatx` if not given.

    Source: `numpy.random.Generator.beta`.

    Example:
        >>> x = beta(0, (10_000,), 2.0, 2.0)
        >>> abs(float(x.numpy().mean()) - 0.5) < 0.01
        True
    """
    keys = split(key)
    x = gamma(keys[0], shape, alpha, dtype=dtype)
    return x / (x + gamma(keys[1], shape, beta, dtype=dtype))
