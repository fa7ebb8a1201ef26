"""Rearranging: the elements of one tensor in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Axes, Sizes
from dovetail.core.kinds import Anything
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axes, normalize_axis
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.math.compare import maximum
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import dims_of, reorder, reshape, shape_of, shaped
from dovetail.ops.shapes.slicing import along, strided_slice


@checked
def moveaxis(x: Any, source: Sizes, destination: Sizes) -> Any:
    """Move some axes to other positions; the others keep their order.

    Source: `numpy.moveaxis`.

    Example:
        >>> moveaxis([[[1, 2, 3]]], -1, 0).shape
        (3, 1, 1)
    """
    x = shaped(x)
    rank = len(static_shape(x))
    moved, places = (
        [normalize_axis(i, rank) for i in ([a] if isinstance(a, int) else a)] for a in (source, destination)
    )
    if not len(set(moved)) == len(set(places)) == len(moved) == len(places):
        raise ValueError(
            f"moveaxis: source and destination must name as many axes, each once, not {source} and {destination}."
        )
    order = [i for i in range(rank) if i not in moved]
    for to, axis in sorted(zip(places, moved, strict=True)):
        order.insert(to, axis)
    return reorder(x, order)


@checked
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Swap two axes.

    Source: `numpy.swapaxes`.

    Example:
        >>> swapaxes([[1, 2, 3]], 0, 1).shape
        (3, 1)
    """
    x = shaped(x)
    order = list(range(len(static_shape(x))))
    a, b = normalize_axis(axis1, len(order)), normalize_axis(axis2, len(order))
    order[a], order[b] = b, a
    return reorder(x, order)


@composite(
    "ReverseV2",
    cost="move",
    infer=infer.along,
    samples=[sample(array(2, 3)), sample(array(2, 3), axis=-1), sample(array(0, 2), axis=(0, 1))],
)
def flip(x: Anything, axis: Axes = None) -> Tensor:
    """The elements in reverse order along axes: one, several, or all.

    Source: `numpy.flip`.

    Example:
        >>> flip([1, 2, 3]).numpy()
        array([3, 2, 1], dtype=int32)
    """
    rank = len(x.shape)
    axes = normalize_axes(axis, rank)
    steps = [-1 if i in axes else 1 for i in range(rank)]
    whole = (1 << rank) - 1
    return strided_slice(x, (0,) * rank, (0,) * rank, steps, whole, whole)


@flip.gradient
def _(op: Any, g: Any) -> Any:
    return flip(g, op.attr("axis"))


def _pairs(shift: Any, axis: Any) -> list[tuple[int, int]]:
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    count = max(len(shifts), len(axes))
    if len(shifts) not in (1, count) or len(axes) not in (1, count):
        raise ValueError(f"there must be a shift for each axis, but they are {shift} and {axis}.")
    return list(zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True))


def _roll_spec(x: RankedSpec, shift: Any, axis: Any = None) -> TensorSpec:
    for _, i in _pairs(shift, axis):
        if i is not None:
            normalize_axis(i, len(x.shape))
    return x


@composite(
    "Roll",
    cost="move",
    infer=_roll_spec,
    samples=[
        sample(array(5, 2), 2, axis=0),
        sample(array(2, 3), (1, -4), axis=(0, 1)),
        sample(array(2, 3), -1),
        sample(array(0), 1, axis=0),
    ],
)
def roll(x: Anything, shift: int | Sequence[int], axis: Axes = None) -> Tensor:
    """Move the elements along axes; elements that leave at one end come back at the other.

    Args:
        x: any tensor.
        shift: by how much, toward higher positions; one for each axis.
        axis: an axis or several; None to roll the flattened tensor.

    Source: `numpy.roll`.

    Example:
        >>> roll([1, 2, 3], 1).numpy()
        array([3, 1, 2], dtype=int32)
    """
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), shape_of(x))
    for by, i in _pairs(shift, axis):
        at = normalize_axis(i, len(x.shape))
        dim = dims_of(x)[at]
        cut = (dim - by) % (max(dim, 1) if isinstance(dim, int) else maximum(dim, 1))
        x = concatenate([along(x, at, cut, dim), along(x, at, 0, cut)], at)
    return x


@roll.gradient
def _(op: Any, g: Any) -> Any:
    _, shift, axis = op.args
    return roll(g, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis)
