"""Windows of images: patches, dilations, and maxima with their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.bodies.gradients import through
from dovetail.formats.tensorflow.rows import row
from dovetail.ops.shapes.shape import dims_of


@row(
    "ExtractImagePatches: x/T; ksizes:size@spatial strides@spatial rates:dilations@spatial padding@padding",
    "ExtractVolumePatches: x/T; ksizes:size@spatial strides@spatial padding@padding",
)
def _(x: Any, size: Any, strides: Any, padding: Any, dilations: Any = None) -> Any:
    found = OPS["SlidingWindows"](x, size, strides, dilations or (1,) * len(size), padding)
    dims = dims_of(found)
    return ops.reshape(found, [*dims[: 1 + len(size)], int(np.prod(size)) * dims[-1]])


_DILATION = "strides@spatial rates:dilations@spatial padding@padding"


@row(f"Dilation2D: x/T kernel/T; {_DILATION}")
def dilated(x: Any, kernel: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    """The largest sums of windows and a kernel."""
    found = OPS["SlidingWindows"](x, tuple(dims_of(kernel)[:2]), strides, dilations, padding, -np.inf)
    return ops.max(found + kernel, (3, 4))


@row(f"Dilation2DBackpropInput: x/T kernel/T g/T; {_DILATION}")
def _(x: Any, kernel: Any, g: Any, **window: Any) -> Any:
    return through(lambda x: dilated(x, kernel, **window), g, x)


@row(f"Dilation2DBackpropFilter: x/T kernel/T g/T; {_DILATION}")
def _(x: Any, kernel: Any, g: Any, **window: Any) -> Any:
    return through(lambda kernel: dilated(x, kernel, **window), g, kernel)


@row(
    "MaxPoolWithArgmax: x/T; ksize:size@spatial strides@spatial padding@padding Targmax:dtype|int64"
    " include_batch_in_index:with_batch"
)
def _(x: Any, size: Any, strides: Any, padding: Any, dtype: Any, with_batch: bool = False) -> list[Any]:
    batch, height, width, channels = dims_of(x)
    window = size, strides, (1, 1), padding
    windows = OPS["SlidingWindows"](x, *window, -np.inf)
    dims = dims_of(windows)
    windows = ops.reshape(windows, [*dims[:3], int(np.prod(size)), channels])
    places = ops.reshape(ops.arange(height * width, dtype="int32"), [1, height, width, 1])
    places = ops.reshape(OPS["SlidingWindows"](places, *window), [1, *dims[1:3], int(np.prod(size)), 1])
    best = ops.expand_dims(ops.argmax(windows, 3), 3)
    places = ops.broadcast_to(places, dims_of(windows))
    place = ops.squeeze(ops.take_along_axis(places, best, 3), 3) * channels + ops.arange(channels, dtype="int32")
    if with_batch:
        first = ops.arange(batch, dtype="int32") * height * width * channels
        place = place + ops.reshape(first, [-1, 1, 1, 1])
    return [ops.max(windows, 3), ops.cast(place, dtype)]


@row(
    "MaxPoolGradWithArgmax: x/T g/T places/Targmax; ksize:size@spatial strides@spatial padding@padding"
    " include_batch_in_index:with_batch"
)
def _(x: Any, g: Any, places: Any, with_batch: bool = False, **window: Any) -> Any:
    if not with_batch:
        first = ops.arange(dims_of(x)[0], dtype=places.dtype) * ops.cast(ops.prod(ops.shape(x)[1:]), places.dtype)
        places = places + ops.reshape(first, [-1, 1, 1, 1])
    flat = ops.zeros_like(ops.reshape(x, [-1]))
    found = OPS["TensorScatterAdd"](flat, ops.reshape(places, [-1, 1]), ops.reshape(g, [-1]))
    return ops.reshape(found, dims_of(x))


# -- the order of axes ------------------------------------------------------------------------------------------------


@row("DataFormatDimMap: x/T; src_format:source|NHWC dst_format:target|NCHW")
def _(x: Any, source: str, target: str) -> Any:
    places = ops.convert(np.array([target.index(letter) for letter in source]), x.dtype)
    return OPS["GatherV2"](places, ops.where(x < 0, x + len(source), x), 0)


@row("DataFormatVecPermute: x/T; src_format:source|NHWC dst_format:target|NCHW")
def _(x: Any, source: str, target: str) -> Any:
    if x.shape[0] == len(source) - 2:
        source, target = (text.replace("N", "").replace("C", "") for text in (source, target))
    return OPS["GatherV2"](x, np.array([source.index(letter) for letter in target], "int32"), 0)
