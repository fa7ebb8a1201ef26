"""Statistics: reductions that describe the spread of values, with the parameters of `reduce`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from dovetail.core.base.domains import within
from dovetail.core.calls.static_types import Axes
from dovetail.core.kinds import Float, Inexact, MaybeFloat
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axes, reduced_shape
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.math.arithmetic import divide_no_nan, square
from dovetail.ops.math.compare import equal, isnan, where
from dovetail.ops.math.exponential import sqrt
from dovetail.ops.math.reduce import axes_last, count_along, mean, restore_axes, sum
from dovetail.ops.math.rounding import ceil, floor, rint
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.index import take
from dovetail.ops.shapes.rearrange import moveaxis
from dovetail.ops.shapes.shape import cast, dims_of, narrow, reshape, wide
from dovetail.ops.shapes.sort import sort

SAMPLES = [
    sample(array(2, 3, 4)),
    sample(array(2, 3, 4), axis=1),
    sample(array(2, 3, 4), axis=(0, -1), keepdims=True),
    sample(array(3, 0), axis=-1),
]


@composite("Variance", cost="reduction", infer=infer.reduction, samples=SAMPLES)
def var(x: Float, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Variance over axes: the mean square of the distance from the mean; NaN over no elements.

    Source: `numpy.var`; integers become floats.

    Example:
        >>> var([1., 3., 5., 7.]).numpy()
        array(5., dtype=float32)
    """
    return mean(square(x - mean(x, axis, keepdims=True)), axis, keepdims)


@var.gradient
def _(op: Any, g: Any) -> Any:
    given, axis, keepdims = op.args
    x = wide(given)
    scaled = wide(g) * 2 / count_along(x, axis)
    return narrow(restore_axes(scaled, x, axis, keepdims) * (x - mean(x, axis, keepdims=True)), given)


@composite("StandardDeviation", cost="reduction", infer=infer.reduction, samples=SAMPLES)
def std(x: Float, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Standard deviation over axes, the square root of `var`; its gradient is 0 where all elements are equal.

    Source: `numpy.std`; integers become floats.

    Example:
        >>> std([1., 1., 5., 5.]).numpy()
        array(2., dtype=float32)
    """
    return sqrt(var(x, axis, keepdims))


@std.gradient
def _(op: Any, g: Any) -> Any:
    given, axis, keepdims = op.args
    x = wide(given)
    scaled = divide_no_nan(wide(g), wide(op.outputs[0]) * count_along(x, axis))
    return narrow(restore_axes(scaled, x, axis, keepdims) * (x - mean(x, axis, keepdims=True)), given)


@composite(
    "Average",
    cost="reduction",
    samples=[
        sample(array(2, 3)),
        sample(array(2, 3), axis=1, weights=array(2, 3, low=0.5, high=2)),
        sample(array(2, 3), axis=0, weights=array(2, low=0.5, high=2)),
    ],
)
def average(x: Inexact, axis: Axes = None, weights: MaybeFloat = None) -> Tensor:
    """Weighted mean over axes.

    Args:
        x: numbers.
        axis: an axis, several, or None for all.
        weights: of the shape of `x`, or, for a single axis, one for each position along it; all 1 if not given.

    Source: `numpy.average`.

    Example:
        >>> average([1., 2.], weights=[3., 1.]).numpy()
        array(1.25, dtype=float32)
    """
    if weights is None:
        return mean(x, axis)
    if len(weights.shape) == 1 < len(x.shape):
        axes = normalize_axes(axis, len(x.shape))
        if len(axes) != 1:
            raise ValueError("weights with one axis need a single `axis` of x that they belong to.")
        (along,) = axes
        weights = reshape(weights, [-1 if i == along else 1 for i in range(len(x.shape))])
        return sum(x * weights, axis) / sum(weights)
    return sum(x * weights, axis) / sum(weights, axis)


_SHARES = {  # the share of the upper neighbour, by the position and the positions of both neighbours
    "linear": lambda at, low, high: at - low,
    "lower": lambda at, low, high: 0 * at,
    "higher": lambda at, low, high: high - low,
    "midpoint": lambda at, low, high: (high - low) / 2,
    "nearest": lambda at, low, high: rint(at) - low,
}


def _quantile_spec(
    x: RankedSpec, q: RankedSpec, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> TensorSpec:
    if len(q.shape) > 1:
        raise ValueError("q must be a number or a vector of numbers.")
    if 0 in [x.shape[i] for i in normalize_axes(axis, len(x.shape))]:
        raise ValueError("there are no elements along the axes.")
    shape = reduced_shape(x.shape, axis, keepdims)
    return TensorSpec((*q.shape, *shape), x.dtype)  # type: ignore[misc]


@composite(
    "Quantile",
    cost="reduction",
    infer=_quantile_spec,
    samples=[
        sample(array(7, gap=0.3), 0.3),
        sample(array(2, 3, 4, gap=0.1), [0.25, 1.0], axis=(0, 2), keepdims=True),
        *(sample(array(4, 3, gap=0.1), 0.6, axis=0, method=method) for method in _SHARES),
        sample([1.0, float("nan")], 0.0),
    ],
)
def quantile(
    x: Float,
    q: Annotated[Float, within(0, 1)],
    axis: Axes = None,
    method: Literal["linear", "lower", "higher", "midpoint", "nearest"] = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The value below which lies the share `q` of all values along axes; NaN if one is NaN.

    Args:
        x: real numbers; integers become floats.
        q: a number from 0 to 1, or a vector of them; a tensor's numbers are not checked.
        axis: an axis, several, or None for all.
        method: between two values: "linear", "lower", "higher", "midpoint" or "nearest" (of two equally near, the one
            whose position is even).
        keepdims: whether the reduced axes stay, with size 1.

    Returns:
        A tensor of the reduced shape, after the axis of `q` if it is a vector.

    Source: `numpy.quantile`.

    Example:
        >>> quantile([1., 2., 4., 8.], [0., 0.5]).numpy()
        array([1., 3.], dtype=float32)
    """
    lines = sort(axes_last(x, axis)[0], -1)
    precise = "float32" if x.dtype.itemsize < 4 else x.dtype
    at = cast(reshape(q, (-1,)), precise) * cast(count_along(x, axis) - 1, precise)
    low, high = floor(at), ceil(at)
    lower, upper = (take(lines, cast(i, "int32"), -1) for i in (low, high))
    share = cast(_SHARES[method](at, low, high), x.dtype)
    # Equal values need no interpolation, and equal infinities would give NaN.
    values = where(equal(lower, upper), lower, lower + (upper - lower) * share)
    values = where(isnan(lines[..., -1:]), float("nan"), values)  # NaN are sorted to the end
    axes = normalize_axes(axis, len(x.shape))
    kept = [1 if i in axes else dim for i, dim in enumerate(dims_of(x)) if keepdims or i not in axes]
    return reshape(moveaxis(values, -1, 0), [*dims_of(q), *kept])


@composite(
    "Median",
    cost="reduction",
    infer=infer.reduction,
    samples=[sample(array(5, gap=0.3)), sample(array(2, 4, gap=0.1), axis=-1)],
)
def median(x: Float, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The middle value along axes; of an even number of values the mean of the two in the middle.

    Source: `numpy.median`.

    Example:
        >>> median([1., 9., 2.]).numpy()
        array(2., dtype=float32)
    """
    return quantile(x, 0.5, axis, "midpoint", keepdims)
