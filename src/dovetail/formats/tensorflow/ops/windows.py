"""Windows of images: patches, dilations, and maxima with their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.ops.gradients import through
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of


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
    if x.shape[0] == len(source) - 2:
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    return OPS["GatherV2"](x, np.array([source.index(letter) for letter in target], "int32"), 0)
