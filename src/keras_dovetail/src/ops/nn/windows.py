"""Functions of windows of images: convolutions, pooling, blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.windows import per_axis
from dovetail.interop.privates import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    standardize_data_format,
)
from dovetail.ops.shapes.shape import dims_of
from keras_dovetail.src.dtypes import as_tensor, promoted
from keras_dovetail.src.ops.calls import Function, functions


def _pool(op: Function) -> Function:
    def call(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None) -> Any:
        return op(as_tensor(inputs), pool_size, strides, padding, standardize_data_format(data_format))

    return call


globals().update(functions(_pool, "average_pool max_pool"))


def _adaptive(mean: bool) -> Function:
    def call(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
        x = as_tensor(inputs)
        first = 1 if standardize_data_format(data_format) == "channels_last" else 2
        for axis, size in enumerate(per_axis(output_size, len(x.shape) - 2), first):
            x = _adapted(x, axis, size, mean)
        return x

    return call


def _adapted(x: Any, axis: int, size: int, mean: bool) -> Any:
    """Resize one axis: each new element is the mean or maximum of the old ones that it covers, at least in part."""
    old = x.shape[axis]
    starts, ends = np.arange(size) * old // size, -(-np.arange(1, size + 1) * old // size)
    places = starts[:, None] + np.arange((ends - starts).max())
    inside = places < ends[:, None]
    windows = ops.take(x, np.minimum(places, ends[:, None] - 1).astype("int32"), axis)
    if not mean:
        return ops.max(windows, axis + 1)  # a repeated element changes no maximum
    weights = (inside / inside.sum(1, keepdims=True)).reshape(places.shape + (1,) * (len(x.shape) - axis - 1))
    return ops.sum(windows * as_tensor(weights, x.dtype), axis + 1)


adaptive_average_pool = _adaptive(mean=True)
adaptive_max_pool = _adaptive(mean=False)


def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    data_format = standardize_data_format(data_format)
    inputs, kernel = promoted(inputs, kernel)
    channels, taken = inputs.shape[-1 if data_format == "channels_last" else 1], kernel.shape[-2]
    if None not in (channels, taken) and channels % taken:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. Received input channels "
            f"{channels} and kernel in_channels {taken}. "
        )
    result = ops.conv(inputs, kernel, strides, padding, data_format, dilation_rate)
    if 0 in result.shape and 0 not in inputs.shape:
        raise ValueError(
            "The convolution operation resulted in an empty output. This can happen if the input is too small for the "
            "given kernel size, strides, dilation rate, and padding mode. Please check the input shape and convolution "
            "parameters."
        )
    return result


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    data_format = standardize_data_format(data_format)
    inputs, kernel = promoted(inputs, kernel)
    check_conv_input_channels(inputs, kernel, data_format)
    return ops.depthwise_conv(inputs, kernel, strides, padding, data_format, dilation_rate)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    filtered = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(filtered, pointwise_kernel, data_format=data_format)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "valid",
    output_padding: Any = None,
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    data_format = standardize_data_format(data_format)
    inputs, kernel = promoted(inputs, kernel)
    check_conv_transpose_input_channels(inputs, kernel, data_format)
    return ops.conv_transpose(inputs, kernel, strides, padding, output_padding, data_format, dilation_rate)


def _pairs(*values: Any) -> list[tuple[int, ...]]:
    return [per_axis(value, 2) for value in values]


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    size, dilation, padding, stride = _pairs(kernel_size, dilation, padding, stride)
    x = ops.transpose(as_tensor(input), (0, 2, 3, 1))
    patches = ops.sliding_windows(x, size, stride, dilation, [(p, p) for p in padding])
    batch, rows, columns, *_, channels = dims_of(patches)
    patches = ops.transpose(patches, (0, 5, 3, 4, 1, 2))
    return ops.reshape(patches, (batch, channels * size[0] * size[1], rows * columns))


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    sizes, size, dilation, padding, stride = _pairs(output_size, kernel_size, dilation, padding, stride)
    x = as_tensor(x)
    channels = x.shape[1] // (size[0] * size[1])
    windows = [(sizes[i] + 2 * padding[i] - dilation[i] * (size[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    patches = ops.transpose(ops.reshape(x, (x.shape[0], channels, *size, *windows)), (0, 4, 5, 2, 3, 1))
    folded = ops.overlap_add(patches, (x.shape[0], *sizes, channels), size, stride, dilation, [(p, p) for p in padding])
    return ops.transpose(folded, (0, 3, 1, 2))


def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    x, b = as_tensor(x), block_size
    if data_format == "channels_last":
        n, h, w, c = dims_of(x)
        x = ops.transpose(ops.reshape(x, (n, h, w, b, b, c // b**2)), (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (n, h * b, w * b, c // b**2))
    n, c, h, w = dims_of(x)
    x = ops.transpose(ops.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(x, (n, c // b**2, h * b, w * b))


def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    x, b = as_tensor(x), block_size
    if data_format == "channels_last":
        n, h, w, c = dims_of(x)
        x = ops.transpose(ops.reshape(x, (n, h // b, b, w // b, b, c)), (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (n, h // b, w // b, c * b**2))
    n, c, h, w = dims_of(x)
    x = ops.transpose(ops.reshape(x, (n, c, h // b, b, w // b, b)), (0, 1, 3, 5, 2, 4))
    return ops.reshape(x, (n, c * b**2, h // b, w // b))
