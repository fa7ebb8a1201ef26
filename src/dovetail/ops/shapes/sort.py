"""Sorting and ranking: the order is ascending and stable, and NaN is larger than any number."""

from __future__ import annotations

from typing import Any, Literal

from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Integer, Real
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.math import compare, reduce
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.index import add_along_axis, take_along_axis
from dovetail.ops.shapes.rearrange import flip
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims, reshape

SAMPLES = [
    sample(array(2, 4, gap=0.1)),
    sample(array(3, 2, gap=0.1), axis=0),
    sample(ints(6, high=3)),
    sample([1.0, float("nan"), -1.0, float("inf")]),
    sample(array(2, 0)),
]


@primitive(
    "ArgSort",
    cost="move",
    infer=lambda x, axis=-1: TensorSpec(infer.along(x, axis).shape, ALL["int32"]),
    differentiable=False,
    samples=SAMPLES,
)
def _argsort(x: Real, axis: int = -1) -> Tensor:
    """The order of the elements along an axis."""


@checked
def argsort(x: Any, axis: int | None = -1) -> Any:
    """The positions of the elements along an axis in ascending order; equal ones keep their order, NaN come last.

    Args:
        x: any tensor.
        axis: the axis; None for the flattened tensor.

    Returns:
        int32.

    Source: `numpy.argsort`, with `kind="stable"`.

    Example:
        >>> argsort([3., 1., 2.]).numpy()
        array([1, 2, 0], dtype=int32)
    """
    return _argsort(reshape(x, (-1,))) if axis is None else _argsort(x, axis)


@composite("Sort", cost="move", infer=infer.along, samples=SAMPLES)
def _sort(x: Real, axis: int = -1) -> Tensor:
    """The elements along an axis in ascending order."""
    return take_along_axis(x, _argsort(x, axis), axis)


@_sort.gradient
def _(op: Any, g: Any) -> Any:
    x, axis = op.args
    return take_along_axis(g, _argsort(_argsort(x, axis), axis), axis)


@checked
def sort(x: Any, axis: int | None = -1) -> Any:
    """The elements along an axis in ascending order, NaN last.

    Args:
        x: any tensor.
        axis: the axis; None for the flattened tensor.

    Source: `numpy.sort`.

    Example:
        >>> sort([3., 1., 2.]).numpy()
        array([1., 2., 3.], dtype=float32)
    """
    return _sort(reshape(x, (-1,))) if axis is None else _sort(x, axis)


def _top_k_spec(x: RankedSpec, k: int) -> list[TensorSpec]:
    last = x.shape[normalize_axis(-1, len(x.shape))]
    if k < 0 or (last is not None and k > last):
        raise ValueError(f"k must be in 0 … {last}, the size of the last axis, but it is {k}.")
    return [TensorSpec((*x.shape[:-1], k), dtype) for dtype in (x.dtype, ALL["int32"])]


@composite(
    "TopKV2",
    cost="move",
    infer=_top_k_spec,
    samples=[sample(array(2, 5, gap=0.1), 3), sample(ints(2, 8, high=3), 4), sample(array(3), 0)],
)
def top_k(x: Real, k: int) -> tuple[Tensor, Tensor]:
    """The k largest elements along the last axis, largest first.

    Args:
        x: any tensor.
        k: how many elements.

    Returns:
        values: in descending order; NaN counts as larger than any number.
        indices: int32: their positions; of equal elements the first come first.

    Source: `tf.math.top_k`.

    Example:
        >>> values, indices = top_k([3, 9, 9, 1], 3)
        >>> values.numpy(), indices.numpy()
        (array([9, 9, 3], dtype=int32), array([1, 2, 0], dtype=int32))
    """
    last = dims_of(x)[-1]
    order = _argsort(flip(x, -1))
    indices = last - 1 - flip(order[..., last - k :], -1)
    return take_along_axis(x, indices), indices


@top_k.gradient
def _(op: Any, g: Any, _: Any) -> Any:
    return add_along_axis(g, op.inputs[0], op.outputs[1], -1)


@composite(
    "InTopKV2",
    cost="move",
    differentiable=False,
    samples=[
        sample(ints(4, high=3), array(4, 3, gap=0.1), 2),
        sample([5, -1], array(2, 3), 3),
        sample(ints(2, 4, high=3), array(2, 4, 3, gap=0.1), 1),
    ],
)
def in_top_k(targets: Integer, predictions: Real, k: int) -> Tensor:
    """Whether the predicted score of the target class is among the k highest; ties count as in.

    Args:
        targets: class numbers of shape (…).
        predictions: scores of shape (…, classes).
        k: how many of the highest to look at.

    Returns:
        bool of shape (…): False if the target is no class or a score of the sample is not finite.

    Source: `tf.math.in_top_k`.

    Example:
        >>> in_top_k([0, 1], [[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], 2).numpy()
        array([False,  True])
    """
    targets = compare.saturate_cast(targets, "int32")
    is_class = logical_and(targets >= 0, targets < dims_of(predictions)[-1])
    score = take_along_axis(predictions, expand_dims(compare.where(is_class, targets, 0), -1))
    higher = reduce.sum(cast(predictions > score, "int32"), -1)
    return logical_and(logical_and(is_class, reduce.all(compare.isfinite(predictions), -1)), higher < k)


def _searchsorted_spec(sequence: TensorSpec, values: TensorSpec, side: str = "left") -> TensorSpec:
    if sequence.rank != 1:
        raise ValueError(f"the sorted sequence must have one axis, but its shape is {sequence.shape}.")
    return TensorSpec(values.shape, ALL["int32"])


@composite(
    "SearchSorted",
    cost="move",
    infer=_searchsorted_spec,
    differentiable=False,
    samples=[
        sample([-1.0, 0.0, 0.0, 1.0], array(2, 3)),
        sample([0, 2, 2, 3], ints(5), side="right"),
        sample(array(0), array(2)),
    ],
)
def searchsorted(sequence: Real, values: Real, side: Literal["left", "right"] = "left") -> Tensor:
    """The positions at which values go into a sorted sequence so that it stays sorted.

    Args:
        sequence: numbers in ascending order, with one axis.
        values: any shape.
        side: "left": before equal elements; "right": after them.

    Returns:
        int32 in the shape of `values`.

    Source: `numpy.searchsorted`.

    Example:
        >>> searchsorted([1, 2, 3], [2, 9]).numpy()
        array([1, 3], dtype=int32)
    """
    before = compare.less if side == "left" else compare.less_equal
    return reduce.sum(cast(before(sequence, expand_dims(values, -1)), "int32"), -1)
