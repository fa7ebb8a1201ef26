"""TensorFlow 1's functions for the gradients of convolutions, by their input and by their filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.nn.convolution import moves_of
from dovetail.compat.tensorflow.table import constant_value, row
from dovetail.core.base.table import OPS
from dovetail.core.values.value_kinds import is_tensor
from dovetail.ops.shapes.shape import dims_of


def _sizes(given: Any) -> Any:
    """The shape that a function is given, as numbers if they are known."""
    known = constant_value(given) if is_tensor(given) else given
    return given if known is None else tuple(int(n) for n in known)


def _grouped(sizes: Sequence[Any]) -> list[Any]:
    """The shape of depthwise filters (height, width, channels, multiplier) as one of a convolution with groups."""
    return [*sizes[:-2], 1, sizes[-2] * sizes[-1]]


def _by_input(rank: int, depthwise: bool) -> Callable[..., Any]:
    def by_input(
        input_sizes: Any,
        filter: Any,
        out_backprop: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        dilations: Any = None,
        name: str | None = None,
    ) -> Any:
        strides, padding, layout, dilations = moves_of(rank, strides, padding, data_format, dilations)
        filters = ops.convert(filter)
        if depthwise:
            filters = ops.reshape(filters, _grouped(dims_of(filters)))
        gradient: Any = OPS[f"Conv{rank}DBackpropInput"]
        return gradient(_sizes(input_sizes), filters, out_backprop, strides, padding, dilations, layout, name=name)

    return by_input


def _by_filter(rank: int, depthwise: bool) -> Callable[..., Any]:
    def by_filter(
        input: Any,
        filter_sizes: Any,
        out_backprop: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        dilations: Any = None,
        name: str | None = None,
    ) -> Any:
        strides, padding, layout, dilations = moves_of(rank, strides, padding, data_format, dilations)
        sizes = _sizes(filter_sizes)
        gradient: Any = OPS[f"Conv{rank}DBackpropFilter"]
        shape = tuple(_grouped(sizes)) if depthwise else sizes
        result = gradient(input, shape, out_backprop, strides, padding, dilations, layout, name=name)
        return ops.reshape(result, sizes) if depthwise else result

    return by_filter


_MORE = "out_backprop strides padding data_format dilations"
_CUDNN = "out_backprop strides padding use_cudnn_on_gpu data_format dilations"
_GENERATED = "python.ops.gen_nn_ops.conv"
for _names, _gradient, _words in (
    (f"nn.conv2d_backprop_input {_GENERATED}2d_backprop_input", _by_input(2, False), f"input_sizes filter {_CUDNN}"),
    (f"nn.conv2d_backprop_filter {_GENERATED}2d_backprop_filter", _by_filter(2, False), f"input filter_sizes {_CUDNN}"),
    (f"{_GENERATED}3d_backprop_input_v2", _by_input(3, False), f"input_sizes filter {_MORE}"),
    (
        f"nn.conv3d_backprop_filter nn.conv3d_backprop_filter_v2 {_GENERATED}3d_backprop_filter_v2",
        _by_filter(3, False),
        f"input filter_sizes {_MORE}",
    ),
    (
        "nn.depthwise_conv2d_backprop_input nn.depthwise_conv2d_native_backprop_input",
        _by_input(2, True),
        f"input_sizes filter {_MORE}",
    ),
    (
        "nn.depthwise_conv2d_backprop_filter nn.depthwise_conv2d_native_backprop_filter",
        _by_filter(2, True),
        f"input filter_sizes {_MORE}",
    ),
):
    row(_names, _gradient, _words)
