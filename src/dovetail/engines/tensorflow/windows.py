"""Rules of convolutions, sliding windows and pooling, and of their gradients.

TensorFlow's CPU kernels need two or three spatial axes and the channels last, so the rules add and move axes.  Some
kernels, above all backward ones, lack dilation or groups.  For them the rules write out the zeros between the elements
of a dilated kernel, and compute one group after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows, over_two_axes
from dovetail.core.rules import Rule
from dovetail.engines.tensorflow.tables import cast, dims, ints, kernel, rules

# -- layout -----------------------------------------------------------------------------------------------------------


def _moved(x: Any, order: list[int]) -> Any:
    return tf.raw_ops.Transpose(x=x, perm=order)


def _last(x: Any, data_format: str) -> Any:
    """The tensor as (batch, spatial..., channels), with at least two spatial axes."""
    if data_format == "channels_first":
        x = _moved(x, [0, *range(2, x.shape.rank), 1])
    return tf.expand_dims(x, 1) if x.shape.rank == 3 else x


def _restored(x: Any, rank: int, data_format: str) -> Any:
    """The reverse of `_last`."""
    x = tf.squeeze(x, 1) if rank == 1 else x
    return _moved(x, [0, rank + 1, *range(1, rank + 1)]) if data_format == "channels_first" else x


def _last_sizes(sizes: Any, data_format: str) -> list[Any]:
    """The shape that `_last` gives."""
    batch, *rest = sizes
    rest = [*rest[1:], rest[0]] if data_format == "channels_first" else rest
    return [batch, 1, *rest] if len(rest) == 2 else [batch, *rest]


def _pads(windows: Windows, sizes: Any) -> list[Any]:
    """`Windows.pads` for sizes of which some may be tensors."""
    if windows.padding != "same" or all(isinstance(n, int) for n in sizes):
        return windows.pads(sizes)
    totals = [
        tf.maximum((-(-n // stride) - 1) * stride + span - n, 0)
        for n, stride, span in zip(sizes, windows.strides, windows.spans, strict=True)
    ]
    return [(total // 2, total - total // 2) for total in totals]


def _with_pads(x: Any, pads: list[Any], fill: float = 0.0) -> Any:
    paddings = tf.stack([ints(pair) for pair in [(0, 0), *pads, (0, 0)]])
    return tf.raw_ops.PadV2(input=x, paddings=paddings, constant_values=tf.cast(fill, x.dtype))


def _inside(x: Any, pads: list[Any]) -> Any:
    """The reverse of `_with_pads`."""
    low, high = ([0, *(pair[i] for pair in pads), 0] for i in (0, 1))
    sizes = [n - a - b for n, a, b in zip(dims(x), low, high, strict=True)]
    return tf.slice(x, ints(low), ints(sizes))


# -- convolution ------------------------------------------------------------------------------------------------------

_TO_INPUT = {2: tf.raw_ops.Conv2DBackpropInput, 3: tf.raw_ops.Conv3DBackpropInputV2}
_TO_KERNEL = {2: tf.raw_ops.Conv2DBackpropFilter, 3: tf.raw_ops.Conv3DBackpropFilterV2}


class _Convolution:
    """A convolution as TensorFlow's kernels take it, with no padding except "same" and "valid".

    Args:
        windows: windows over two or three axes.
        kernel_shape: (spatial..., channels of a group, channels out).
        channels: the number of input channels.
    """

    def __init__(self, windows: Windows, kernel_shape: Any, channels: int) -> None:
        self.rank = len(windows.strides)
        self.explicit = not isinstance(windows.padding, str)
        self.groups = channels // kernel_shape[-2]
        self.dilations = windows.dilations
        self.whole = (*windows.spans, *kernel_shape[-2:])  # the kernel's shape with the zeros of dilation
        self.options = {
            "strides": [1, *windows.strides, 1],
            "padding": "VALID" if self.explicit else windows.padding.upper(),
        }
        self.by_channel = self.rank == 2 and kernel_shape[-2] == 1 < self.groups and len(set(windows.strides)) == 1

    def written_out(self, kernel: Any) -> Any:
        """The kernel with the zeros of dilation."""
        if max(self.dilations) == 1:
            return kernel
        window = {"begin": [0] * len(self.whole), "end": self.whole, "strides": [*self.dilations, 1, 1]}
        return tf.raw_ops.StridedSliceGrad(shape=ints(self.whole), dy=kernel, **window)

    def without_zeros(self, kernel: Any) -> Any:
        """The reverse of `written_out`."""
        return kernel if max(self.dilations) == 1 else kernel[tuple(slice(None, None, d) for d in self.dilations)]

    def by_channel_shape(self) -> list[int]:
        """The shape of a kernel for each channel, as TensorFlow has it: (spatial..., channels, results of each)."""
        return [*self.whole[:-2], self.groups, self.whole[-1] // self.groups]

    def forward(self, x: Any, kernel: Any) -> Any:
        if self.by_channel:
            kernel = tf.reshape(self.written_out(kernel), self.by_channel_shape())
            return tf.raw_ops.DepthwiseConv2dNative(input=x, filter=kernel, **self.options)
        if self.rank == 2:
            plain = self.groups == 1 == max(self.dilations)
            return self._whole(x, kernel) if plain else tf.custom_gradient(self._with_gradient)(x, kernel)
        parts = zip(tf.split(x, self.groups, -1), tf.split(self.written_out(kernel), self.groups, -1), strict=True)
        return tf.concat([tf.raw_ops.Conv3D(input=a, filter=b, **self.options) for a, b in parts], -1)

    def _whole(self, x: Any, kernel: Any) -> Any:
        return tf.raw_ops.Conv2D(input=x, filter=kernel, dilations=[1, *self.dilations, 1], **self.options)

    def _with_gradient(self, x: Any, kernel: Any) -> Any:
        """The kernel that knows groups and dilation, and gradients for TensorFlow that know them too."""
        return self._whole(x, kernel), lambda g: (self.to_input(dims(x), kernel, g), self.to_kernel(x, g))

    def to_input(self, sizes: Any, kernel: Any, g: Any) -> Any:
        """The gradient by the input, from the gradient by the result."""
        kernel = self.written_out(kernel)
        if self.by_channel:
            kernel = tf.reshape(kernel, self.by_channel_shape())
            backward = tf.raw_ops.DepthwiseConv2dNativeBackpropInput
            return backward(input_sizes=ints(sizes), filter=kernel, out_backprop=g, **self.options)
        backward = _TO_INPUT[self.rank]
        sizes = ints([*sizes[:-1], sizes[-1] // self.groups])
        parts = zip(tf.split(kernel, self.groups, -1), tf.split(g, self.groups, -1), strict=True)
        gradients = [backward(input_sizes=sizes, filter=k, out_backprop=part, **self.options) for k, part in parts]
        return tf.concat(gradients, -1)

    def to_kernel(self, x: Any, g: Any) -> Any:
        """The gradient by the kernel, from the gradient by the result."""
        if self.by_channel:
            backward = tf.raw_ops.DepthwiseConv2dNativeBackpropFilter
            sizes = self.by_channel_shape()
            gradient = backward(input=x, filter_sizes=sizes, out_backprop=g, **self.options)
            return self.without_zeros(tf.reshape(gradient, self.whole))
        backward = _TO_KERNEL[self.rank]
        sizes = [*self.whole[:-1], self.whole[-1] // self.groups]
        parts = zip(tf.split(x, self.groups, -1), tf.split(g, self.groups, -1), strict=True)
        gradients = [backward(input=a, filter_sizes=sizes, out_backprop=b, **self.options) for a, b in parts]
        return self.without_zeros(tf.concat(gradients, -1))


def _over_two(kernel: Any) -> Any:
    return tf.expand_dims(kernel, 0) if kernel.shape.rank == 3 else kernel


@rules(*CONVOLUTIONS[""])
def _(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(kernel.shape[:-2], strides, dilations, padding)
    x, kernel = _last(x, data_format), _over_two(kernel)
    if 0 in x.shape:
        y = tf.zeros((x.shape[0], *windows.count(x.shape[1:-1]), kernel.shape[-1]), x.dtype)
    else:
        convolution = _Convolution(windows, kernel.shape, x.shape[-1])
        y = convolution.forward(_with_pads(x, windows.padding) if convolution.explicit else x, kernel)
    return _restored(y, len(strides), data_format)


@rules(*CONVOLUTIONS["BackpropInput"])
def _(input_sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(kernel.shape[:-2], strides, dilations, padding)
    sizes, kernel = _last_sizes(input_sizes, data_format), _over_two(kernel)
    if 0 in g.shape:
        return tf.zeros(ints(input_sizes), g.dtype)
    convolution = _Convolution(windows, kernel.shape, sizes[-1])
    if convolution.explicit:
        sizes = [n + sum(pair) for n, pair in zip(sizes, [(0, 0), *windows.padding, (0, 0)], strict=True)]
    gradient = convolution.to_input(sizes, kernel, _last(g, data_format))
    return _restored(
        _inside(gradient, windows.padding) if convolution.explicit else gradient, len(strides), data_format
    )


@rules(*CONVOLUTIONS["BackpropFilter"])
def _(x: Any, filter_sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(filter_sizes[:-2], strides, dilations, padding)
    x, g = _last(x, data_format), _last(g, data_format)
    if 0 in g.shape:
        return tf.zeros(ints(filter_sizes), g.dtype)
    convolution = _Convolution(windows, (*windows.size, *filter_sizes[-2:]), x.shape[-1])
    x = _with_pads(x, windows.padding) if convolution.explicit else x
    return tf.reshape(convolution.to_kernel(x, g), ints(filter_sizes))


# -- windows ----------------------------------------------------------------------------------------------------------


def _slide(x: Any, windows: Windows, fill: float = 0.0) -> Any:
    """(batch, spatial..., channels) → (batch, windows..., window..., channels)."""
    rank = len(windows.size)
    x = _with_pads(x, _pads(windows, dims(x)[1:-1]), fill)
    for axis in range(rank, 0, -1):
        size, stride, dilation = windows.size[axis - 1], windows.strides[axis - 1], windows.dilations[axis - 1]
        count = (dims(x)[axis] - windows.spans[axis - 1]) // stride + 1
        x = tf.gather(x, tf.range(count)[:, None] * stride + tf.range(size) * dilation, axis=axis)
    return _moved(x, [0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2), 2 * rank + 1])


@rules("SlidingWindows")
def _(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    return _slide(x, Windows(size, strides, dilations, padding), fill)


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    x = tf.zeros(ints(input_sizes), patches.dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        slid = _slide(x, Windows(size, strides, dilations, padding))
    return tape.gradient(slid, x, patches)


# -- pooling ----------------------------------------------------------------------------------------------------------

# TensorFlow's kernels for three axes know few dtypes, its kernels for planes know all.  So a pool of a volume pools the
# planes, and then pools the results along the first axis.


def _steps(size: Any, strides: Any, padding: str) -> list[tuple[str, dict[str, Any]]]:
    """The pools of planes that make up a pool: the part that each pools, and the options of its kernel."""
    windows = over_two_axes(size, strides, (1,) * len(size), padding)
    parts = {"whole": (0, 1)} if len(windows.size) == 2 else {"planes": (1, 2), "depth": (0,)}
    steps = []
    for name, axes in parts.items():
        size, strides = ([*(values[i] for i in axes), 1][:2] for values in (windows.size, windows.strides))
        if any(n > 1 for n in (*size, *strides)):
            steps.append((name, {"ksize": [1, *size, 1], "strides": [1, *strides, 1], "padding": padding.upper()}))
    return steps


def _as_planes(x: Any, part: str) -> Any:
    """A volume, (batch, depth, height, width, channels), as planes: of height and width, or of depth alone."""
    if part == "whole":
        return x
    batch, depth, height, width, channels = dims(x)
    shape = (batch * depth, height, width, channels) if part == "planes" else (batch, depth, height * width, channels)
    return tf.reshape(x, ints(shape))


def _as_volume(y: Any, x: Any, part: str) -> Any:
    """The result for the planes of `x`, as a volume again."""
    if part == "whole":
        return y
    batch, depth, height, width, channels = dims(x)
    a, b = dims(y)[1:3]
    return tf.reshape(
        y, ints((batch, depth, a, b, channels) if part == "planes" else (batch, a, height, width, channels))
    )


def _pool(pool: Callable[..., Any], gradient: Callable[..., Any]) -> tuple[Rule, Rule]:
    """The rules of a pool and of its gradient.

    Args:
        pool: (x, **options) → result, for planes.
        gradient: (x, g, **options) → gradient of x, for planes.
    """

    def taken(x: Any, part: str, options: dict[str, Any]) -> Any:
        return _as_volume(pool(_as_planes(x, part), **options), x, part)

    def forward(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
        x = _last(x, data_format)
        for step in _steps(size, strides, padding):
            x = taken(x, *step)
        return _restored(x, len(size), data_format)

    def backward(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
        steps = _steps(size, strides, padding)
        x, g = _last(x, data_format), _last(g, data_format)
        before = []
        for step in steps:
            before.append(x)
            x = taken(x, *step)
        for x, (part, options) in zip(reversed(before), reversed(steps), strict=True):
            g = tf.reshape(gradient(_as_planes(x, part), _as_planes(g, part), **options), ints(dims(x)))
        return _restored(g, len(size), data_format)

    return forward, backward


def _max_pool_gradient(x: Any, g: Any, **options: Any) -> Any:
    y = tf.raw_ops.MaxPool(input=x, **options)
    return tf.raw_ops.MaxPoolGrad(orig_input=x, orig_output=y, grad=g, **options)


def _max_pool(x: Any, **options: Any) -> Any:
    """The kernel's pool with NaN, which the kernel skips, and with -inf, which it takes for the lowest number."""
    y = tf.raw_ops.MaxPool(input=x, **options)
    y = tf.where(y == x.dtype.min, tf.constant(-math.inf, x.dtype), y)

    def with_nan() -> Any:
        nan = tf.raw_ops.MaxPool(input=cast(tf.math.is_nan(x), x.dtype), **options)
        return tf.where(nan > 0, tf.constant(math.nan, x.dtype), y)

    # NaN is rare, so the pool of NaN runs only if the sum is one.
    return tf.cond(tf.math.is_nan(tf.reduce_sum(x)), with_nan, lambda: y)


_POOLS = {
    "MaxPool": _pool(_max_pool, _max_pool_gradient),
    "AvgPool": _pool(
        kernel("AvgPool", "value"),
        lambda x, g, **options: tf.raw_ops.AvgPoolGrad(orig_input_shape=ints(dims(x)), grad=g, **options),
    ),
}
for kind, (forward, backward) in _POOLS.items():
    for name in POOLS[kind]:
        rules[name], rules[f"{name}Grad"] = forward, backward
