"""Comparison and selection: which elements are equal, less or finite, and one of two by a condition or by size."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.base.domains import NotNegative
from dovetail.core.calls.static_types import DTypeLike
from dovetail.core.dtypes import limits
from dovetail.core.kinds import Anything, Bool, Inexact, MaybeReal, Number, Real
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import cast as infer_cast
from dovetail.core.values.infer import elementwise, elementwise_as
from dovetail.ops.math.bitwise import logical_not, logical_or
from dovetail.ops.samples import array, binary, bools, ints, sample, unary
from dovetail.ops.shapes.identity import identity
from dovetail.ops.shapes.shape import cast, sum_like

NAN, INFINITY = float("nan"), float("inf")
to_bool = elementwise_as("bool")

PAIRS = [
    *binary()[:2],
    sample(ints(2, 5, high=3), ints(5, high=3)),
    sample([NAN, INFINITY, -INFINITY, 1.0, 0.0], [NAN, INFINITY, INFINITY, NAN, -0.0]),
]
SPECIAL = [*unary()[1:], sample([NAN, INFINITY, -INFINITY, 0.0, 1e38]), sample([1, 2])]

# -- comparison -------------------------------------------------------------------------------------------------------


@primitive("Equal", infer=to_bool, differentiable=False, samples=PAIRS)
def equal(x: Anything, y: Anything) -> Tensor:
    """Whether `x == y`, elementwise, with broadcasting; NaN equals nothing.

    Source: `numpy.equal`.

    Example:
        >>> equal([1, 3], 3).numpy()
        array([False,  True])
    """


@composite("NotEqual", infer=to_bool, differentiable=False, samples=PAIRS)
def not_equal(x: Anything, y: Anything) -> Tensor:
    """Whether `x != y`, elementwise, with broadcasting; true for NaN.

    Source: `numpy.not_equal`.

    Example:
        >>> not_equal([1, 3], 3).numpy()
        array([ True, False])
    """
    return logical_not(equal(x, y))


@primitive("Less", infer=to_bool, differentiable=False, samples=PAIRS)
def less(x: Real, y: Real) -> Tensor:
    """Whether `x < y`, elementwise, with broadcasting; false for NaN.

    Source: `numpy.less`.

    Example:
        >>> less([1, 3], 2).numpy()
        array([ True, False])
    """


@composite("LessEqual", infer=to_bool, differentiable=False, samples=PAIRS)
def less_equal(x: Real, y: Real) -> Tensor:
    """Whether `x <= y`, elementwise, with broadcasting; false for NaN.

    Source: `numpy.less_equal`.

    Example:
        >>> less_equal([1, 2, 3], 2).numpy()
        array([ True,  True, False])
    """
    return logical_or(less(x, y), equal(x, y))


@composite("Greater", infer=to_bool, differentiable=False, samples=PAIRS)
def greater(x: Real, y: Real) -> Tensor:
    """Whether `x > y`, elementwise, with broadcasting; false for NaN.

    Source: `numpy.greater`.

    Example:
        >>> greater([1, 3], 2).numpy()
        array([False,  True])
    """
    return less(y, x)


@composite("GreaterEqual", infer=to_bool, differentiable=False, samples=PAIRS)
def greater_equal(x: Real, y: Real) -> Tensor:
    """Whether `x >= y`, elementwise, with broadcasting; false for NaN.

    Source: `numpy.greater_equal`.

    Example:
        >>> greater_equal([1, 2, 3], 2).numpy()
        array([False,  True,  True])
    """
    return less_equal(y, x)


# -- selection --------------------------------------------------------------------------------------------------------


@primitive(
    "SelectV2",
    infer=elementwise,
    samples=[sample(bools(2, 3), array(2, 3), array(3)), sample(bools(2, 1), array(), ints(3)), sample(bools(), 1, 2)],
)
def where(condition: Bool, x: Anything, y: Anything) -> Tensor:
    """Elements of `x` where the condition holds, of `y` elsewhere; all three broadcast.

    Source: `numpy.where`.

    Example:
        >>> where([True, False], [1, 2], 0).numpy()
        array([1, 0], dtype=int32)
    """


@where.gradient
def _(op: Any, g: Any) -> Any:
    condition, x, y = op.inputs
    return None, sum_like(where(condition, g, 0), x), sum_like(where(condition, 0, g), y)


@primitive("Maximum", infer=elementwise, samples=[*binary(), *PAIRS[2:]])
def maximum(x: Real, y: Real) -> Tensor:
    """The larger of two, elementwise, with broadcasting; NaN if one is NaN.

    The gradient goes to `x` where they are equal.

    Source: `numpy.maximum`.

    Example:
        >>> maximum([1, 3], 2).numpy()
        array([2, 3], dtype=int32)
    """


@maximum.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return _divided(g, greater_equal(x, y), x, y)


@primitive("Minimum", infer=elementwise, samples=[*binary(), *PAIRS[2:]])
def minimum(x: Real, y: Real) -> Tensor:
    """The smaller of two, elementwise, with broadcasting; NaN if one is NaN.

    The gradient goes to `x` where they are equal.

    Source: `numpy.minimum`.

    Example:
        >>> minimum([1, 3], 2).numpy()
        array([1, 2], dtype=int32)
    """


@minimum.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return _divided(g, less_equal(x, y), x, y)


def _divided(g: Any, to_x: Any, x: Any, y: Any) -> Any:
    return sum_like(where(to_x, g, 0), x), sum_like(where(to_x, 0, g), y)


def _clip_spec(x: Any, x_min: Any, x_max: Any) -> Any:
    return elementwise(*[s for s in (x_min, x_max, x) if s is not None])


_clip_spec.elementwise = True  # type: ignore[attr-defined]


@composite(
    "ClipByValue",
    infer=_clip_spec,
    samples=[
        sample(array(2, 5, gap=0.3), -1.1, 0.9),
        sample(array(2, 3, gap=0.3), array(3, low=-3, high=-2.5), None),
        sample(array(4, gap=0.3), None, 0.2),
        sample(ints(6, low=-9, high=9), -3, 3),
        sample(array(3), 1.0, -1.0),
    ],
)
def clip(x: Real, x_min: MaybeReal = None, x_max: MaybeReal = None) -> Tensor:
    """The values, raised to `x_min` if they are below it, and lowered to `x_max` if they are above it.

    Args:
        x: real numbers.
        x_min, x_max: the bounds, numbers or tensors that broadcast; None for no bound.

    Returns:
        A tensor of the promoted dtype; where `x_max < x_min`, it is `x_min`.

    Source: `numpy.clip`; `tf.keras.backend.clip` for bounds in the wrong order.

    Example:
        >>> clip([1, 5, 9], 2, 6).numpy()
        array([2, 5, 6], dtype=int32)
    """
    lowered = identity(x) if x_max is None else minimum(x, x_max)
    return lowered if x_min is None else maximum(lowered, x_min)


@clip.gradient
def _(op: Any, g: Any) -> Any:
    x, low, high = op.args
    raised = False if low is None else less(x if high is None else minimum(x, high), low)
    lowered = False if high is None else greater(x, high) & logical_not(raised)
    by_x = sum_like(where(logical_or(raised, lowered), 0, g), x)
    bounds = [(low, raised), (high, lowered)]
    return by_x, *[sum_like(where(out, g, 0), bound) for bound, out in bounds if bound is not None]


@composite(
    "SaturateCast",
    infer=infer_cast,
    samples=[
        sample(np.array([-(2**40), -7, 2**31, 2**63 - 1]), "int32"),
        sample(np.array([5, 2**63, 2**64 - 1], np.uint64), "int64"),
        sample(ints(6, low=-300, high=300), "uint8"),
        sample(array(2, 3), "float64"),
        sample([-1e20, -1.5, 3e9, INFINITY], "int32", gradient=False),
        sample([1e9, -1e9, 0.5], "float16"),
    ],
)
def saturate_cast(x: Real, dtype: DTypeLike) -> Tensor:
    """The values in another dtype; a value that the dtype does not hold becomes its least or greatest value.

    `cast` keeps the lower bits of an integer; here a position that is out of range stays out of range.

    Args:
        x: real numbers.
        dtype: a dtype of real numbers.

    Source: `tf.saturate_cast`.

    Example:
        >>> saturate_cast(np.int64([2**32 + 1, -5]), "int32").numpy()
        array([2147483647,         -5], dtype=int32)
    """
    return cast(clip(x, *limits(x.dtype, dtype)), dtype)


# -- special values ---------------------------------------------------------------------------------------------------


@composite("IsNan", infer=to_bool, differentiable=False, samples=SPECIAL)
def isnan(x: Inexact) -> Tensor:
    """Whether `x` is NaN, elementwise.

    Source: `numpy.isnan`.

    Example:
        >>> isnan([float("nan"), 1.]).numpy()
        array([ True, False])
    """
    return not_equal(x, x)


@composite("IsInf", infer=to_bool, differentiable=False, samples=SPECIAL)
def isinf(x: Inexact) -> Tensor:
    """Whether `x` is infinity or minus infinity, elementwise.

    Source: `numpy.isinf`.

    Example:
        >>> isinf([float("inf"), 1.]).numpy()
        array([ True, False])
    """
    return equal(abs(x), INFINITY)


@composite("IsFinite", infer=to_bool, differentiable=False, samples=SPECIAL)
def isfinite(x: Inexact) -> Tensor:
    """Whether `x` is neither infinite nor NaN, elementwise.

    Source: `numpy.isfinite`.

    Example:
        >>> isfinite([float("inf"), 1.]).numpy()
        array([False,  True])
    """
    return less(abs(x), INFINITY)


@composite("NanToNum", infer=elementwise, samples=[sample(array(2, 3)), sample([NAN, INFINITY, -INFINITY, 2.0])])
def nan_to_num(x: Number, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace NaN and infinities by numbers.

    Args:
        x: numbers.
        nan: the number that replaces NaN.
        posinf, neginf: the numbers that replace infinity and minus infinity; by default the largest and lowest finite
            ones.

    Source: `numpy.nan_to_num`.

    Example:
        >>> nan_to_num([float("nan"), float("inf"), 1.], posinf=9.).numpy()
        array([0., 9., 1.], dtype=float32)
    """
    if not x.dtype.is_floating:
        return identity(x)
    high = float(x.dtype.max) if posinf is None else posinf
    low = float(x.dtype.min) if neginf is None else neginf
    return where(isnan(x), nan, where(equal(x, INFINITY), high, where(equal(x, -INFINITY), low, x)))


@composite(
    "IsClose",
    infer=to_bool,
    differentiable=False,
    samples=[sample([1.0, 1.0, INFINITY, NAN], [1.1, 1.0 + 1e-7, INFINITY, NAN]), sample([NAN], [NAN], equal_nan=True)],
)
def isclose(
    x: Inexact, y: Inexact, rtol: NotNegative = 1e-5, atol: NotNegative = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether `|x - y| <= atol + rtol * |y|`, elementwise; equal infinities are close.

    Args:
        x, y: numbers that broadcast.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Source: `numpy.isclose`.

    Example:
        >>> isclose([1., 1.], [1.1, 1.000001]).numpy()
        array([False,  True])
    """
    close = less_equal(abs(x - y), atol + rtol * abs(y)) & isfinite(y) | equal(x, y)
    return close | isnan(x) & isnan(y) if equal_nan else close
