"""Rounding, and the next float, elementwise.

Every result is a float.  Rounding has no gradient: its derivatives are 0 wherever they exist.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Float, Number
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.compare import equal, greater, isnan, less, where
from dovetail.ops.samples import array, binary, sample, unary
from dovetail.ops.shapes.create import zeros_like
from dovetail.ops.shapes.identity import identity
from dovetail.ops.shapes.shape import bitcast, cast, sum_like

SAMPLES = [*unary(-5, 5), sample([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 1e10, float("inf"), float("nan")])]


@primitive("Floor", infer=elementwise, differentiable=False, samples=SAMPLES)
def floor(x: Float) -> Tensor:
    """The next integer below.

    Source: `numpy.floor`.

    Example:
        >>> floor([1.7, -1.7]).numpy()
        array([ 1., -2.], dtype=float32)
    """


@composite("Ceil", infer=elementwise, differentiable=False, samples=SAMPLES)
def ceil(x: Float) -> Tensor:
    """The next integer above.

    Source: `numpy.ceil`.

    Example:
        >>> ceil([1.2, -1.7]).numpy()
        array([ 2., -1.], dtype=float32)
    """
    return -floor(-x)


@composite("Trunc", infer=elementwise, differentiable=False, samples=SAMPLES)
def trunc(x: Float) -> Tensor:
    """The next integer toward zero.

    Source: `numpy.trunc`.

    Example:
        >>> trunc([1.7, -1.7]).numpy()
        array([ 1., -1.], dtype=float32)
    """
    return where(less(x, 0), ceil(x), floor(x))


@primitive("Rint", infer=elementwise, differentiable=False, samples=SAMPLES)
def rint(x: Float) -> Tensor:
    """The nearest integer, of two equally near ones the even one.

    Source: `numpy.rint`.

    Example:
        >>> rint([0.5, 1.5, -1.7]).numpy()
        array([ 0.,  2., -2.], dtype=float32)
    """


@composite(
    "Round",
    infer=elementwise,
    differentiable=False,
    samples=[
        sample(array(2, 3)),
        sample(array(2, 3), 2),
        sample(array(4, low=-999, high=999), -1),
        sample([15, 25, -7], -1),
    ],
)
def round(x: Number, decimals: int = 0) -> Tensor:
    """The nearest number with `decimals` decimals, of two equally near ones the even one.

    Args:
        x: real numbers; integers stay integers.
        decimals: how many digits after the point; negative to round to tens, hundreds, …

    Source: `numpy.round`.

    Example:
        >>> round([0.5, 1.25], 1).numpy()
        array([0.5, 1.2], dtype=float32)
    """
    if not x.dtype.is_floating:
        return identity(x) if decimals >= 0 else cast(round(cast(x, "float64"), decimals), x.dtype)
    if decimals == 0:
        return rint(x)
    unit = 10.0**-decimals if decimals < 0 else 10.0**decimals
    return rint(x / unit) * unit if decimals < 0 else rint(x * unit) / unit


_BITS = {2: "int16", 4: "int32", 8: "int64"}  # bytes of a float → integers of the same size


@composite(
    "NextAfter",
    infer=elementwise,
    samples=[
        *binary(gradient=False),
        sample([0.0, -0.0, 1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 2.0, 0.0, 0.0, -2.0]),
        sample([3.0e38, 3.4028235e38, float("inf"), 1.0], [float("inf"), float("inf"), 0.0, float("nan")]),
    ],
)
def nextafter(x: Float, toward: Float) -> Tensor:
    """The next float after `x` in the direction of `toward`; `toward` if they are equal, NaN if one is.

    Args:
        x, toward: floats; they broadcast.

    Source: `numpy.nextafter`.

    Example:
        >>> (nextafter(1., [0., 2.]).numpy() - 1) * 2**23
        array([-0.5,  1. ], dtype=float32)
    """
    bits = bitcast(x, _BITS[x.dtype.itemsize])
    outward = equal(greater(toward, x), greater(x, 0))  # away from zero, where the bits count upwards
    moved = bitcast(where(outward, bits + 1, bits - 1), x.dtype)
    smallest = bitcast(cast(1, bits.dtype), x.dtype)
    moved = where(equal(x, 0), where(greater(toward, 0), smallest, -smallest), moved)
    moved = where(equal(x, toward), toward, moved)
    return where(isnan(x), x, where(isnan(toward), toward, moved))


@nextafter.gradient
def _(op: Any, g: Any) -> Any:
    """Pass the gradient to the first argument, as in TensorFlow."""
    x, toward = op.inputs
    return sum_like(g, x), zeros_like(toward)
