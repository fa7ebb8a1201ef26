"""Reductions: one value from all those along some axes."""

from __future__ import annotations

from typing import Any

from dovetail.ops import infer
from dovetail.ops.infer import normalize_axes
from dovetail.ops.kinds import Inexact, Number
from dovetail.ops.op import composite, primitive
from dovetail.ops.samples import array, sample
from dovetail.ops.shape import broadcast_to, cast, dims_of, reshape, shape_of
from dovetail.tensor import Tensor

AXES = [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}]
SAMPLES = [sample(array(2, 3, 4), **axes) for axes in AXES]


def restore_axes(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduced tensor with its reduced axes back, as size 1, so that it broadcasts against `x`."""
    if keepdims or not x.shape:
        return g
    axes = normalize_axes(axis, len(x.shape))
    return reshape(g, [1 if i in axes else dim for i, dim in enumerate(dims_of(x))])


@primitive("Sum", infer=infer.reduction, samples=SAMPLES)
def sum(x: Number, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes.

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


@composite("Mean", samples=SAMPLES)
def mean(x: Inexact, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Mean over axes.

    Source: `numpy.mean`; integers become floats.

    Example:
        >>> mean([[1., 2.], [3., 4.]], axis=0).numpy()
        array([2., 3.], dtype=float32)
    """
    total = sum(x, axis, keepdims)
    return total / cast(count_along(x, axis), x.dtype)


def count_along(x: Any, axis: Any) -> Any:
    """The number of elements along axes: an int, or a tensor where dimensions are unknown."""
    count: Any = 1
    dims = dims_of(x)
    for i in normalize_axes(axis, len(dims)):
        count = dims[i] * count
    return count
