"""Parts of tensors, and more around them: Slice, Pad, CenterCropPad, ReverseSequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import counted, is_tensor, recorded, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.ops.constants import same
from dovetail.formats.onnx.ops.shapes import moved
from dovetail.formats.onnx.sizes import more, numbers
from dovetail.formats.onnx.table import body, by_values, row, special, writes
from dovetail.formats.onnx.tensors import OPEN_ENDS
from dovetail.formats.onnx.written_nodes import LAST, Place, Ref
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

special("Slice Pad")(moved)


# -- reading ----------------------------------------------------------------------------------------------------------

END = 2**31 - 1  # an index behind all elements


@row("Slice 1-9: x; starts ends axes", "Slice 10: x starts! ends! axes! steps!")
def _(x: Any, starts: Sequence[int], ends: Sequence[int], axes: Any = None, steps: Any = None) -> Any:
    item: list[Any] = [slice(None)] * rank_of(x)
    axes = axes or range(len(starts))
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts), strict=True):
        first: Any = None if step < 0 and start >= END else max(start, -END)
        if step < 0 and -END < start < -1:  # NumPy takes none where it is before the first element
            size = dims_of(x)[axis]
            first = max(start, -size) if isinstance(size, int) else ops.maximum(start, -size)
        is_whole = end >= END if step > 0 else end <= -END or end in OPEN_ENDS
        last = None if is_whole else max(-END, min(END, end))
        item[axis] = slice(first, last, step)
    return x[tuple(item)]


@row("Pad 2-10: x; pads value mode", "Pad 11: x pads? value axes?; mode")
def _(x: Any, pads: Any, value: Any = 0, axes: Any = None, mode: str = "constant") -> Any:
    pads = numbers(pads)
    rank, count = rank_of(x), len(pads) // 2
    low, high = list[Any]([0] * rank), list[Any]([0] * rank)
    if is_tensor(axes):  # each axis looks for its widths
        own = [ops.stack([ops.cast(one, "int32") for one in part]) for part in (pads[:count], pads[count:])]
        for axis in range(rank):
            is_own = ops.equal(ops.cast(axes, "int32") % rank, axis)
            low[axis], high[axis] = (ops.sum(ops.where(is_own, part, 0)) for part in own)
        axes = range(rank)
    else:
        axes = [axis % rank for axis in (axes or range(count))]
        for i, axis in enumerate(axes):
            low[axis], high[axis] = pads[i], pads[i + count]
    if mode in ("edge", "wrap", "reflect"):
        x, widths = _cut(x, low, high)
        for axis in axes:
            x = _mirrored(x, axis, widths[axis], mode)
        return x
    return _around(x, low, high, value)


def _around(x: Any, low: Sequence[Any], high: Sequence[Any], value: Any = 0) -> Any:
    """A tensor with other elements around it; negative widths cut it."""
    x, widths = _cut(x, low, high)
    if x.dtype.is_bool:
        return ops.cast(ops.pad(ops.cast(x, "int32"), widths, "constant", _number(value, "int32")), "bool")
    return ops.pad(x, widths, "constant", _number(value, x.dtype))


def _cut(x: Any, low: Sequence[Any], high: Sequence[Any]) -> tuple[Any, list[tuple[Any, Any]]]:
    """A tensor without the elements that negative widths cut, and the other widths."""
    cuts = [(more(-a, 0), more(-b, 0)) for a, b in zip(low, high, strict=True)]
    ends = (None if isinstance(b, int) and b == 0 else dim - b for dim, (_, b) in zip(dims_of(x), cuts, strict=True))
    x = x[tuple(slice(a, end) for (a, _), end in zip(cuts, ends, strict=True))]
    return x, [(more(a, 0), more(b, 0)) for a, b in zip(low, high, strict=True)]


@by_values("Slice")
def _slice_by_values(node: Node) -> Any:
    """The elements from starts to ends, by their places along each axis."""
    x = node.tensor(0)
    starts, ends = (ops.cast(node.tensor(i), "int64") for i in (1, 2))
    count = known_dims(starts)[0] if known_dims(starts)[0] is not None else known_dims(ends)[0]
    axes = node.known(3) if node.has(3) else None
    if count is None or (node.has(3) and axes is None and count > 1):
        raise Unreadable("the axes that it cuts are not known")
    steps: Any = ops.cast(node.tensor(4), "int64") if node.has(4) else [1] * count
    if axes is None and node.has(3):
        only = ops.reshape(ops.cast(node.tensor(3), "int32"), []) % rank_of(x)
        places = range(rank_of(x))
        cuts = [lambda axis=axis: _along(x, axis, starts[0], ends[0], steps[0]) for axis in places]
        return ops.switch_case(only, cuts)
    for i, axis in enumerate(range(count) if axes is None else axes.reshape(-1).tolist()):
        x = _along(x, axis, starts[i], ends[i], steps[i])
    return x


def _along(x: Any, axis: int, start: Any, end: Any, step: Any) -> Any:
    size = dims_of(x)[axis]
    size = ops.cast(size, "int64") if is_tensor(size) else np.int64(size)
    is_forth = ops.greater(step, 0)
    is_whole = ops.logical_and(ops.any(ops.equal(end, OPEN_ENDS)), ops.less(step, 0))
    end = ops.where(is_whole, -1 - size, end)
    start, end = (ops.where(ops.less(one, 0), one + size, one) for one in (start, end))
    start = ops.where(is_forth, ops.clip(start, 0, size), ops.clip(start, 0, size - 1))
    end = ops.where(is_forth, ops.clip(end, 0, size), ops.clip(end, -1, size - 1))
    return OPS["GatherV2"](x, ops.arange(start, end, ops.cast(step, "int64")), axis)


def _number(value: Any, dtype: Any) -> Any:
    return ops.cast(ops.reshape(value, []), dtype) if is_tensor(value) else value


def _mirrored(x: Any, axis: int, widths: tuple[Any, Any], mode: str) -> Any:
    """A tensor that goes on along an axis by its own elements."""
    low, high = widths
    size = dims_of(x)[axis]
    is_known = isinstance(low + size + high, int)
    within(low + size + high)
    module: Any = np if is_known else ops
    places = module.arange(low + size + high) - low
    if mode == "edge":
        places = module.clip(places, 0, size - 1)
    elif mode == "wrap":
        places = places % size
    else:
        places = abs((places + size - 1) % more(2 * size - 2, 1) - size + 1)
    return OPS["GatherV2"](x, recorded(places, "int32") if is_known else places, axis)


@row("CenterCropPad: x shape?; axes")
def _(x: Any, shape: Any, axes: Any = None) -> Any:
    rank, dims = rank_of(x), dims_of(x)
    low, high = [0] * rank, [0] * rank
    for axis, size in zip(axes or range(rank), numbers(shape), strict=True):
        spare = size - dims[axis]
        low[axis] = more(spare, 0) // 2 - more(-spare, 0) // 2
        high[axis] = spare - low[axis]
    return _around(x, low, high)


@row("ReverseSequence: x lengths; batch_axis time_axis")
def reversed_rows(x: Any, lengths: Any, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """The first elements of each row backwards, as many as its length says."""
    rows = ops.moveaxis(x, [batch_axis, time_axis], [0, 1])
    dims = dims_of(rows)
    places, ends = counted(dims[1]), ops.cast(ops.reshape(lengths, [-1, 1]), "int32")
    order = ops.where(ops.less(places, ends), ends - 1 - places, places)
    order = ops.reshape(order, [*dims[:2], *[1] * (len(dims) - 2)])
    turned = OPS["TakeAlongAxis"](rows, ops.broadcast_to(order, dims), 1)
    return ops.moveaxis(turned, [0, 1], [batch_axis, time_axis])


# -- writing ----------------------------------------------------------------------------------------------------------

SHORT = 2**31 - 2  # an index behind all elements that ONNX Runtime does not take for none


@writes("StridedSlice")
def _strided_slice(
    place: Place, x: Ref, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, shrink: int
) -> list[Ref]:
    if any(isinstance(one, Ref) for one in (begin, end, strides)):
        block = _slice_at(place, x, begin, end, strides, (begin_mask, end_mask, shrink))
    else:
        block = _slice_static(place, x, begin, end, strides, (begin_mask, end_mask, shrink))
    axes = [axis for axis in range(64) if shrink >> axis & 1]
    if axes:
        return place.result("Squeeze", block, place.constant(axes))
    return [block]


def _slice_static(place: Place, x: Ref, begin: Any, end: Any, strides: Any, masks: tuple[int, int, int]) -> Ref:
    starts, ends, axes, steps = [], [], [], []
    dims: Any = place.operation.inputs[0].shape
    for axis, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        no_begin, no_end, is_one = (mask >> axis & 1 for mask in masks)
        if no_begin and no_end and step == 1 and not is_one:
            continue
        if is_one:
            first, last, step, no_begin, no_end = first, (first + 1) or LAST, 1, 0, 0
        if step < 0 and not no_begin and first < 0:
            size = dims[axis]
            if size is None and first < -1:  # whether it is before the first element depends on the size
                return _slice_at(place, x, begin, end, strides, masks)
            if size is not None and first < -size:  # ONNX would begin at the first element
                first = last = no_end = 0
        if step < 0:
            last = min(last, SHORT)
        starts.append((0 if step > 0 else LAST) if no_begin else first)
        ends.append((LAST if step > 0 else -LAST) if no_end else last)
        axes.append(axis)
        steps.append(step)
    return place.node("Slice", x, *map(place.constant, (starts, ends, axes, steps))) if axes else x


def _slice_at(place: Place, x: Ref, begin: Any, end: Any, strides: Any, masks: tuple[int, int, int]) -> Ref:
    """A slice whose ends are values of the graph."""
    count = next(
        t.shape[0] if isinstance(one, Ref) else len(one)
        for one, t in _with_tensors(place, (begin, end, strides))
        if not isinstance(one, Ref) or t.shape
    )
    no_begin, no_end, is_one = ([mask >> axis & 1 for axis in range(count)] for mask in masks)
    starts, ends, steps = (place.ints(one) for one in (begin, end, strides))
    ahead = place.node("Greater", steps, place.constant([0]), dtype="bool")

    def chosen(flags: Sequence[int], yes: Ref, no: Ref) -> Ref:
        return place.node("Where", place.constant(flags, "bool"), yes, no, dtype="int64") if any(flags) else no

    zero, last, least, one, short = (place.constant([n]) for n in (0, LAST, -LAST, 1, SHORT))
    next_one = place.node("Add", starts, one)
    after = place.node("Where", place.node("Equal", next_one, zero, dtype="bool"), last, next_one, dtype="int64")
    starts = chosen(no_begin, place.node("Where", ahead, zero, last, dtype="int64"), starts)
    ends = chosen(no_end, place.node("Where", ahead, last, least, dtype="int64"), ends)
    ends = chosen(is_one, after, ends)
    if isinstance(strides, Ref) or min(strides) < 0:  # none from before the first element; ONNX would begin at it
        size = place.node("Slice", place.shape(x), zero, place.constant([count]))
        before = place.node("Less", starts, place.node("Neg", size), dtype="bool")
        before = place.node("And", before, place.node("Less", steps, zero, dtype="bool"), dtype="bool")
        ends = place.node("Where", place.node("Less", steps, zero, dtype="bool"), place.node("Min", ends, short), ends)
        starts, ends = (place.node("Where", before, zero, value, dtype="int64") for value in (starts, ends))
    return place.node("Slice", x, starts, ends, place.constant([*range(count)]), chosen(is_one, one, steps))


def _with_tensors(place: Place, values: Sequence[Any]) -> Any:
    tensors = dict(zip((ref.text for ref in place.inputs), place.operation.inputs, strict=True))
    return [(value, tensors.get(value.text) if isinstance(value, Ref) else None) for value in values]


@writes("Slice")
def _slice(place: Place, x: Ref, start: Ref, size: Any) -> list[Ref]:
    begin = place.ints(start)
    return place.result("Slice", x, begin, place.node("Add", begin, place.ints(size)))


writes("PadV2", lambda operation: operation.inputs[0].shape == ())(same)


@writes("PadV2")
def _pad(place: Place, x: Ref, low: Any, high: Any, value: Any) -> list[Ref]:
    pads = place.constant([*low, *high]) if not isinstance(low, Ref) and not isinstance(high, Ref) else None
    pads = pads or place.node("Concat", [place.ints(low), place.ints(high)], axis=0)
    return place.result("Pad", x, pads, place.constant(value, x.dtype))


@body("StridedSliceGrad")
def _scattered(op: Any, g: Any, shape: Any, begin: Any, end: Any, strides: Any, *masks: int) -> Any:
    """The numbers of the positions are sliced, and the gradient put there among zeros."""
    sizes = ops.convert(shape, dtype="int32")
    count = ops.prod(sizes)
    places = OPS["StridedSlice"](ops.reshape(OPS["Iota"](count), shape), begin, end, strides, *masks)
    zeros = OPS["Fill"](ops.reshape(count, (1,)), ops.zeros((), g.dtype))
    flat = OPS["TensorScatterUpdate"](zeros, ops.reshape(places, (-1, 1)), ops.reshape(g, (-1,)))
    return ops.reshape(flat, shape)
