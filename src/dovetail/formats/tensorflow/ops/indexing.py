"""Elements by their indices: gathered, scattered, selected, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.bodies import scattered
from dovetail.formats.nodes.constants import filled, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of


@row(
    "Gather: x indices; validate_indices",
    "GatherV2: x indices axis!; batch_dims:batch",
    "ResourceGather: x& indices; batch_dims:batch validate_indices",
)
def gathered(x: Any, indices: Any, axis: int = 0, batch: int = 0) -> Any:
    """The slices of a tensor at indices, as TensorFlow's GatherV2."""
    if not batch:
        return OPS["GatherV2"](x, indices, axis)
    return ops.gather(x, indices, axis=axis, batch_dims=batch)


@row("ScatterNd: indices updates shape?; bad_indices_policy=")
def _(indices: Any, updates: Any, shape: Any) -> Any:
    return scattered("Add", filled(shape, 0, updates.dtype), indices, updates)


@row("Select: condition x y")
def _(condition: Any, x: Any, y: Any) -> Any:
    if condition.shape is not None and x.shape is not None and 0 < len(condition.shape) < len(x.shape):
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * (len(x.shape) - len(condition.shape))])
    return ops.where(condition, x, y)


@row("OneHot: x depth? on off; axis")
def _(x: Any, depth: Any, on: Any, off: Any, axis: int) -> Any:
    return ops.where(ops.one_hot(x, scalar(depth), axis, "bool"), on, off)


# -- search -----------------------------------------------------------------------------------------------------------


@row(
    "ArgMax: x axis!; output_type>0 +op=ArgMax",
    "ArgMin: x axis!; output_type>0 +op=ArgMin",
)
def _(x: Any, axis: int, op: str) -> Any:
    """The place of the first largest or smallest element: TensorFlow passes over NaN."""
    if x.dtype.is_floating:
        worst = x.dtype.min if op == "ArgMax" else x.dtype.max
        x = ops.where(ops.greater(x, worst) if op == "ArgMax" else ops.less(x, worst), x, worst)
    return OPS[op](x, axis)


@row("Unique: x; out_idx>1", "UniqueV2: x axis!; out_idx>1")
def _(x: Any, axis: Any = ()) -> Any:
    return _unique(x, axis)[:2]


@row(
    "UniqueWithCounts: x; out_idx>1 out_idx>2",
    "UniqueWithCountsV2: x axis!; out_idx>1 out_idx>2",
)
def _unique(x: Any, axis: Any = ()) -> list[Any]:
    """The different elements in the order of the input, the place of each element among them, and how often it is."""
    if len(x.shape) != 1 and axis not in ((), []):
        raise Unreadable("it compares slices")
    size = dims_of(x)[0]
    every = ops.arange(size, dtype="int32")
    values, places, *_ = OPS["Unique"](x)
    none = ops.full([dims_of(values)[0]], size, "int32")
    first = OPS["TensorScatterMin"](none, ops.expand_dims(places, -1), every)
    first = OPS["GatherV2"](first, places, 0)  # for each element, where an equal one is first
    if x.dtype.is_floating:
        first = ops.where(ops.isnan(x), every, first)  # NaN equals nothing
    kept, places, *_ = OPS["Unique"](first)
    none = ops.zeros([dims_of(kept)[0]], "int32")
    counts = OPS["TensorScatterAdd"](none, ops.expand_dims(places, -1), ops.ones_like(places, "int32"))
    return [OPS["GatherV2"](x, kept, 0), places, counts]


@row("ListDiff: x? y?; T:dtype out_idx>1")
def _(x: Any, y: Any, dtype: Any = None) -> list[Any]:
    if isinstance(x, list) and isinstance(y, list):
        kept = [i for i, one in enumerate(x) if one not in y]
        return [recorded([x[i] for i in kept], dtype), recorded(kept, "int32")]
    x, y = (ops.convert(one, dtype=dtype) for one in (x, y))
    left = ops.logical_not(ops.any(ops.equal(ops.expand_dims(x, -1), y), -1))
    return [ops.boolean_mask(x, left), ops.boolean_mask(ops.arange(dims_of(x)[0], dtype="int32"), left)]


@row("Bincount: x size? weights", "DenseBincount: x size? weights; binary_output:binary")
def counted(x: Any, size: Any, weights: Any, binary: bool = False) -> Any:
    """How often numbers occur; of matrices, in each row."""
    given = ops.ones_like(x, weights.dtype) if weights.shape == (0,) or binary else weights
    rank = len(x.shape)
    size = scalar(size)
    counts = ops.logical_and(x >= 0, x < size)
    places = [ops.where(counts, x, 0)]
    if rank == 2:
        rows = ops.expand_dims(ops.arange(dims_of(x)[0], dtype=x.dtype), -1)
        places = [ops.broadcast_to(rows, dims_of(x)), *places]
    none = ops.zeros([*dims_of(x)[: rank - 1], size], weights.dtype)
    change = "TensorScatterMax" if binary else "TensorScatterAdd"
    return OPS[change](none, ops.stack(places, -1), ops.where(counts, given, 0))


@row("ApproxTopK: x; k reduction_dimension:axis is_max_k recall_target reduction_input_size_override aggregate_to_topk")
def largest(x: Any, k: int, axis: int = -1, is_max_k: bool = True, **approximation: Any) -> Any:
    """The largest or the smallest elements along an axis, exactly."""
    moved = ops.moveaxis(x, axis, -1)
    values, places = OPS["TopKV2"](moved if is_max_k else -moved, k)
    return [ops.moveaxis(one, -1, axis) for one in (values if is_max_k else -values, places)]


@row("Bucketize: x; boundaries")
def _(x: Any, boundaries: Sequence[float]) -> Any:
    return ops.searchsorted(np.array(boundaries, "float32"), ops.cast(x, "float32"), "right")


@row(
    "LowerBound: x values; out_type>0 +side=left",
    "UpperBound: x values; out_type>0 +side=right",
)
def _(x: Any, values: Any, side: str) -> Any:
    before = ops.less if side == "left" else ops.less_equal
    return ops.sum(ops.cast(before(ops.expand_dims(x, -2), ops.expand_dims(values, -1)), "int32"), -1)


@row("HistogramFixedWidth: x bounds bins?; dtype")
def _(x: Any, bounds: Any, bins: Any, dtype: Any) -> Any:
    low, high = bounds[0], bounds[1]
    places = ops.floor((x - low) / (high - low) * ops.cast(scalar(bins), x.dtype))
    places = ops.cast(ops.clip(places, 0, scalar(bins) - 1), "int32")
    return ops.cast(ops.bincount(ops.reshape(places, [-1]), length=scalar(bins)), dtype)


@row("NthElement: x n?; reverse")
def _(x: Any, n: Any, reverse: bool = False) -> Any:
    place = dims_of(x)[-1] - 1 - scalar(n) if reverse else scalar(n)
    return OPS["GatherV2"](ops.sort(x, -1), place, len(x.shape) - 1)


@row("UnravelIndex: x dims!")
def _(x: Any, dims: Sequence[int]) -> Any:
    coordinates: list[Any] = []
    for dim in reversed(dims):
        coordinates.insert(0, OPS["FloorMod"](x, ops.cast(dim, x.dtype)))
        x = OPS["FloorDiv"](x, ops.cast(dim, x.dtype))
    return ops.stack(coordinates, 0)


@row(*(f"Inplace{kind}: x i v; +kind={kind}" for kind in ("Update", "Add", "Sub")))
def _(x: Any, i: Any, v: Any, kind: str) -> Any:
    change = "TensorScatterUpdate" if kind == "Update" else "TensorScatterAdd"
    return OPS[change](x, ops.expand_dims(i, -1), -v if kind == "Sub" else v)
