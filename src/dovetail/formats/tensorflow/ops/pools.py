"""Pools: MaxPool, AvgPool, MaxPoolWithArgmax, of two and three axes, their gradients and the gradients of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import POOLS, Windows
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import pads_of
from dovetail.formats.tensorflow.gradients import blank, through
from dovetail.formats.tensorflow.ops.windows import channels_first, channels_last, flat, is_first, moves_of
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of

rows("""
AvgPool MaxPool3D AvgPool3D: x; ksize:size@spatial strides@spatial padding@padding data_format@layout
MaxPool: x; ksize:size@spatial strides@spatial padding@padding data_format@layout T>0
""")

_WINDOW = "ksize:size@spatial strides@spatial padding@padding data_format@layout"
_INPUTS = "size! strides!; padding@padding data_format=NHWC T>0"


@row(f"MaxPool: x; {_WINDOW} T>0")
def _(x: Any, padding: Any, data_format: str, **window: Any) -> Any:
    x, padding = _padded(x, padding, data_format)
    return OPS["MaxPool"](x, padding=padding, data_format=data_format, **window)


@row(f"MaxPoolV2: x {_INPUTS}")
def _(x: Any, size: Sequence[int], strides: Sequence[int], padding: Any) -> Any:
    return OPS["MaxPool"](x, tuple(size[1:3]), tuple(strides[1:3]), padding, "channels_last")


def _padded(x: Any, padding: Any, data_format: str) -> tuple[Any, str]:
    """A tensor with its explicit padding around it, and the padding that is left."""
    if isinstance(padding, str):
        return x, padding
    pairs = [(0, 0), *padding, (0, 0)] if data_format == "channels_last" else [(0, 0), (0, 0), *padding]
    return OPS["PadV2"](x, *zip(*pairs, strict=True), -np.inf if x.dtype.is_floating else x.dtype.min), "valid"


@row(f"MaxPoolGrad: x y g; {_WINDOW} T>0")
def max_gradient(x: Any, y: Any, g: Any, size: Any, strides: Any, padding: Any, data_format: str) -> Any:
    """The gradient of `MaxPool`: NaN is passed over, but not as the first element of a window."""

    def passed(x: Any, g: Any) -> Any:
        whole, left = _padded(x, padding, data_format)
        gradient = OPS["MaxPoolGrad"](whole, g, size, strides, left, data_format)
        return gradient if whole is x else through(lambda x: _padded(x, padding, data_format)[0], gradient, x)[0]

    if not x.dtype.is_floating:
        return passed(x, g)
    dims, axes = dims_of(x), (1, 2) if data_format == "channels_last" else (2, 3)
    pads = pads_of(Windows(size, strides, (1, 1), padding), [dims[axis] for axis in axes])

    def first(x: Any) -> Any:
        for axis, stride, (before, _) in zip(axes, strides, pads, strict=True):
            x = OPS["GatherV2"](x, ops.maximum(ops.arange(dims_of(g)[axis]) * stride - before, 0), axis)
        return x

    is_first = ops.isnan(first(x))
    others = passed(_without_nan(x), ops.where(is_first, 0, g))
    return others + through(first, ops.where(is_first, g, 0), x)[0]


@row(f"MaxPoolGradV2: x y g {_INPUTS}")
def _(x: Any, y: Any, g: Any, size: Sequence[int], strides: Sequence[int], padding: Any) -> Any:
    return max_gradient(x, y, g, tuple(size[1:3]), tuple(strides[1:3]), padding, "channels_last")


def _without_nan(x: Any) -> Any:
    """A tensor with the smallest number for NaN, which the padding is below."""
    return ops.where(ops.greater(x, x.dtype.min), x, x.dtype.min) if x.dtype.is_floating else x


@row(
    f"MaxPoolGradGrad: x y g; {_WINDOW} T>0 +op=MaxPoolGradGrad",
    f"MaxPool3DGradGrad: x y g; {_WINDOW} T>0 +op=MaxPool3DGradGrad",
)
def second_gradient(x: Any, y: Any, g: Any, op: str, **window: Any) -> Any:
    """The gradient of `MaxPoolGrad`; 0 for windows without numbers."""
    whole = _without_nan(x)
    gradient = OPS[op](whole, g, **window)
    if not x.dtype.is_floating:
        return gradient
    return ops.where(ops.greater(OPS[op.removesuffix("GradGrad")](whole, **window), x.dtype.min), gradient, 0)


@row(f"MaxPoolGradGradV2: x y g {_INPUTS}")
def _(x: Any, y: Any, g: Any, size: Sequence[int], strides: Sequence[int], padding: Any) -> Any:
    window = {"size": tuple(size[1:3]), "strides": tuple(strides[1:3]), "padding": padding}
    return second_gradient(x, y, g, "MaxPoolGradGrad", data_format="channels_last", **window)


@row(f"MaxPool3DGrad: x y g; {_WINDOW} T>0")
def _(x: Any, y: Any, g: Any, size: Any, strides: Any, padding: Any, data_format: str) -> Any:
    """The gradient of `MaxPool3D`, which all elements get that are equal to the largest one of a window."""

    def windows(x: Any) -> Any:
        x = x if data_format == "channels_last" else ops.moveaxis(x, 1, -1)
        return OPS["SlidingWindows"](x, size, strides, (1, 1, 1), padding, -np.inf)

    y, g = (one if data_format == "channels_last" else ops.moveaxis(one, 1, -1) for one in (y, g))
    y, g = (ops.expand_dims(one, (4, 5, 6)) for one in (y, g))
    windows_of_x = windows(x)
    return through(windows, ops.where(ops.equal(windows_of_x, y), g, ops.zeros_like(windows_of_x)), x)[0]


@row(
    "MaxPoolWithArgmax: x; ksize:size@spatial strides@spatial padding@padding Targmax:dtype"
    " include_batch_in_index:with_batch"
)
def _(x: Any, size: Any, strides: Any, padding: Any, dtype: Any, with_batch: bool = False) -> list[Any]:
    batch, height, width, channels = dims_of(x)
    window = size, strides, (1, 1), padding
    windows = OPS["SlidingWindows"](x, *window, -np.inf)
    dims = dims_of(windows)
    windows = ops.reshape(windows, [*dims[:3], int(np.prod(size)), channels])
    places = ops.reshape(ops.arange(height * width, dtype="int32"), [1, height, width, 1])
    places = ops.reshape(OPS["SlidingWindows"](places, *window, -1), [1, *dims[1:3], int(np.prod(size)), 1])
    best = ops.expand_dims(ops.argmax(windows, 3), 3)
    if x.dtype.is_floating:  # NaN is passed over, but not as the first element
        first = ops.argmax(ops.cast(places >= 0, "int32"), 3, keepdims=True)
        is_first = ops.isnan(ops.take_along_axis(windows, ops.broadcast_to(first, dims_of(best)), 3))
        known = ops.where(ops.isnan(windows), -np.inf, windows)
        is_first = ops.logical_or(is_first, ops.equal(ops.max(known, 3, keepdims=True), -np.inf))
        best = ops.where(is_first, first, ops.argmax(known, 3, keepdims=True))
    place = ops.take_along_axis(ops.broadcast_to(places, dims_of(windows)), best, 3)
    place = ops.squeeze(place, 3) * channels + ops.arange(channels, dtype="int32")
    if with_batch:
        start = ops.arange(batch, dtype="int32") * height * width * channels
        place = place + ops.reshape(start, [-1, 1, 1, 1])
    return [ops.squeeze(ops.take_along_axis(windows, best, 3), 3), ops.cast(place, dtype)]


@row(
    "MaxPoolGradWithArgmax: x g places; ksize:size@spatial strides@spatial padding@padding"
    " include_batch_in_index:with_batch"
)
def _(x: Any, g: Any, places: Any, with_batch: bool = False, **window: Any) -> Any:
    if not with_batch:
        first = ops.arange(dims_of(x)[0], dtype=places.dtype) * ops.cast(ops.prod(ops.shape(x)[1:]), places.dtype)
        places = places + ops.reshape(first, [-1, 1, 1, 1])
    flat = ops.zeros_like(ops.reshape(x, [-1]))
    flat_gradient = OPS["TensorScatterAdd"](flat, ops.reshape(places, [-1, 1]), ops.reshape(g, [-1]))
    return ops.reshape(flat_gradient, dims_of(x))


@row(*(f"{op}: shape? g; {_WINDOW} +op={op}" for op in ("AvgPoolGrad", "AvgPool3DGrad")))
def _(shape: Any, g: Any, op: str, **window: Any) -> Any:
    return OPS[op](blank(g, shape), g, **window)


# -- writing ----------------------------------------------------------------------------------------------------------


def _pools(place: Place) -> dict[str, Any]:
    return {"ksize": [1, *place.operation.attrs["size"], 1], **moves_of(place)}


@writes(" ".join(f"{name}{part}" for name in POOLS["MaxPool"][1:] for part in ("Grad", "GradGrad")))
def _max_pool(place: Place, x: Ref, g: Ref, *moves: Any) -> list[Ref]:
    type = place.operation.type
    y = place.node(type.partition("Grad")[0], x, **_pools(place))
    return place.result(type, x, y, g, **_pools(place))


@writes(" ".join(f"{name}Grad" for name in POOLS["AvgPool"][1:]))
def _average_pool(place: Place, x: Ref, g: Ref, *moves: Any) -> list[Ref]:
    shape = place.node("Shape", x, dtype="int32", out_type=as_dtype("int32"))
    return place.result(place.operation.type, shape, g, **_pools(place))


POOL_TYPES = " ".join(name + part for names in POOLS.values() for name in names for part in ("", "Grad", "GradGrad"))


@body(POOL_TYPES, is_first)
def _pool_last(op: Any, *args: Any) -> Any:
    *moved, _ = (channels_last(arg) if type(arg) is GraphTensor else arg for arg in args)
    return channels_first(op(*moved, "channels_last"))


@body(" ".join(name for name in POOL_TYPES.split() if "1D" in name))
def _pool(op: Any, *args: Any) -> Any:
    *tensors, size, strides, padding, layout = args
    wide = OPS[op.name.replace("1D", "")]
    return flat(wide(*(ops.expand_dims(x, 1) for x in tensors), (1, *size), (1, *strides), padding, layout))
