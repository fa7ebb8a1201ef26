"""Layers: convolutions, normalization and losses."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of


@row("BiasAddV1: x bias")
def _(x: Any, bias: Any) -> Any:
    return ops.bias_add(x, bias, data_format="channels_last")


@row("DepthwiseConv2dNative: x kernel; strides@spatial padding@padding dilations@dilations data_format@layout")
def depthwise(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    """The convolution of each channel with kernels of its own."""
    height, width, channels, multiplier = dims_of(kernel)
    kernel = ops.reshape(kernel, [height, width, 1, channels * multiplier])
    return OPS["Conv2D"](x, kernel, strides, padding, dilations, data_format)


_NORM = "epsilon is_training exponential_avg_factor:factor data_format@layout"


@row(
    f"FusedBatchNorm: x scale offset mean variance; {_NORM}",
    f"FusedBatchNormV2: x scale offset mean variance; {_NORM}",
)
def batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    data_format: str,
    epsilon: float = 1e-4,
    is_training: bool = True,
    factor: float = 1.0,
) -> list[Any]:
    """The normalized values, and the mean and the variance twice: unbiased, and as they were used.

    Raises:
        Unreadable: it updates averages.
    """
    axis = -1 if data_format == "channels_last" else 1
    if not is_training:
        y = OPS["BatchNormalization"](x, mean, variance, offset, scale, axis, epsilon)
        return [y, mean, variance, mean, variance]
    if factor != 1.0:
        raise Unreadable("it updates averages as it computes")
    axes = [i for i in range(len(x.shape)) if i != axis % len(x.shape)]
    mean, variance = ops.moments(ops.cast(x, scale.dtype), axes)
    y = OPS["BatchNormalization"](x, mean, variance, offset, scale, axis, epsilon)
    count = ops.cast(ops.prod(ops.shape(x)) // ops.shape(x)[axis], variance.dtype)
    return [y, mean, variance * (count / ops.maximum(count - 1, 1)), mean, variance]


@row(f"FusedBatchNormV3: x scale offset mean variance; {_NORM}")
def _(x: Any, scale: Any, **others: Any) -> Any:
    return [*batch_norm(x, scale, **others), ops.zeros([0], scale.dtype)]


@row("SoftmaxCrossEntropyWithLogits: logits labels")
def _(logits: Any, labels: Any) -> Any:
    return [OPS["SoftmaxCrossEntropyWithLogits"](labels, logits, -1), ops.softmax(logits) - labels]


@row("SparseSoftmaxCrossEntropyWithLogits: logits labels")
def _(logits: Any, labels: Any) -> Any:
    hot = ops.one_hot(labels, dims_of(logits)[-1], dtype=logits.dtype)
    return [OPS["SparseSoftmaxCrossEntropyWithLogits"](labels, logits, -1), ops.softmax(logits) - hot]


@row("LRN: x; depth_radius:radius bias alpha beta")
def local_response(x: Any, radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> Any:
    """Values over a power of the squares of the channels around them."""
    squares = OPS["PadV2"](ops.square(x), [0, 0, 0, radius], [0, 0, 0, radius])
    depth = dims_of(x)[-1]
    total = squares[..., :depth]
    for i in range(1, 2 * radius + 1):
        total = total + squares[..., i : depth + i]
    return x / (bias + alpha * total) ** beta
