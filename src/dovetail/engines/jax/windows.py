"""Rules of convolutions, sliding windows and pooling, and of their gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows, join_shape, split_shape
from dovetail.core.rules import Rule
from dovetail.engines.jax.tables import rules


def _transposed(linear: Rule, shape: Any, g: Any) -> Any:
    """The transpose of a linear function of an array of some shape, at `g`."""
    return jax.linear_transpose(linear, jax.ShapeDtypeStruct(shape, g.dtype))(g)[0]


# -- convolution ------------------------------------------------------------------------------------------------------


def _conv(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    _, sizes, channels = split_shape(x.shape, data_format)
    *size, per_group, _ = kernel.shape
    spatial = "DHW"[-len(strides) :]
    layout = "".join(join_shape("N", spatial, "C", data_format))
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        Windows(tuple(size), strides, dilations, padding).pads(sizes),
        rhs_dilation=dilations,
        dimension_numbers=(layout, f"{spatial}IO", layout),
        feature_group_count=channels // per_group,
    )


def input_gradient(convolution: Rule) -> Rule:
    """The rule of the gradient by the input of a convolution that has this rule."""

    def gradient(input_sizes: Any, kernel: Any, g: Any, *window: Any) -> Any:
        return _transposed(lambda x: convolution(x, kernel, *window), input_sizes, g)

    return gradient


def kernel_gradient(convolution: Rule) -> Rule:
    """The rule of the gradient by the kernel of a convolution that has this rule."""

    def gradient(x: Any, filter_sizes: Any, g: Any, *window: Any) -> Any:
        return _transposed(lambda kernel: convolution(x, kernel, *window), filter_sizes, g)

    return gradient


rules |= dict.fromkeys(CONVOLUTIONS[""], _conv)
rules |= dict.fromkeys(CONVOLUTIONS["BackpropInput"], input_gradient(_conv))
rules |= dict.fromkeys(CONVOLUTIONS["BackpropFilter"], kernel_gradient(_conv))


# -- windows and pooling ----------------------------------------------------------------------------------------------


def _slide(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float = 0.0) -> Any:
    windows = Windows(size, strides, dilations, padding)
    sizes = x.shape[1:-1]
    if 0 in windows.count(sizes):
        return jnp.zeros((x.shape[0], *windows.count(sizes), *size, x.shape[-1]), x.dtype)
    x = jnp.pad(x, [(0, 0), *windows.pads(sizes), (0, 0)], constant_values=fill)
    for axis, count in reversed(list(enumerate(windows.count(sizes)))):
        starts, offsets = np.arange(count) * strides[axis], np.arange(size[axis]) * dilations[axis]
        x = jnp.moveaxis(jnp.take(x, starts[:, None] + offsets, axis + 1), axis + 2, len(size) + 1)
    return x


rules["SlidingWindows"] = _slide


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, *window: Any) -> Any:
    return _transposed(lambda x: _slide(x, *window), input_sizes, patches)


def _reduce_windows(
    x: Any, initial: float, reduce: Any, size: Any, strides: Any, padding: str, data_format: str
) -> Any:
    pads = Windows(size, strides, (1,) * len(size), padding).pads(split_shape(x.shape, data_format)[1])
    window, steps = join_shape(1, size, 1, data_format), join_shape(1, strides, 1, data_format)
    return lax.reduce_window(
        x, np.asarray(initial, x.dtype), reduce, window, steps, join_shape((0, 0), pads, (0, 0), data_format)
    )


def _max_pool(x: Any, *pool: Any) -> Any:
    return _reduce_windows(x, -np.inf, lax.max, *pool)


def _average_pool(x: Any, *pool: Any) -> Any:
    _, sizes, _ = split_shape(x.shape, pool[-1])
    ones = jnp.ones(join_shape(1, sizes, 1, pool[-1]), x.dtype)
    return _reduce_windows(x, 0, lax.add, *pool) / _reduce_windows(ones, 0, lax.add, *pool)


rules |= dict.fromkeys(POOLS["MaxPool"], _max_pool)
rules |= dict.fromkeys(POOLS["AvgPool"], _average_pool)


@rules(*(f"{name}Grad" for name in POOLS["MaxPool"]))
def _(x: Any, g: Any, *pool: Any) -> Any:
    return jax.vjp(lambda x: _max_pool(x, *pool), x)[1](g)[0]


@rules(*(f"{name}Grad" for name in POOLS["AvgPool"]))
def _(x: Any, g: Any, *pool: Any) -> Any:
    return _transposed(lambda x: _average_pool(x, *pool), x.shape, g)
