"""Shapes, slices, and tensors that are made of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.constants import counted, filled, is_tensor, recorded, within
from dovetail.formats.onnx.rows import row
from dovetail.formats.onnx.tensors import RANKS
from dovetail.formats.opaque import Unreadable
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
        last = None if (end >= END if step > 0 else end <= -END) else max(-END, min(END, end))
        item[axis] = slice(first, last, step)
    return x[tuple(item)]


@row("Split 1-12: x; axis split:sizes outputs:count", "Split 13: x sizes!; axis outputs:count")
def _(x: Any, sizes: Any = None, axis: int = 0, count: int = 1) -> Any:
    if sizes is None:
        whole = x.shape[axis]
        if whole is None:
            raise Unreadable("the size of the axis must be known")
        each = -(-whole // count)
        sizes = [min(each, whole - i * each) for i in range(count)]
    return OPS["SplitV"](x, sizes, axis)


@row("Pad 2-10: x; pads value mode", "Pad 11: x pads! value axes!; mode")
def _(x: Any, pads: Sequence[int], value: Any = 0, axes: Any = None, mode: str = "constant") -> Any:
    rank, count = len(x.shape), len(pads) // 2
    axes = [axis % rank for axis in (axes or range(count))]
    low, high = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + count]
    if mode in ("edge", "wrap", "reflect"):
        for axis in axes:
            x = _mirrored(x, axis, low[axis], high[axis], mode)
        return x
    x = x[tuple(slice(max(-a, 0), -max(-b, 0) or None) for a, b in zip(low, high, strict=True))]
    widths = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    if x.dtype.is_bool:
        return ops.cast(ops.pad(ops.cast(x, "int32"), widths, "constant", _number(value, "int32")), "bool")
    return ops.pad(x, widths, "constant", _number(value, x.dtype))


def _number(value: Any, dtype: Any) -> Any:
    return ops.cast(ops.reshape(value, []), dtype) if is_tensor(value) else value


def _mirrored(x: Any, axis: int, low: int, high: int, mode: str) -> Any:
    """A tensor that goes on along an axis by its own elements."""
    size = x.shape[axis]
    if size is None:
        raise Unreadable("the size of an axis must be known")
    within(low + size + high)
    places = np.arange(-low, size + high)
    if mode == "edge":
        places = places.clip(0, size - 1)
    elif mode == "wrap":
        places = places % size
    elif size > 1:
        places = np.abs((places + size - 1) % (2 * size - 2) - size + 1)
    else:
        places = np.zeros_like(places)
    return OPS["GatherV2"](x, recorded(places, "int32"), axis)


@row("Trilu: x k!; upper")
def _(x: Any, k: int = 0, upper: int = 1) -> Any:
    k = k[0] if isinstance(k, list) else k
    wide = ops.cast(x, "int32") if x.dtype.is_bool else x
    found = ops.triu(wide, k) if upper else ops.tril(wide, k)
    return ops.cast(found, x.dtype)


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


@row("CenterCropPad: x shape!; axes")
def _(x: Any, shape: Sequence[int], axes: Any = None) -> Any:
    for axis, size in zip(axes or range(len(x.shape)), shape, strict=True):
        known = x.shape[axis]
        if known is None:
            raise Unreadable("the size of an axis must be known")
        item: list[Any] = [slice(None)] * len(x.shape)
        widths = [(0, 0)] * len(x.shape)
        if known > size:
            first = (known - size) // 2
            item[axis] = slice(first, first + size)
        else:
            widths[axis] = ((size - known) // 2, size - known - (size - known) // 2)
        x = ops.pad(x[tuple(item)], widths)
    return x


@row("ReverseSequence: x lengths; batch_axis time_axis")
def _(x: Any, lengths: Any, batch_axis: int = 1, time_axis: int = 0) -> Any:
    rows = ops.moveaxis(x, [batch_axis, time_axis], [0, 1])
    dims = dims_of(rows)
    places, ends = counted(dims[1]), ops.cast(ops.reshape(lengths, [-1, 1]), "int32")
    order = ops.where(ops.less(places, ends), ends - 1 - places, places)
    order = ops.reshape(order, [*dims[:2], *[1] * (len(dims) - 2)])
    found = OPS["TakeAlongAxis"](rows, ops.broadcast_to(order, dims), 1)
    return ops.moveaxis(found, [0, 1], [batch_axis, time_axis])


__all__ = ["filled", "scalar"]
