"""Reductions: one value from all values along some axes.

They share their parameters: `axis` is an axis, several of them, or None for all; `keepdims` says whether the reduced
axes stay, with size 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.base.domains import NotNegative
from dovetail.core.calls.static_types import Axes
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Anything, Bool, Float, Inexact, Number, Real
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axes, normalize_axis, reduced_shape, size_of
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.math.bitwise import invert, logical_not
from dovetail.ops.math.compare import equal, isclose, isfinite, not_equal, where
from dovetail.ops.math.complex import adjoint
from dovetail.ops.math.cumulative import cumprod
from dovetail.ops.math.exponential import exp, log, share_of
from dovetail.ops.samples import array, bools, ints, sample
from dovetail.ops.shapes.identity import stop_gradient
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, narrow, reshape, shape_of, transpose, wide

AXES: list[dict[str, Any]] = [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}]
SAMPLES = [*(sample(array(2, 3, 4), **axes) for axes in AXES), sample(array(3, 0), axis=-1), sample(array())]
COLUMNS = sample(array(2, 3, 4), axis=(0, 1))
DISTINCT = [*(sample(array(2, 3, 4, gap=0.1), **axes) for axes in AXES), sample(array(3, 0), axis=-1), sample(array())]
TRUTHS = [*(sample(bools(2, 2, 3), **axes) for axes in AXES), sample(bools(0))]

# -- sums and products ------------------------------------------------------------------------------------------------


@primitive("Sum", cost="reduction", infer=infer.reduction, samples=[*SAMPLES, COLUMNS])
def sum(x: Number, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Sum over axes; 0 over no elements.

    Args:
        x: numbers.
        axis: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Source: `numpy.sum`; the dtype stays.

    Example:
        >>> sum([[1, 2], [3, 4]], axis=0).numpy()
        array([4, 6], dtype=int32)
    """


@sum.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, keepdims = op.args
    return broadcast_to(restore_axes(g, x, axis, keepdims), shape_of(x))


def restore_axes(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduced tensor with its reduced axes back, as size 1, so that it broadcasts against `x`."""
    if keepdims or x.shape == ():
        return g
    axes = normalize_axes(axis, len(x.shape))
    return reshape(g, [1 if i in axes else dim for i, dim in enumerate(dims_of(x))])


def count_along(x: Any, axis: Any) -> Any:
    """The number of elements along axes: an int, or a tensor where dimensions are unknown."""
    count: Any = 1
    dims = dims_of(x)
    for i in normalize_axes(axis, len(dims)):
        count = dims[i] * count
    return count


@primitive(
    "Prod", cost="reduction", infer=infer.reduction, samples=[*SAMPLES, sample([[0.0, 2.0], [3.0, 0.0]], axis=0)]
)
def prod(x: Number, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Product over axes; 1 over no elements.

    Source: `numpy.prod`; the dtype stays.

    Example:
        >>> prod([[1, 2], [3, 4]], axis=0).numpy()
        array([3, 8], dtype=int32)
    """


@prod.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, keepdims = op.args
    lines, undo = axes_last(x, axis)
    return restore_axes(g, x, axis, keepdims) * undo(others_product(adjoint(lines)))


def others_product(x: Any) -> Any:
    """The product of all others of the last axis for each element; without a division, so zeros do no harm."""
    return cumprod(x, -1, exclusive=True) * cumprod(x, -1, exclusive=True, reverse=True)


def axes_last(x: Any, axis: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The tensor with the axes moved behind the others and flattened to one, and the function that undoes it."""
    rank = len(x.shape)
    axes = normalize_axes(axis, rank)
    order = [*(i for i in range(rank) if i not in axes), *axes]
    moved = transpose(x, order)
    lines = reshape(moved, [*dims_of(moved)[: rank - len(axes)], count_along(x, axis)])
    return lines, lambda y: transpose(reshape(y, shape_of(moved)), [order.index(i) for i in range(rank)])


@composite("Mean", cost="reduction", infer=infer.reduction, samples=[*SAMPLES, COLUMNS])
def mean(x: Inexact, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Mean over axes; NaN over no elements.

    Source: `numpy.mean`; integers become floats.

    Example:
        >>> mean([[1., 2.], [3., 4.]], axis=0).numpy()
        array([2., 3.], dtype=float32)
    """
    return sum(x, axis, keepdims) / count_along(x, axis)


@mean.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, keepdims = op.args
    share = narrow(wide(g) / count_along(x, axis), x)
    return broadcast_to(restore_axes(share, x, axis, keepdims), shape_of(x))


@composite(
    "LogSumExp",
    cost="reduction",
    infer=infer.reduction,
    samples=[*SAMPLES, sample([[-float("inf")] * 2, [1000.0, 1000.0], [float("inf"), 0.0]], axis=1)],
)
def logsumexp(x: Float, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """`log(sum(exp(x)))` over axes, without overflow; minus infinity over no elements.

    Source: `scipy.special.logsumexp`.

    Example:
        >>> logsumexp([[0., 0.], [1000., 1000.]], axis=1).numpy()
        array([6.9314718e-01, 1.0006932e+03], dtype=float32)
    """
    largest = stop_gradient(max(x, axis, keepdims=True))
    largest = where(isfinite(largest), largest, 0)
    total = sum(exp(x - largest), axis, keepdims)
    return log(total) + reshape(largest, shape_of(total))


@logsumexp.gradient
def _(op: Any, g: Any) -> Any:
    given, axis, keepdims = op.args
    x = wide(given)
    total = logsumexp(x, axis, keepdims=True)
    return narrow(restore_axes(wide(g), x, axis, keepdims) * share_of(x, total), given)


# -- the largest and the smallest -------------------------------------------------------------------------------------


@primitive(
    "Max",
    cost="reduction",
    infer=infer.reduction,
    samples=[*DISTINCT, sample([[1, 5], [7, 2]], axis=1), sample(bools(2, 3), 1)],
)
def max(x: Real, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest over axes; NaN if one is NaN; over no elements minus infinity, or the lowest integer.

    The gradient is divided equally among elements that are equally large.

    Source: `numpy.max`, `tf.reduce_max` over no elements.

    Example:
        >>> max([[1, 2], [3, 4]], axis=0).numpy()
        array([3, 4], dtype=int32)
    """


@primitive(
    "Min",
    cost="reduction",
    infer=infer.reduction,
    samples=[*DISTINCT, sample([[1, 5], [7, 2]], axis=1), sample(bools(2, 3), 1)],
)
def min(x: Real, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest over axes; NaN if one is NaN; over no elements infinity, or the highest integer.

    The gradient is divided equally among elements that are equally small.

    Source: `numpy.min`, `tf.reduce_min` over no elements.

    Example:
        >>> min([[1, 2], [3, 4]], axis=0).numpy()
        array([1, 2], dtype=int32)
    """


@max.gradient
@min.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, keepdims = op.args
    chosen = cast(equal(x, restore_axes(op.outputs[0], x, axis, keepdims)), x.dtype)
    return chosen * (restore_axes(g, x, axis, keepdims) / sum(chosen, axis, keepdims=True))


def _position_spec(x: RankedSpec, axis: Any = None, keepdims: bool = False) -> TensorSpec:
    axis = axis if axis is None else normalize_axis(axis, len(x.shape))
    if (size_of(x.shape) if axis is None else x.shape[axis]) == 0:
        raise ValueError("there are no elements to choose from.")
    return TensorSpec(reduced_shape(x.shape, axis, keepdims), ALL["int64"])


POSITIONS = [
    *(sample(array(2, 3, 4), **axes) for axes in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True})),
    sample([3, 1, 3, 1]),
    sample([1.0, float("nan"), 3.0]),
    sample(array(0, 2), axis=1),
]


@primitive("ArgMax", cost="reduction", infer=_position_spec, differentiable=False, samples=POSITIONS)
def argmax(x: Real, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the largest element, the first of equal ones, or of the first NaN if there is one.

    Args:
        x: real numbers.
        axis: the axis; None for the position in the flattened tensor.
        keepdims: whether the reduced axes stay, with size 1.

    Returns:
        An int64 tensor.

    Raises:
        ValueError: there are no elements along the axis.

    Source: `numpy.argmax`.

    Example:
        >>> argmax([[1, 9], [5, 4]], axis=1).numpy()
        array([1, 0])
    """


@composite("ArgMin", cost="reduction", infer=_position_spec, differentiable=False, samples=POSITIONS)
def argmin(x: Real, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the smallest; see `argmax`.

    Source: `numpy.argmin`.

    Example:
        >>> argmin([[1, 9], [5, 4]], axis=1).numpy()
        array([0, 1])
    """
    return argmax(-x if x.dtype.is_floating else invert(x), axis, keepdims)  # ~x reverses the order of all integers


# -- truth values -----------------------------------------------------------------------------------------------------


@composite(
    "CountNonzero",
    cost="reduction",
    infer=infer.reduction_as("int32"),
    differentiable=False,
    samples=[*TRUTHS, sample(ints(3, 4, high=2))],
)
def count_nonzero(x: Anything, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The number of elements that are not 0, as int32.

    Source: `numpy.count_nonzero`.

    Example:
        >>> count_nonzero([[0, 7], [2, 5]], axis=0).numpy()
        array([1, 2], dtype=int32)
    """
    return sum(cast(not_equal(x, 0), "int32"), axis, keepdims)


@composite("Any", cost="reduction", infer=infer.reduction, differentiable=False, samples=TRUTHS)
def any(x: Bool, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether one or more are true (numbers: not 0); false over no elements.

    Source: `numpy.any`.

    Example:
        >>> any([[0, 7], [0, 0]], axis=1).numpy()
        array([ True, False])
    """
    return count_nonzero(x, axis, keepdims) > 0


@composite("All", cost="reduction", infer=infer.reduction, differentiable=False, samples=TRUTHS)
def all(x: Bool, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all are true (numbers: not 0); true over no elements.

    Source: `numpy.all`.

    Example:
        >>> all([[1, 7], [0, 1]], axis=1).numpy()
        array([ True, False])
    """
    return logical_not(any(logical_not(x), axis, keepdims))


@composite(
    "AllClose",
    cost="reduction",
    infer=lambda x, y, *options: TensorSpec((), ALL["bool"]),
    differentiable=False,
    samples=[sample([1.0, 2.0], [1.0, 2.0 + 1e-6]), sample([1.0, 2.0], 1.0)],
)
def allclose(
    x: Inexact, y: Inexact, rtol: NotNegative = 1e-5, atol: NotNegative = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close; see `isclose`.

    Source: `numpy.allclose`.

    Example:
        >>> bool(allclose([1., 2.], [1., 2.000001]))
        True
    """
    return all(isclose(x, y, rtol, atol, equal_nan))
