"""Elements in order: TopKV2, InTopK, Unique, ListDiff, NthElement, Bincount, Bucketize, LowerBound; ArgSort."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.accumulation import HALVES
from dovetail.formats.nodes.constants import constant_of, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import READ, body, row, rows, shapes, special, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

rows("""
TopKV2: x k!; sorted index_type>1
InTopK > InTopKV2: predictions targets; k
InTopKV2: predictions targets k!
Unique: x; out_idx>1
InvertPermutation > ArgSort: x
""")

shapes("Unique: [?] [?]")


@special("TopKV2")
def _top(node: Node) -> Any:
    """The largest elements; all are sorted if their number is no constant, such as a part of a shape."""
    x, k = node.tensor(0), node.tensor(1)
    if type(x) is GraphTensor and x.op.type == "Invert" and _is_whole(k, x):  # as ArgSort is written
        order = OPS["ArgSort"](_before_bits(x.op.inputs[0]), -1)
        return [ops.take_along_axis(x, order, -1), ops.cast(order, node.attrs("index_type", "int32"))]
    if constant_of(k) is not None:
        return by_row(READ[node.type], node)
    ascending = ops.argsort(ops.flip(x, -1), -1)  # flipped, so that the first of equal elements is the first in the end
    places = (ops.shape(x)[-1] - 1 - ops.flip(ascending, -1))[..., :k]
    return [ops.take_along_axis(x, places, -1), ops.cast(places, node.attrs("index_type", "int32"))]


@row("ApproxTopK: x; k reduction_dimension:axis is_max_k recall_target reduction_input_size_override aggregate_to_topk")
def largest(x: Any, k: int, axis: int = -1, is_max_k: bool = True, **approximation: Any) -> Any:
    """The largest or the smallest elements along an axis, exactly."""
    moved = ops.moveaxis(x, axis, -1)
    values, places = OPS["TopKV2"](moved if is_max_k else -moved, k)
    return [ops.moveaxis(one, -1, axis) for one in (values if is_max_k else -values, places)]


@row("NthElement: x n?; reverse")
def _(x: Any, n: Any, reverse: bool = False) -> Any:
    place = dims_of(x)[-1] - 1 - scalar(n) if reverse else scalar(n)
    return OPS["GatherV2"](ops.sort(x, -1), place, rank_of(x) - 1)


@row("Unique: x; out_idx>1", "UniqueV2: x axis!; out_idx>1")
def _(x: Any, axis: Any = ()) -> Any:
    return _unique(x, axis)[:2]


@row(
    "UniqueWithCounts: x; out_idx>1 out_idx>2",
    "UniqueWithCountsV2: x axis!; out_idx>1 out_idx>2",
)
def _unique(x: Any, axis: Any = ()) -> list[Any]:
    """The different elements in the order of the input, the place of each element among them, and how often it is."""
    if rank_of(x) != 1 and axis not in ((), []):
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
    rank = rank_of(x)
    size = scalar(size)
    counts = ops.logical_and(x >= 0, x < size)
    places = [ops.where(counts, x, 0)]
    if rank == 2:
        rows = ops.expand_dims(ops.arange(dims_of(x)[0], dtype=x.dtype), -1)
        places = [ops.broadcast_to(rows, dims_of(x)), *places]
    none = ops.zeros([*dims_of(x)[: rank - 1], size], weights.dtype)
    change = "TensorScatterMax" if binary else "TensorScatterAdd"
    return OPS[change](none, ops.stack(places, -1), ops.where(counts, given, 0))


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


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("ArgSort")
def _write_argsort(place: Place, x: Ref, axis: int) -> list[Ref]:
    """The positions of the largest integers along the last axis, with all bits inverted."""
    size = place.scalar(place.node("Shape", x, dtype="int32", out_type=as_dtype("int32")), -1)
    order = place.several("TopKV2", place.node("Invert", x), size, dtypes=[x.dtype, "int32"], sorted=True)
    return place.results(order[1:])


@body(
    "ArgSort",
    lambda operation: (
        not operation.inputs[0].dtype.is_integer
        or operation.attrs["axis"] not in (-1, rank_of(operation.inputs[0]) - 1)
    ),
)
def _argsort(op: Any, x: Any, axis: int) -> Any:
    """The order of integers along the last axis: for floats, of their bits."""
    if not x.dtype.is_integer:
        return op(_bits_in_order(x), axis)
    order = [*range(rank_of(x))]
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(op(ops.transpose(x, order), -1), order)


def _bits_in_order(x: Any) -> Any:
    """Integers in the order of the values: NaN after infinity, and both zeros alike."""
    if x.dtype.is_bool:
        return ops.cast(x, "uint8")
    x = ops.cast(x, "float32") if x.dtype.name in HALVES else x
    integer = as_dtype("int64" if x.dtype.name == "float64" else "int32")
    plain = ops.where(ops.equal(x, 0), ops.zeros_like(x), ops.where(ops.isnan(x), ops.full_like(x, math.nan), x))
    bits = OPS["Bitcast"](plain, integer)
    return ops.where(ops.less(bits, 0), ops.bitwise_xor(bits, integer.max), bits)


def _is_whole(k: Any, x: Any) -> bool:
    """Whether a number is the size of the last axis of inverted integers."""
    if (known := constant_of(k)) is not None:
        return bool(known == known_dims(x)[-1])
    if k.op.type != "StridedSlice" or k.op.inputs[0].op.type != "Shape":
        return False
    is_last = k.op.attrs["shrink_axis_mask"] == 1 and k.op.attrs.get("begin") == (-1,)
    return is_last and any(k.op.inputs[0].op.inputs[0] is one for one in (x, x.op.inputs[0]))


def _before_bits(bits: Any) -> Any:
    """The floats of which some integers are the order, as `_bits_in_order` makes them; else the integers."""
    if bits.op.type == "Transpose":
        return ops.transpose(_before_bits(bits.op.inputs[0]), bits.op.attrs["axes"])
    path = ("SelectV2", 2), ("Bitcast", 0), ("SelectV2", 2), ("SelectV2", 2)
    x = bits
    for type, number in path:
        if x.op.type != type:
            return bits
        x = x.op.inputs[number]
    raw, plain = bits.op.inputs[2], bits.op.inputs[2].op.inputs[0]
    (less, xor, _), (equal, zeros, numbers) = ([one.op for one in y.op.inputs] for y in (bits, plain))
    known = ("Less", less, raw, 0), ("BitwiseXor", xor, raw, raw.dtype.max), ("Equal", equal, x, 0)
    is_order = zeros.type == "ZerosLike" and numbers.inputs[0].op.type == "IsNan"
    for type, op, given, number in known:
        is_order = is_order and op.type == type and op.inputs[0] is given and constant_of(op.inputs[1]) == number
    return x if is_order and numbers.inputs[0].op.inputs[0] is x else bits


body("Unique")(lambda op, x: op.body(x))  # the values ascend; TensorFlow's Unique keeps the order of the input


@body("InTopKV2", lambda operation: rank_of(operation.inputs[1]) != 2)
def _in_top(op: Any, targets: Any, predictions: Any, k: int) -> Any:
    rows = ops.reshape(predictions, (-1, dims_of(predictions)[-1]))
    return ops.reshape(op(ops.reshape(targets, (-1,)), rows, k), dims_of(targets))
