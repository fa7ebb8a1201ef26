"""Shapes, slices, and tensors that are made of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import need_operations
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import counted, filled, is_tensor, recorded, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.table import row
from dovetail.formats.onnx.tensors import OPEN_ENDS, RANKS
from dovetail.graph.shape_values import known_ints
from dovetail.ops.shapes.shape import dims_of

END = 2**31 - 1  # an index behind all elements


def scalar(value: Any) -> Any:
    """A number that is an input marked `?`."""
    return value[0] if isinstance(value, list) else ops.reshape(value, [])


@row("Shape: x; start end")
def _(x: Any, start: int = 0, end: int | None = None) -> Any:
    return ops.cast(ops.shape(x)[start:end], "int64")


@row("Size: x")
def _(x: Any) -> Any:
    return ops.prod(ops.cast(ops.shape(x), "int64"))


@row("Reshape: x shape?; allowzero")
def _(x: Any, shape: Any, allowzero: int = 0) -> Any:
    """Zeros in the shape stand for the sizes of the input."""
    dims = dims_of(x)
    if is_tensor(shape):
        if allowzero:
            return ops.reshape(x, shape)
        count = shape.shape[0]
        if count is None or count > RANKS:
            raise Unreadable(f"the number of axes of its result is not known, or above {RANKS}")
        known = list(known_ints(shape) or [None] * count)
        if known.count(None) == 1 and not {0, -1} & {*known}:
            shape = [-1 if size is None else size for size in known]
        else:
            sizes = ops.stack([ops.cast(dim, "int32") for dim in [*dims, *[1] * count][:count]])
            return ops.reshape(x, ops.where(ops.equal(shape, 0), sizes, ops.cast(shape, "int32")))
    if not allowzero and 0 in shape:
        shape = [dims[i] if size == 0 else size for i, size in enumerate(shape)]
    return ops.reshape(x, shape)


@row("Expand: x shape?")
def _(x: Any, shape: Any) -> Any:
    if is_tensor(shape):
        return x * ops.ones(shape, x.dtype) if not x.dtype.is_bool else ops.logical_and(x, ops.ones(shape, "bool"))
    missing = len(shape) - len(x.shape)
    dims = [*[1] * missing, *dims_of(x)]
    shape = [*[1] * -missing, *shape]
    return ops.broadcast_to(x, [dim if size == 1 else size for dim, size in zip(dims, shape, strict=True)])


@row("Slice 1-9: x; starts ends axes", "Slice 10: x starts! ends! axes! steps!")
def _(x: Any, starts: Sequence[int], ends: Sequence[int], axes: Any = None, steps: Any = None) -> Any:
    item: list[Any] = [slice(None)] * len(x.shape)
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


@row("Split 1-12: x; axis split:sizes outputs:count", "Split 13: x sizes?; axis outputs:count")
def _(x: Any, sizes: Any = None, axis: int = 0, count: int = 1) -> Any:
    if sizes is None:
        whole = dims_of(x)[axis]
        each = -(-whole // count)
        sizes = [less(each, whole - i * each) for i in range(count)]
    return OPS["SplitV"](x, numbers(sizes), axis)


def numbers(values: Any, dtype: str = "int32") -> list[Any]:
    """The numbers of an input marked `?`: as they are, and tensors of a dtype for those that are not known.

    Raises:
        Unreadable: their number is not known.
    """
    if not is_tensor(values):
        return list(values)
    if values.shape[0] is None:
        raise Unreadable("the size of an input that gives sizes is not known")
    known = known_ints(values) or [None] * values.shape[0]
    need_operations(len(known))
    return [ops.cast(values[i], dtype) if one is None else one for i, one in enumerate(known)]


def more(a: Any, b: Any) -> Any:
    """The larger one of two numbers, which may be tensors."""
    return ops.maximum(a, b) if is_tensor(a) or is_tensor(b) else max(a, b)


def less(a: Any, b: Any) -> Any:
    """The smaller one of two numbers, which may be tensors."""
    return ops.minimum(a, b) if is_tensor(a) or is_tensor(b) else min(a, b)


@row("Pad 2-10: x; pads value mode", "Pad 11: x pads? value axes?; mode")
def _(x: Any, pads: Any, value: Any = 0, axes: Any = None, mode: str = "constant") -> Any:
    pads = numbers(pads)
    rank, count = len(x.shape), len(pads) // 2
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


@row("Trilu: x k!; upper")
def _(x: Any, k: int = 0, upper: int = 1) -> Any:
    k = k[0] if isinstance(k, list) else k
    wide = ops.cast(x, "int32") if x.dtype.is_bool else x
    part = ops.triu(wide, k) if upper else ops.tril(wide, k)
    return ops.cast(part, x.dtype)


@row("DepthToSpace: x; blocksize:size mode")
def _(x: Any, size: int, mode: str = "DCR") -> Any:
    n, c, h, w = dims_of(x)
    if mode == "DCR":
        x = ops.transpose(ops.reshape(x, [n, size, size, c // (size * size), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        x = ops.transpose(ops.reshape(x, [n, c // (size * size), size, size, h, w]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(x, [n, c // (size * size), h * size, w * size])


@row("SpaceToDepth: x; blocksize:size mode")
def _(x: Any, size: int, mode: str = "DCR") -> Any:
    n, c, h, w = dims_of(x)
    x = ops.reshape(x, [n, c, h // size, size, w // size, size])
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    return ops.reshape(ops.transpose(x, order), [n, c * size * size, h // size, w // size])


@row("CenterCropPad: x shape?; axes")
def _(x: Any, shape: Any, axes: Any = None) -> Any:
    rank, dims = len(x.shape), dims_of(x)
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


__all__ = ["filled", "less", "more", "numbers", "reversed_rows", "scalar"]
