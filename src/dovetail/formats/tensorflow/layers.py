"""Nodes of layers that no row can say: convolutions, normalization, losses and images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import Unreadable
from dovetail.formats.tensorflow.reading import Node, special
from dovetail.ops.shapes.shape import dims_of


@special("BiasAddV1")
def _bias(node: Node) -> Any:
    return ops.bias_add(node.tensor(0), node.tensor(1), data_format="channels_last")


@special("DepthwiseConv2dNative")
def _depthwise(node: Node) -> Any:
    x, kernel = node.tensors()
    height, width, channels, multiplier = dims_of(kernel)
    kernel = ops.reshape(kernel, [height, width, 1, channels * multiplier])
    strides, dilations = node.attrs.spatial("strides"), node.attrs.spatial("dilations", [1, 1, 1, 1])
    return OPS["Conv2D"](x, kernel, strides, node.attrs.padding(), dilations, node.attrs.layout)


@special("MaxPoolV2")
def _max_pool(node: Node) -> Any:
    size, strides = (tuple(node.constant(index)[1:3]) for index in (1, 2))
    if node.attrs.layout != "channels_last":
        raise Unreadable("its channels come first")
    return OPS["MaxPool"](node.tensor(0), size, strides, node.attrs.padding(), "channels_last")


@special("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
def _batch_norm(node: Node) -> Any:
    x, scale, offset, mean, variance = node.tensors()
    epsilon, axis = node.attrs("epsilon", 1e-4), -1 if node.attrs.layout == "channels_last" else 1
    if node.attrs("is_training", True):
        if node.attrs("exponential_avg_factor", 1.0) != 1.0:
            raise Unreadable("it updates averages as it computes")
        axes = [i for i in range(len(x.shape)) if i != axis % len(x.shape)]
        mean, variance = ops.moments(x, axes)
    y = OPS["BatchNormalization"](x, mean, variance, offset, scale, axis, epsilon)
    unbiased = variance
    if node.attrs("is_training", True):
        count = ops.cast(ops.prod(ops.shape(x)) // ops.shape(x)[axis], variance.dtype)
        unbiased = variance * (count / ops.maximum(count - 1, 1))
    others = [ops.zeros([0], variance.dtype)] if node.type.endswith("V3") else []
    return [y, mean, unbiased, mean, variance, *others]


@special("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(node: Node) -> Any:
    logits, labels = node.tensors()
    return [OPS[node.type](labels, logits, -1), ops.softmax(logits) - labels]


@special("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(node: Node) -> Any:
    logits, labels = node.tensors()
    hot = ops.one_hot(labels, dims_of(logits)[-1], dtype=logits.dtype)
    return [OPS[node.type](labels, logits, -1), ops.softmax(logits) - hot]


@special("LRN")
def _local_response(node: Node) -> Any:
    x, radius = node.tensor(0), node.attrs("depth_radius", 5)
    bias, alpha, beta = (node.attrs(name, value) for name, value in (("bias", 1.0), ("alpha", 1.0), ("beta", 0.5)))
    squares = OPS["PadV2"](ops.square(x), [0, 0, 0, radius], [0, 0, 0, radius])
    depth = dims_of(x)[-1]
    sums = [squares[..., i : depth + i] for i in range(2 * radius + 1)]
    total = sums[0]
    for other in sums[1:]:
        total = total + other
    return x / (bias + alpha * total) ** beta


@special("ResizeBilinear ResizeBicubic ResizeNearestNeighbor")
def _resize(node: Node) -> Any:
    x, size = node.tensor(0), node.shape(1)
    aligned, centered = node.attrs("align_corners", False), node.attrs("half_pixel_centers", False)
    if node.type != "ResizeNearestNeighbor":
        x = ops.cast(x, "float32")
    if centered:
        return OPS[node.type](x, size, "channels_last")
    if node.type == "ResizeBicubic":
        raise Unreadable("it does not sample at the centres of pixels")
    for axis, new in ((1, size[0]), (2, size[1])):
        x = _resampled(x, axis, new, aligned, node.type == "ResizeNearestNeighbor")
    return x


def _resampled(x: Any, axis: int, new: Any, aligned: bool, nearest: bool) -> Any:
    """An axis of an image with another size, from pixels at their corners, as TensorFlow 1 resizes."""
    old = dims_of(x)[axis]
    if not isinstance(old, int) or not isinstance(new, int):
        raise Unreadable("it resizes from corners, and a size depends on values")
    scale = np.float32((old - 1) / (new - 1)) if aligned and new > 1 else np.float32(old / new)
    places = np.arange(new, dtype="float32") * scale
    if nearest:
        rounded = np.floor(places + 0.5) if aligned else np.floor(places)
        return OPS["GatherV2"](x, np.minimum(rounded, old - 1).astype("int32"), axis)
    low = np.minimum(np.floor(places), old - 1).astype("int32")
    high = np.minimum(low + 1, old - 1)
    weight = (places - low).astype("float32").reshape([-1] + [1] * (3 - axis))
    first, second = (OPS["GatherV2"](x, index, axis) for index in (low, high))
    return first + (second - first) * weight
