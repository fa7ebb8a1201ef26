"""Convolutions and pools, whose channels are the second axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import counted, is_tensor, recorded, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.waiting import wait_for
from dovetail.formats.onnx.ops.shapes import more
from dovetail.formats.onnx.table import row
from dovetail.ops.shapes.shape import dims_of

FIRST = "channels_first"
WINDOW = "kernel_shape:size strides dilations pads auto_pad:auto"


def paddings(
    x: Any, size: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Any, auto: str
) -> list[tuple[Any, Any]]:
    """The widths before and after each spatial axis.

    Raises:
        Unreadable: they wait for sizes.
    """
    rank = len(size)
    if auto in ("NOTSET", "VALID"):
        pads = pads if pads and auto == "NOTSET" else [0] * 2 * rank
        return list(zip(pads[:rank], pads[rank:], strict=True))
    widths = []
    for i in range(rank):
        reach, length = (size[i] - 1) * dilations[i] + 1, dims_of(x)[2 + i]
        if is_tensor(length) and strides[i] > 1:
            wait_for("its padding depends on a size that is not known")
        is_fixed = is_tensor(length) and strides[i] == 1
        whole = reach - 1 if is_fixed else more((-(-length // strides[i]) - 1) * strides[i] + reach - length, 0)
        small, large = whole // 2, whole - whole // 2
        widths.append((small, large) if auto == "SAME_UPPER" else (large, small))
    return widths


@row(f"Conv: x kernel bias; {WINDOW} group")
def convolved(
    x: Any,
    kernel: Any,
    bias: Any = None,
    size: Any = None,
    strides: Any = None,
    dilations: Any = None,
    pads: Any = None,
    auto: str = "NOTSET",
    group: int = 1,
) -> Any:
    """A convolution; groups are those whose number the channels and the kernel's inputs give."""
    rank = len(kernel.shape) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    widths = paddings(x, size or kernel.shape[2:], strides, dilations, pads, auto)
    if any(map(is_tensor, itertools.chain(*widths))):
        x, widths = ops.pad(x, [(0, 0), (0, 0), *widths]), [(0, 0)] * rank
    if x.shape[1] is None and group > 1:  # else nobody could tell the groups
        batch, _, *sizes = dims_of(x)
        x = ops.reshape(x, [batch, kernel.shape[1] * group, *sizes])
    kernel = ops.transpose(kernel, [*range(2, rank + 2), 1, 0])
    if rank > 3:
        raise Unreadable(f"it has {rank} spatial axes, and Dovetail computes at most 3")
    images = ops.conv(x, kernel, tuple(strides), widths, FIRST, tuple(dilations))
    return images if bias is None else images + ops.reshape(bias, [1, -1, *[1] * rank])


@row(f"ConvTranspose: x kernel bias; {WINDOW} group output_padding:extra output_shape:shape")
def _(
    x: Any,
    kernel: Any,
    bias: Any = None,
    size: Any = None,
    strides: Any = None,
    dilations: Any = None,
    pads: Any = None,
    auto: str = "NOTSET",
    group: int = 1,
    extra: Any = None,
    shape: Any = None,
) -> Any:
    rank = len(kernel.shape) - 2
    strides, dilations, extra = strides or [1] * rank, dilations or [1] * rank, extra or [0] * rank
    size = list(kernel.shape[2:])
    sizes: list[Any] = dims_of(x)[2:]
    full = [(sizes[i] - 1) * strides[i] + (size[i] - 1) * dilations[i] + 1 + extra[i] for i in range(rank)]
    if shape or auto.startswith("SAME"):
        less = [(size[i] - 1) * dilations[i] + 1 + extra[i] - strides[i] for i in range(rank)]
        cut = [full[i] - wanted for i, wanted in enumerate(list(shape)[-rank:])] if shape else less
        if not all(isinstance(number, int) for number in cut):
            raise Unreadable("its padding depends on a size that is not known")
        low = [max(number, 0) - max(number, 0) // 2 if auto != "SAME_UPPER" else max(number, 0) // 2 for number in cut]
        high = [max(number, 0) - one for number, one in zip(cut, low, strict=True)]
        spare = [max(-number, 0) for number in cut]
    else:
        pads = pads or [0] * 2 * rank
        low, high, spare = pads[:rank], pads[rank:], [0] * rank
    exact = [f - e for f, e in zip(full, extra, strict=True)]
    pairs = zip(ops.split(x, group, 1), ops.split(kernel, group, 0), strict=True) if group > 1 else [(x, kernel)]
    parts = [enlarged(one, part, strides, dilations, exact) for one, part in pairs]
    result = parts[0] if group == 1 else ops.concatenate(parts, 1)
    result = ops.pad(result, [(0, 0), (0, 0), *((0, e + s) for e, s in zip(extra, spare, strict=True))])
    result = result[(slice(None), slice(None), *(slice(a, -b or None) for a, b in zip(low, high, strict=True)))]
    return result if bias is None else result + ops.reshape(bias, [1, -1, *[1] * rank])


def enlarged(x: Any, kernel: Any, strides: Any, dilations: Any, full: Any) -> Any:
    """The gradient of a convolution without padding."""
    rank = len(full)
    kernel = ops.transpose(kernel, [*range(2, rank + 2), 1, 0])
    shape = [dims_of(x)[0], dims_of(kernel)[-2], *full]
    return ops.conv_transpose(x, kernel, tuple(strides), "valid", None, FIRST, tuple(dilations), shape)


# -- pools ------------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A window of a pool: a number for each axis, and the widths before and after it."""

    size: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    widths: Sequence[tuple[Any, Any]]

    @property
    def is_padded(self) -> bool:
        """Whether some width is not 0, or may not be."""
        return any(is_tensor(width) or width for width in itertools.chain(*self.widths))


def _window(
    x: Any, size: Any, strides: Any = None, dilations: Any = None, pads: Any = None, auto: Any = "NOTSET"
) -> Any:
    """The window that the attributes of a pool say."""
    strides, dilations = strides or [1] * len(size), dilations or [1] * len(size)
    return Window(size, strides, dilations, paddings(x, size, strides, dilations, pads, auto))


def _windows(x: Any, window: Window, ceil: int) -> list[Any]:
    """The positions along each axis that each window has: arrays, or tensors where sizes are not known.

    Raises:
        Unreadable: they wait for sizes.
    """
    size, strides, dilations, widths = window
    places = list[Any]()
    for i, length in enumerate(dims_of(x)[2:]):
        low, high = widths[i]
        reach = (size[i] - 1) * dilations[i] + 1
        spare = length + low + high - reach
        count = (-(-spare // strides[i]) if ceil else spare // strides[i]) + 1
        if is_tensor(count):
            wait_for("the sizes of its input must be known")
            is_behind = ops.greater_equal((count - 1) * strides[i], length + low)
            count = count - ops.cast(is_behind, count.dtype) if ceil else count
            within(size[i])
            inside = np.arange(size[i], dtype="int32") * np.int32(dilations[i])
            places.append(ops.expand_dims(counted(count), 1) * strides[i] - low + inside)
            continue
        if ceil and (count - 1) * strides[i] >= length + low:
            count -= 1  # the last window would begin behind the input
        within(count, size[i])
        places.append(np.arange(count)[:, None] * strides[i] - low + np.arange(size[i]) * dilations[i])
    return places


def _computing(places: Any) -> Any:
    """NumPy, or the ops, if some positions are not known."""
    return ops if any(map(is_tensor, places)) else np


def _taken(x: Any, places: Any, fill: Any) -> Any:
    """The elements of windows: (batch, channels, windows..., elements...)."""
    sizes = dims_of(x)[2:]
    low = [more(-one[0, 0], 0) if one.shape[0] != 0 else 0 for one in places]
    high = [more(one[-1, -1] + 1 - n, 0) if one.shape[0] != 0 else 0 for one, n in zip(places, sizes, strict=True)]
    x = ops.pad(x, [(0, 0), (0, 0), *zip(low, high, strict=True)], "constant", fill)
    for i, one in enumerate(places):  # each axis becomes two: the windows, and the elements of one
        at = _held(_computing(places).reshape(one + low[i], [-1]), "int32")
        axis = 2 + 2 * i
        x = OPS["GatherV2"](x, at, axis)
        dims = dims_of(x)
        x = ops.reshape(x, [*dims[:axis], *dims_of(one), *dims[axis + 1 :]])
    rank = len(places)
    return ops.transpose(x, [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)])


def _held(value: Any, dtype: Any) -> Any:
    """An array as a constant, or a tensor, of a dtype."""
    return ops.cast(value, dtype) if is_tensor(value) else recorded(value, dtype)


def _is_plain(x: Any, window: Window, ceil: int) -> bool:
    """Whether Dovetail's pools have such windows."""
    size, strides, dilations, widths = window
    if len(size) > 3 or set(dilations) != {1} or not x.dtype.is_floating:
        return False
    return not ceil or all(
        length is not None and (length + low + high - n) % s == 0
        for length, n, s, (low, high) in zip(x.shape[2:], size, strides, widths, strict=True)
    )


@row(f"MaxPool: x; {WINDOW} ceil_mode:ceil storage_order outputs")
def _(x: Any, ceil: int = 0, storage_order: int = 0, outputs: int = 1, **given: Any) -> Any:
    """The largest element of each window, and its place in the flat input."""
    window = _window(x, **given)
    rank = len(window.size)
    lowest = -float("inf") if x.dtype.is_floating else x.dtype.min
    is_plain = _is_plain(x, window, ceil)
    axes = [*range(2 + rank, 2 + 2 * rank)]
    if is_plain and not window.is_padded:
        largest = ops.max_pool(x, tuple(window.size), tuple(window.strides), "valid", FIRST)
    elif is_plain:
        wide = ops.pad(x, [(0, 0), (0, 0), *window.widths], "constant", lowest)
        largest = ops.max_pool(wide, tuple(window.size), tuple(window.strides), "valid", FIRST)
    else:
        places = _windows(x, window, ceil)
        largest = ops.max(_taken(x, places, lowest), axes)
    if outputs == 1:
        return [largest]
    return [largest, _largest_at(x, _windows(x, window, ceil), lowest, storage_order)]


def _largest_at(x: Any, places: Any, lowest: Any, storage_order: int) -> Any:
    """The places of the largest elements of windows in the flat input."""
    taken = _taken(x, places, lowest)
    rank, sizes, xp = len(places), dims_of(x)[2:], _computing(places)
    dims = dims_of(taken)
    flat = ops.argmax(ops.reshape(taken, [*dims[: 2 + rank], -1]), -1)
    steps = [math.prod(sizes[:i]) if storage_order else math.prod(sizes[i + 1 :]) for i in range(rank)]
    within(*(one.size for one in places if isinstance(one, np.ndarray)))
    grid: Any = 0
    for i, one in enumerate(places):
        shape: list[Any] = [1] * (2 * rank)
        shape[i], shape[rank + i] = dims_of(one)
        grid = grid + xp.reshape(one * steps[i], shape)
    grid = _held(xp.reshape(grid, [1, 1, *dims_of(grid)[:rank], -1]), "int64")
    shape = [*dims[: 2 + rank], dims_of(grid)[-1]]
    at = OPS["TakeAlongAxis"](ops.broadcast_to(grid, shape), ops.expand_dims(flat, -1), -1)
    batch, channels = dims_of(x)[:2]
    first = ops.reshape(ops.cast(counted(batch * channels), "int64"), [batch, channels, *[1] * rank])
    return ops.squeeze(at, -1) + first * math.prod(sizes)


@row(f"AveragePool: x; {WINDOW} ceil_mode:ceil count_include_pad:padded")
def averaged(x: Any, ceil: int = 0, padded: int = 0, **given: Any) -> Any:
    """The mean of each window."""
    window = _window(x, **given)
    rank = len(window.size)
    if _is_plain(x, window, ceil) and (padded or not window.is_padded):
        wide = ops.pad(x, [(0, 0), (0, 0), *window.widths]) if window.is_padded else x
        return ops.average_pool(wide, tuple(window.size), tuple(window.strides), "valid", FIRST)
    places = _windows(x, window, ceil)
    axes = [*range(2 + rank, 2 + 2 * rank)]
    count: Any = 1
    for i, (one, (low, high)) in enumerate(zip(places, window.widths, strict=True)):
        length, xp = dims_of(x)[2 + i], _computing([one])
        first, last = (-low, length + high) if padded else (0, length)
        inside = xp.sum(xp.where(xp.logical_and(one >= first, one < last), 1, 0), 1)
        count = count * _held(xp.reshape(inside, [-1 if i == axis else 1 for axis in range(rank)]), x.dtype)
    return ops.sum(_taken(x, places, 0), axes) / count


@row(f"LpPool: x; {WINDOW} ceil_mode:ceil p")
def _(x: Any, ceil: int = 0, p: int = 2, **given: Any) -> Any:
    window = _window(x, **given)
    rank = len(window.size)
    places = _windows(x, window, ceil)
    total = ops.sum(ops.power(ops.absolute(_taken(x, places, 0)), float(p)), [*range(2 + rank, 2 + 2 * rank)])
    return ops.power(total, 1 / p)


@row("GlobalMaxPool: x")
def _(x: Any) -> Any:
    return ops.max(x, [*range(2, len(x.shape))], True)


@row("GlobalAveragePool: x")
def _(x: Any) -> Any:
    return ops.mean(x, [*range(2, len(x.shape))], True)


@row("GlobalLpPool: x; p")
def _(x: Any, p: int = 2) -> Any:
    total = ops.sum(ops.power(ops.absolute(x), float(p)), [*range(2, len(x.shape))], True)
    return ops.power(total, 1 / p)
