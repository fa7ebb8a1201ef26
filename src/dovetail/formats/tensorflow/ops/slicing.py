"""Parts of tensors, and more around them: Slice, StridedSlice, Pad, MirrorPad, ReverseV2, ReverseSequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import known_size
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.gradients import blank, through
from dovetail.formats.tensorflow.ops.shapes import element, has
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("""
Slice: x start? size?
MirrorPad: x paddings!; mode@lower
ReverseV2: x axis!
StridedSlice < StridedSlice: x begin? end? strides?;
    begin_mask end_mask ellipsis_mask=0 new_axis_mask=0 shrink_axis_mask
StridedSliceGrad < StridedSliceGrad: shape? begin? end? strides? g;
    begin_mask end_mask ellipsis_mask=0 new_axis_mask=0 shrink_axis_mask
""")


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
    return x[tuple(map(item, range(len(begin) if isinstance(begin, list) else known_size(begin, 0))))]


@row(
    "StridedSliceGrad: shape? begin? end? strides? g; begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask"
)
def _(shape: Any, begin: Any, end: Any, strides: Any, g: Any, **masks: int) -> Any:
    return through(lambda x: strided_slice(x, begin, end, strides, **masks), g, blank(g, shape))


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


@row("MirrorPadGrad: g paddings!; mode@lower")
def _(g: Any, paddings: Any, mode: str) -> Any:
    inside = tuple(slice(low, dim - high) for (low, high), dim in zip(paddings, dims_of(g), strict=True))
    return through(lambda x: OPS["MirrorPad"](x, paddings, mode), g, g[inside])


@row("ReverseSequence: x lengths; seq_dim:axis batch_dim:batch")
def _(x: Any, lengths: Any, axis: int, batch: int) -> Any:
    rank, size = rank_of(x), dims_of(x)[axis]
    places = ops.arange(size)
    lengths = ops.expand_dims(ops.cast(lengths, "int32"), -1)
    places = ops.where(ops.less(places, lengths), lengths - 1 - places, places)  # (batch, steps)
    shape = [1] * rank
    shape[batch], shape[axis] = dims_of(x)[batch], size
    places = places if batch < axis else ops.transpose(places)
    return ops.take_along_axis(x, ops.broadcast_to(ops.reshape(places, shape), dims_of(x)), axis)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("PadV2")
def _pad(place: Place, x: Ref, low: Any, high: Any, value: Any) -> list[Ref]:
    if isinstance(low, Ref) or isinstance(high, Ref) or place.held.keys() & {"low", "high"}:
        ends = [place.taken(low, "low"), place.taken(high, "high")]
        paddings = place.node("Pack", ends, dtype="int32", axis=1)
    else:
        paddings = place.constant(np.stack([low, high], 1).astype("int32").reshape(-1, 2), "paddings")
    return place.result("PadV2", x, paddings, place.constant(value, "value", x.dtype))


@body("ReverseV2", has("axis", int))
def _reverse(op: Any, x: Any, axis: int) -> Any:
    return op(x, (axis,))
