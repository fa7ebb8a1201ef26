"""Pools, whose channels are the second axis: MaxPool, AveragePool, LpPool, GlobalMaxPool and others, MaxUnpool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows
from dovetail.formats.nodes.bodies import add_wider
from dovetail.formats.nodes.constants import counted, is_tensor, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.waiting import wait_for
from dovetail.formats.onnx.sizes import computing, held, more
from dovetail.formats.onnx.table import body, row, writes
from dovetail.formats.onnx.windows import FIRST, WINDOW, channels_first, given_back, image_of, pad_attributes, paddings
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

add_wider(body, "MaxPool1DGrad MaxPoolGrad MaxPool3DGrad: float16 > float32")  # ONNX Runtime refuses it as it runs


# -- reading ----------------------------------------------------------------------------------------------------------


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
    x: Any, size: Any = None, strides: Any = None, dilations: Any = None, pads: Any = None, auto: Any = "NOTSET"
) -> Any:
    """The window that the attributes of a pool say."""
    if size is None:
        raise Unreadable("it has no kernel_shape")
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


def _taken(x: Any, places: Any, fill: Any) -> Any:
    """The elements of windows: (batch, channels, windows..., elements...)."""
    sizes = dims_of(x)[2:]
    low = [more(-one[0, 0], 0) if one.shape[0] != 0 else 0 for one in places]
    high = [more(one[-1, -1] + 1 - n, 0) if one.shape[0] != 0 else 0 for one, n in zip(places, sizes, strict=True)]
    x = ops.pad(x, [(0, 0), (0, 0), *zip(low, high, strict=True)], "constant", fill)
    for i, one in enumerate(places):  # each axis becomes two: the windows, and the elements of one
        at = held(computing(*places).reshape(one + low[i], [-1]), "int32")
        axis = 2 + 2 * i
        x = OPS["GatherV2"](x, at, axis)
        dims = dims_of(x)
        x = ops.reshape(x, [*dims[:axis], *dims_of(one), *dims[axis + 1 :]])
    rank = len(places)
    return ops.transpose(x, [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)])


def _is_plain(x: Any, window: Window, ceil: int) -> bool:
    """Whether Dovetail's pools have such windows."""
    size, strides, dilations, widths = window
    if len(size) > 3 or set(dilations) != {1} or not x.dtype.is_floating:
        return False
    return not ceil or all(
        length is not None and (length + low + high - n) % s == 0
        for length, n, s, (low, high) in zip(known_dims(x)[2:], size, strides, widths, strict=True)
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
    rank, sizes, xp = len(places), dims_of(x)[2:], computing(*places)
    dims = dims_of(taken)
    flat = ops.argmax(ops.reshape(taken, [*dims[: 2 + rank], -1]), -1)
    steps = [math.prod(sizes[:i]) if storage_order else math.prod(sizes[i + 1 :]) for i in range(rank)]
    within(*(one.size for one in places if isinstance(one, np.ndarray)))
    grid: Any = 0
    for i, one in enumerate(places):
        shape: list[Any] = [1] * (2 * rank)
        shape[i], shape[rank + i] = dims_of(one)
        grid = grid + xp.reshape(one * steps[i], shape)
    grid = held(xp.reshape(grid, [1, 1, *dims_of(grid)[:rank], -1]), "int64")
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
        length, xp = dims_of(x)[2 + i], computing(one)
        first, last = (-low, length + high) if padded else (0, length)
        inside = xp.sum(xp.where(xp.logical_and(one >= first, one < last), 1, 0), 1)
        count = count * held(xp.reshape(inside, [-1 if i == axis else 1 for axis in range(rank)]), x.dtype)
    return ops.sum(_taken(x, places, 0), axes) / count


@row(f"LpPool: x; {WINDOW} ceil_mode:ceil p")
def _(x: Any, ceil: int = 0, p: int = 2, **given: Any) -> Any:
    window = _window(x, **given)
    rank = len(window.size)
    places = _windows(x, window, ceil)
    total = ops.sum(ops.power(ops.absolute(_taken(x, places, 0)), float(p)), [*range(2 + rank, 2 + 2 * rank)])
    return ops.power(total, 1 / p)


def _of_all(function: Callable[..., Any], x: Any) -> Any:
    return function(x, [*range(2, rank_of(x))], True)


row("GlobalMaxPool: x")(partial(_of_all, ops.max))
row("GlobalAveragePool: x")(partial(_of_all, ops.mean))


@row("GlobalLpPool: x; p")
def _(x: Any, p: int = 2) -> Any:
    return ops.power(_of_all(ops.sum, ops.power(ops.absolute(x), float(p))), 1 / p)


@row("MaxUnpool: x at shape!; kernel_shape:size strides pads")
def _(x: Any, at: Any, shape: Any = None, size: Any = (), strides: Any = None, pads: Any = None) -> Any:
    """Elements at their places in the flat result, zeros elsewhere."""
    rank = len(size)
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    dims = dims_of(x)
    sizes = [(dims[2 + i] - 1) * strides[i] + size[i] - pads[i] - pads[i + rank] for i in range(rank)]
    count = math.prod([*dims[:2], *sizes])
    flat = ops.tensor_scatter_update(
        ops.zeros([count], x.dtype), ops.reshape(ops.cast(at, "int32"), [-1, 1]), ops.reshape(x, [-1])
    )
    image = ops.reshape(flat, [*dims[:2], *sizes])
    if shape is None:
        return image
    return ops.pad(image, [(0, 0), (0, 0), *((0, wanted - own) for wanted, own in zip(shape[2:], sizes, strict=True))])


# -- writing ----------------------------------------------------------------------------------------------------------

MAXIMA, MEANS = POOLS["MaxPool"], POOLS["AvgPool"]


def _pool(place: Place, size: Any, strides: Any, padding: str, layout: str) -> dict[str, Any]:
    windows = Windows(size, strides, (1,) * len(size), padding)
    return {"kernel_shape": size, "strides": strides, **pad_attributes(windows, image_of(place.shapes[0], layout)[0])}


@writes(" ".join((*MAXIMA, *MEANS)))
def _pooled(place: Place, x: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank, type = len(size), "MaxPool" if place.operation.type in MAXIMA else "AveragePool"
    x = channels_first(place, x, rank, layout)
    return given_back(place, place.node(type, x, **_pool(place, size, strides, padding, layout)), rank, layout)


def _positions(place: Place, x: Ref, size: Any, *moves: Any) -> Ref:
    """The flat positions of the maxima of an image whose channels are first."""
    return place.several("MaxPool", x, dtypes=[x.dtype, "int64"], **_pool(place, size, *moves))[1]


@writes(" ".join(f"{name}Grad" for name in MAXIMA))
def _max_gradient(place: Place, x: Ref, g: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank, flat = len(size), place.constant([-1])
    x, g = (channels_first(place, one, rank, layout) for one in (x, g))
    positions = place.node("Reshape", _positions(place, x, size, strides, padding, layout), flat)
    count = place.node("Reshape", place.node("Size", x, dtype="int64"), flat)
    zeros = place.node("Expand", place.constant([0], x.dtype), count)
    sums = place.node("ScatterElements", zeros, positions, place.node("Reshape", g, flat), axis=0, reduction="add")
    return given_back(place, place.node("Reshape", sums, place.shape(x), allowzero=1), rank, layout)


@writes(" ".join(f"{name}GradGrad" for name in MAXIMA))
def _max_second(place: Place, x: Ref, h: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank = len(size)
    x, h = (channels_first(place, one, rank, layout) for one in (x, h))
    positions = _positions(place, x, size, strides, padding, layout)
    largest = place.node("Gather", place.node("Reshape", h, place.constant([-1])), positions)
    return given_back(place, largest, rank, layout)


@body(" ".join(f"{name}Grad" for name in MEANS))
def _mean_gradient(op: Any, x: Any, g: Any, size: Any, strides: Any, padding: str, layout: str) -> Any:
    """Each window's gradient, divided by the number of its elements, to all of them: a convolution's gradient."""
    rank, ones = len(size), (1,) * len(size)
    moves = strides, padding, ones, "channels_last"
    kernel = ops.ones((*size, 1, 1), x.dtype)
    sizes, channels = image_of(dims_of(x), layout)
    g = g if layout == "channels_first" else ops.transpose(g, (0, rank + 1, *range(1, rank + 1)))
    counts = OPS[CONVOLUTIONS[""][rank - 1]](ops.ones((1, *sizes, 1), x.dtype), kernel, *moves)
    steps = dims_of(g)[2:]
    spread = ops.reshape(g, (-1, *steps, 1)) / counts
    gradient = OPS[CONVOLUTIONS["BackpropInput"][rank - 1]]((dims_of(spread)[0], *sizes, 1), kernel, spread, *moves)
    gradient = ops.reshape(gradient, (-1, channels, *sizes))
    return gradient if layout == "channels_first" else ops.transpose(gradient, (0, *range(2, rank + 2), 1))
