"""Shapes, ranges and slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, recorded, wanted, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.table import row
from dovetail.graph.operation import GraphTensor
from dovetail.graph.shape_values import known_ints
from dovetail.ops.shapes.shape import dims_of

LARGEST = 1 << 20  # elements of an array that is computed while a file is read


def scalar(value: Any) -> Any:
    """A number that is an input marked `?`."""
    return value[0] if isinstance(value, list) else value


@row("Rank: x")
def _(x: Any) -> Any:
    return ops.shape(ops.shape(x))[0] if x.shape is None else ops.convert(np.array(len(x.shape), "int32"))


@row("Size: x; out_type>0")
def _(x: Any) -> Any:
    return ops.prod(ops.shape(x))


@row("ShapeN: xs*; out_type:dtype")
def _(xs: Sequence[Any], dtype: Any) -> Any:
    return [ops.cast(ops.shape(x), dtype) for x in xs]


@row("BroadcastArgs: a? b?; T:dtype")
def _(a: Any, b: Any, dtype: Any) -> Any:
    """The shape of two shapes; an op that broadcasts to it refuses those that do not fit."""
    if isinstance(a, list) and isinstance(b, list):
        return ops.convert(np.array(np.broadcast_shapes(a, b)), dtype)
    shapes = [ops.convert(shape, dtype=dtype) for shape in (a, b)]
    ranks = [shape.shape[0] for shape in shapes]
    if None in ranks:
        raise Unreadable("the rank of a shape is not known")
    ones = (ops.ones([max(ranks) - rank], dtype) for rank in ranks)
    one, other = (ops.concatenate(pair, 0) for pair in zip(ones, shapes, strict=True))
    return ops.where(ops.equal(one, 1), other, one)


@row("ConcatOffset: axis! shapes*")
def _(axis: int, shapes: Sequence[Any]) -> Any:
    """Where each tensor of a concatenation begins."""
    rank = dims_of(shapes[0])[0]
    is_axis = ops.cast(ops.equal(ops.arange(rank), axis if axis >= 0 else axis + rank), shapes[0].dtype)
    starts = [ops.zeros_like(shapes[0])]
    for shape in shapes[:-1]:
        starts.append(starts[-1] + shape * is_axis)
    return starts


@row("Range: start stop step; Tidx:dtype")
def _(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    bounds = start, stop, step
    in_session = type(stop) is GraphTensor and stop.op.graph.outermost.dialect.records_effects
    if in_session and stop.dtype.is_integer:  # a run may feed one, and an edit may change it
        is_plain = constant_of(start) == 0 and constant_of(step) == 1
        return OPS["Iota"](stop, dtype) if is_plain else ops.arange(*bounds, dtype=dtype)
    start, stop, step = (bound if (value := wanted(bound)) is None else value.item() for bound in bounds)
    if all(isinstance(bound, (int, float)) for bound in (start, stop, step)):
        if step and abs((stop - start) / step) <= LARGEST:
            within(int((stop - start) / step))
            return ops.convert(np.arange(start, stop, step), dtype)
        start = recorded(start, dtype)
    return ops.arange(start, stop, step, dtype=dtype)


@row("StridedSlice: x begin? end? strides?; begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask")
def strided_slice(
    x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """A slice, whose masks are bits for the numbers of indices."""
    if ellipsis_mask & ellipsis_mask - 1:
        raise Unreadable("it has several ellipses")
    is_known = all(isinstance(bound, list) for bound in (begin, end, strides))
    if not ellipsis_mask and not new_axis_mask and (is_known or not shrink_axis_mask):
        return OPS["StridedSlice"](x, begin, end, strides, begin_mask, end_mask, shrink_axis_mask)

    def item(i: int) -> Any:
        if ellipsis_mask >> i & 1:
            return Ellipsis
        if new_axis_mask >> i & 1:
            return None
        if shrink_axis_mask >> i & 1:
            return element(begin, i)
        first, last = (None if mask >> i & 1 else element(bound, i) for mask, bound in pairs)
        return slice(first, last, element(strides, i))

    pairs = (begin_mask, begin), (end_mask, end)
    return x[tuple(map(item, range(len(begin) if isinstance(begin, list) else begin.shape[0])))]


def element(numbers: Any, i: int) -> Any:
    """One of some integers: an int if it is known, else a tensor."""
    known = numbers if isinstance(numbers, list) else known_ints(numbers)
    return numbers[i] if known is None or known[i] is None else known[i]


@row("Split: axis! x; num_split:count")
def _(axis: int, x: Any, count: int) -> Any:
    return ops.split(x, count, axis)


@row("SplitV: x sizes? axis!; num_split")
def _(x: Any, sizes: Any, axis: int) -> Any:
    if isinstance(sizes, list) and -1 in sizes:
        sizes[sizes.index(-1)] = dims_of(x)[axis] - (sum(sizes) + 1)
    return OPS["SplitV"](x, sizes, axis)


@row("Slice: x start? size?")
def _(x: Any, start: Any, size: Any) -> Any:
    if isinstance(size, list) and -1 in size:
        dims = dims_of(x)
        size = [dims[i] - start[i] if length == -1 else length for i, length in enumerate(size)]
    return OPS["Slice"](x, start, size)


@row("Pad: x paddings?", "PadV2: x paddings? value!")
def _(x: Any, paddings: Any, value: Any = 0) -> Any:
    if isinstance(paddings, list):
        return OPS["PadV2"](x, paddings[::2], paddings[1::2], value)
    return OPS["PadV2"](x, paddings[:, 0], paddings[:, 1], value)


@row("ReverseSequence: x lengths; seq_dim:axis batch_dim:batch")
def _(x: Any, lengths: Any, axis: int, batch: int) -> Any:
    rank, size = len(x.shape), dims_of(x)[axis]
    places = ops.arange(size)
    lengths = ops.expand_dims(ops.cast(lengths, "int32"), -1)
    places = ops.where(ops.less(places, lengths), lengths - 1 - places, places)  # (batch, steps)
    shape = [1] * rank
    shape[batch], shape[axis] = dims_of(x)[batch], size
    places = places if batch < axis else ops.transpose(places)
    return ops.take_along_axis(x, ops.broadcast_to(ops.reshape(places, shape), dims_of(x)), axis)
