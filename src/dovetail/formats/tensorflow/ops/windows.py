"""Windows of images: ExtractImagePatches, Dilation2D, DataFormatDimMap, DataFormatVecPermute; OverlapAdd."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import Windows
from dovetail.formats.tensorflow.gradients import through
from dovetail.formats.tensorflow.table import body, row
from dovetail.formats.tensorflow.written_nodes import Place, layout_of
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of


@row(
    "ExtractImagePatches: x; ksizes:size@spatial strides@spatial rates:dilations@spatial padding@padding",
    "ExtractVolumePatches: x; ksizes:size@spatial strides@spatial padding@padding",
)
def _(x: Any, size: Any, strides: Any, padding: Any, dilations: Any = None) -> Any:
    windows = OPS["SlidingWindows"](x, size, strides, dilations or (1,) * len(size), padding)
    dims = dims_of(windows)
    return ops.reshape(windows, [*dims[: 1 + len(size)], int(np.prod(size)) * dims[-1]])


_DILATION = "strides@spatial rates:dilations@spatial padding@padding"


@row(f"Dilation2D: x kernel; {_DILATION}")
def dilated(x: Any, kernel: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    """The largest sums of windows and a kernel."""
    windows = OPS["SlidingWindows"](x, tuple(dims_of(kernel)[:2]), strides, dilations, padding, -np.inf)
    return ops.max(windows + kernel, (3, 4))


@row(f"Dilation2DBackpropInput: x kernel g; {_DILATION}")
def _(x: Any, kernel: Any, g: Any, **window: Any) -> Any:
    return through(lambda x: dilated(x, kernel, **window), g, x)


@row(f"Dilation2DBackpropFilter: x kernel g; {_DILATION}")
def _(x: Any, kernel: Any, g: Any, **window: Any) -> Any:
    return through(lambda kernel: dilated(x, kernel, **window), g, kernel)


# -- the order of axes ------------------------------------------------------------------------------------------------


@row("DataFormatDimMap: x; src_format:source dst_format:target")
def _(x: Any, source: str, target: str) -> Any:
    places = ops.convert(np.array([target.index(letter) for letter in source]), x.dtype)
    return OPS["GatherV2"](places, ops.where(x < 0, x + len(source), x), 0)


@row("DataFormatVecPermute: x; src_format:source dst_format:target")
def _(x: Any, source: str, target: str) -> Any:
    if known_dims(x)[0] == len(source) - 2:
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    return OPS["GatherV2"](x, np.array([source.index(letter) for letter in target], "int32"), 0)


# -- what convolutions and pools share --------------------------------------------------------------------------------


def is_first(operation: Operation) -> bool:
    """Whether the channels of an operation's images are the second axis."""
    return operation.attrs["data_format"] == "channels_first"


def channels_last(x: Any) -> Any:
    """Images with the channels as the last axis, which were the second one."""
    rank = rank_of(x)
    return ops.transpose(x, (0, *range(2, rank), 1))


def channels_first(x: Any) -> Any:
    """Images with the channels as the second axis, which were the last one."""
    rank = rank_of(x)
    return ops.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def flat(x: Any) -> Any:
    """Images without the axis 1, of size 1."""
    return ops.squeeze(x, 1)


def moves_of(place: Place) -> dict[str, Any]:
    """The attributes of an operation's windows, as TensorFlow has them."""
    attrs = place.operation.attrs
    moves = {"strides": [1, *attrs["strides"], 1], "padding": attrs["padding"].upper()}
    return {**moves, "data_format": layout_of(place.operation)}


# -- writing ----------------------------------------------------------------------------------------------------------


@body("OverlapAdd")
def _overlap(op: Any, patches: Any, sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    """Each element of the windows at its places, with zeros between them; their sum."""
    windows, rank = Windows(size, strides, dilations, padding), len(size)
    sizes = [sizes[i] for i in range(rank + 2)]
    inside = sizes[1:-1]
    whole = [sizes[0], *windows.padded(inside), sizes[-1]]
    total: Any = None
    for element, at in windows.elements(dims_of(patches)[1 : rank + 1]):
        begin, end = ([0, *(getattr(s, part) for s in at), 0] for part in ("start", "stop"))
        part = patches[(..., *element, slice(None))]
        spread = OPS["StridedSliceGrad"](part, whole, begin, [whole[0], *end[1:-1], whole[-1]], [1, *strides, 1])
        total = spread if total is None else total + spread
    return total[(slice(None), *windows.inside(inside))]
