"""Convolutions of float64, which ONNX Runtime does not compute: products of windows and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, Windows
from dovetail.formats.nodes.bodies import pads_of
from dovetail.formats.onnx.table import body
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of


def _is_wide(operation: Operation) -> bool:
    """Whether a convolution is of float64, and its kernel and its channels are known; a gradient by groups stays."""
    part = operation.type.partition("D")[2]
    ends = [*operation.inputs, *operation.outputs]
    image = ends[-1] if part == "BackpropInput" else ends[0]
    kernel: Any = {"": ends[1], "BackpropInput": ends[-3], "BackpropFilter": ends[-1]}[part].shape
    channels = image.shape and image.shape[1 if operation.attrs["data_format"] == "channels_first" else -1]
    if image.dtype != "float64" or not channels or not all(kernel or [None]):
        return False
    return part != "BackpropInput" or bool(channels == kernel[-2])


def _channels_last(x: Any, layout: str) -> Any:
    return x if layout == "channels_last" else ops.transpose(x, (0, *range(2, len(x.shape)), 1))


def _given_back(x: Any, layout: str) -> Any:
    rank = len(x.shape)
    return x if layout == "channels_last" else ops.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def _rows(x: Any, window: Sequence[int], groups: int, strides: Any, padding: Any, dilations: Any) -> tuple[Any, Any]:
    """The windows as rows of each group, (groups, windows, elements), and the sizes (batch, windows...)."""
    windows = OPS["SlidingWindows"](x, tuple(window), strides, dilations, padding, 0.0)
    count, per = int(np.prod(window)), x.shape[-1] // groups
    split = ops.transpose(ops.reshape(windows, (-1, count, groups, per)), (2, 0, 1, 3))
    return ops.reshape(split, (groups, -1, count * per)), dims_of(windows)[: len(window) + 1]


@body(" ".join(CONVOLUTIONS[""]), _is_wide)
def _forward(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    x, (*window, per, filters) = _channels_last(x, layout), kernel.shape
    groups = x.shape[-1] // per
    rows, sizes = _rows(x, window, groups, strides, padding, dilations)
    columns = ops.transpose(ops.reshape(kernel, (-1, groups, filters // groups)), (1, 0, 2))
    products = ops.transpose(ops.matmul(rows, columns), (1, 0, 2))
    return _given_back(ops.reshape(products, (*sizes, filters)), layout)


@body(" ".join(CONVOLUTIONS["BackpropFilter"]), _is_wide)
def _to_kernel(op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    x, g, (*window, per, filters) = _channels_last(x, layout), _channels_last(g, layout), sizes
    groups = x.shape[-1] // per
    rows, _ = _rows(x, window, groups, strides, padding, dilations)
    columns = ops.transpose(ops.reshape(g, (-1, groups, filters // groups)), (1, 0, 2))
    products = ops.matmul(ops.transpose(rows, (0, 2, 1)), columns)
    return ops.reshape(ops.transpose(products, (1, 0, 2)), (*window, per, filters))


@body(" ".join(CONVOLUTIONS["BackpropInput"]), _is_wide)
def _to_input(op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    """A convolution, by the reversed kernel, of gradients with zeros between them."""
    g, rank, (*window, _, filters) = _channels_last(g, layout), len(strides), kernel.shape
    windows, axes = Windows(tuple(window), strides, dilations, padding), range(1, rank + 1)
    wanted = [sizes[axis + (layout == "channels_first")] for axis in axes]
    batch, *steps, _ = dims_of(g)
    apart = ops.reshape(g, (batch, *(n for step in steps for n in (step, 1)), filters))
    apart = ops.pad(apart, [(0, 0), *(pair for stride in strides for pair in ((0, 0), (0, stride - 1))), (0, 0)])
    apart = ops.reshape(apart, (batch, *(step * stride for step, stride in zip(steps, strides, strict=True)), filters))
    lows = [low for low, _ in pads_of(windows, wanted)]
    apart = OPS["PadV2"](
        apart,
        [0, *(span - 1 for span in windows.spans), 0],
        [0, *(n + span for n, span in zip(wanted, windows.spans, strict=True)), 0],
        0.0,
    )
    ends = [low + n + span - 1 for low, n, span in zip(lows, wanted, windows.spans, strict=True)]
    apart = apart[(slice(None), *(slice(low, end) for low, end in zip(lows, ends, strict=True)))]
    turned = ops.transpose(kernel[(slice(None, None, -1),) * rank], (*range(rank), rank + 1, rank))
    ones = (1,) * rank
    forward = OPS[CONVOLUTIONS[""][rank - 1]]
    return _given_back(forward(apart, turned, ones, "valid", dilations, "channels_last"), layout)
