"""The layers of convolutions and of pooling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.layers.core import WEIGHTS, finished
from dovetail.compat.tensorflow.names.layers.rows import layer
from dovetail.core.values.value_kinds import static_shape

_WINDOW = "filters kernel_size strides=1 padding='valid' data_format='channels_last'"
SEPARATE = (
    "depthwise_initializer=None pointwise_initializer=None bias_initializer='zeros' depthwise_regularizer=None "
    "pointwise_regularizer=None bias_regularizer=None activity_regularizer=None depthwise_constraint=None "
    "pointwise_constraint=None bias_constraint=None trainable=True name=None"
)


def window(layer: Any, rank: int) -> list[int]:
    """The size of a window along each axis, of one size or several."""
    size = layer.kernel_size
    return [int(n) for n in size] if hasattr(size, "__iter__") else [int(size)] * rank


def _kernel(rank: int, layer: Any, channels: int) -> list[int]:
    return [*window(layer, rank), channels, int(layer.filters)]


def _transposed(rank: int, layer: Any, channels: int) -> list[int]:
    return [*window(layer, rank), int(layer.filters), channels]


def _depthwise(rank: int, layer: Any, channels: int) -> list[int]:
    return [*window(layer, rank), channels, int(layer.depth_multiplier)]


def _pointwise(rank: int, layer: Any, channels: int) -> list[int]:
    return [*[1] * rank, channels * int(layer.depth_multiplier), int(layer.filters)]


def filters(layer: Any, channels: int) -> list[int]:
    return [int(layer.filters)]


def moves(layer: Any) -> tuple[Any, ...]:
    """How a window moves."""
    return layer.strides, layer.padding.lower(), layer.data_format, layer.dilation_rate


def conv(layer: Any, x: Any) -> Any:
    """Convolution with a window that slides over the inputs."""
    return finished(layer, ops.conv(x, layer.kernel, *moves(layer)))


def conv_transpose(layer: Any, x: Any) -> Any:
    """Transposed convolution, which enlarges the inputs."""
    made = ops.conv_transpose(x, layer.kernel, layer.strides, layer.padding.lower(), None, layer.data_format)
    return finished(layer, made)


def separable_conv(layer: Any, x: Any) -> Any:
    """Convolution of each channel by itself, then a mixture of the channels."""
    return finished(layer, ops.separable_conv(x, layer.depthwise_kernel, layer.pointwise_kernel, *moves(layer)))


for _rank in (1, 2, 3):
    layer(
        f"Conv{_rank}D conv{_rank}d",
        f"{_WINDOW} dilation_rate=1 activation=None use_bias=True {WEIGHTS}",
        kernel=partial(_kernel, _rank),
        bias=filters,
    )(conv)
for _rank in (2, 3):
    layer(
        f"Conv{_rank}DTranspose conv{_rank}d_transpose",
        f"{_WINDOW} activation=None use_bias=True {WEIGHTS}",
        kernel=partial(_transposed, _rank),
        bias=filters,
    )(conv_transpose)
for _rank in (1, 2):
    layer(
        f"SeparableConv{_rank}D separable_conv{_rank}d",
        f"{_WINDOW} dilation_rate=1 depth_multiplier=1 activation=None use_bias=True {SEPARATE}",
        depthwise_kernel=partial(_depthwise, _rank),
        pointwise_kernel=partial(_pointwise, _rank),
        bias=filters,
    )(separable_conv)


def _pooling(pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(layer: Any, x: Any) -> Any:
        """One number for each window that slides over the inputs: the largest, or the mean."""
        return pooled_volumes(pool, x, layer.pool_size, layer.strides, layer.padding.lower(), layer.data_format)

    return pooled


def pooled_volumes(pool: Callable[..., Any], x: Any, size: Any, steps: Any, padding: str, layout: str) -> Any:
    """A pool of images or volumes.  Volumes get their channels last for it, as in TensorFlow's graphs."""
    if layout == "channels_last" or len(static_shape(x)) != 5:
        return pool(x, size, steps, padding, layout)
    pooled = pool(ops.transpose(x, (0, 2, 3, 4, 1), name="transpose"), size, steps, padding, "channels_last")
    return ops.transpose(pooled, (0, 4, 1, 2, 3), name="transpose")


for _rank in (1, 2, 3):
    for _word, _pool in {"Max": ops.max_pool, "Average": ops.average_pool}.items():
        layer(
            f"{_word}Pooling{_rank}D {_word.lower()}_pooling{_rank}d",
            "pool_size strides padding='valid' data_format='channels_last' name=None",
        )(_pooling(_pool))
