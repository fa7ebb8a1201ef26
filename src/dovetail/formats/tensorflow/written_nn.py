"""Writing of layers: convolutions of single channels, gradients of pools, normalization, losses and images."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.windows import POOLS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.tensorflow.ops.convolutions import channels_of, is_by_channel
from dovetail.formats.tensorflow.written_nodes import Place, Ref, layout_of, writes
from dovetail.graph.operation import Operation

BY_CHANNEL = "DepthwiseConv2dNative"


def _moves(place: Place) -> dict[str, Any]:
    attrs = place.operation.attrs
    moves = {"strides": [1, *attrs["strides"], 1], "padding": attrs["padding"].upper()}
    return {**moves, "data_format": layout_of(place.operation)}


def _by_channel(place: Place, kernel: Any) -> Ref:
    """The shape of a kernel, (height, width, channels, results of each), in TensorFlow's order."""
    height, width, _, outputs = kernel
    channels = channels_of(place.operation)
    return place.constant([height, width, channels, outputs // channels], "shape")


@writes("Conv2D", is_by_channel)
def _convolve(place: Place, x: Ref, kernel: Ref, *moves: Any) -> list[Ref]:
    kernel = place.node("Reshape", kernel, _by_channel(place, place.shapes[1]))
    return place.result(BY_CHANNEL, x, kernel, **_moves(place))


@writes("Conv2DBackpropInput", is_by_channel)
def _to_input(place: Place, sizes: Any, kernel: Ref, g: Ref, *moves: Any) -> list[Ref]:
    kernel = place.node("Reshape", kernel, _by_channel(place, place.operation.inputs[-2].shape))
    return place.result(f"{BY_CHANNEL}BackpropInput", place.taken(sizes, "sizes"), kernel, g, **_moves(place))


@writes("Conv2DBackpropFilter", is_by_channel)
def _to_kernel(place: Place, x: Ref, sizes: Any, g: Ref, *moves: Any) -> list[Ref]:
    sizes = place.operation.outputs[0].shape
    shape = _by_channel(place, sizes)
    gradient = place.node(f"{BY_CHANNEL}BackpropFilter", x, shape, g, **_moves(place))
    return place.result("Reshape", gradient, place.constant(sizes, "sizes"))


@writes("Conv3DBackpropFilter")
def _to_deep_kernel(place: Place, x: Ref, sizes: Any, g: Ref, *moves: Any) -> list[Ref]:
    moved = {**_moves(place), "dilations": [1] * 5}
    return place.result("Conv3DBackpropFilterV2", x, place.taken(sizes, "sizes"), g, **moved)


def _pools(place: Place) -> dict[str, Any]:
    return {"ksize": [1, *place.operation.attrs["size"], 1], **_moves(place)}


@writes(" ".join(f"{name}{part}" for name in POOLS["MaxPool"][1:] for part in ("Grad", "GradGrad")))
def _max_pool(place: Place, x: Ref, g: Ref, *moves: Any) -> list[Ref]:
    type = place.operation.type
    y = place.node(type.partition("Grad")[0], x, **_pools(place))
    return place.result(type, x, y, g, **_pools(place))


@writes(" ".join(f"{name}Grad" for name in POOLS["AvgPool"][1:]))
def _average_pool(place: Place, x: Ref, g: Ref, *moves: Any) -> list[Ref]:
    shape = place.node("Shape", x, dtype="int32", out_type=as_dtype("int32"))
    return place.result(place.operation.type, shape, g, **_pools(place))


def _is_image(operation: Operation) -> bool:
    x, *others = operation.inputs
    axis = operation.attrs["axis"]
    return (
        len(others) == 4 and x.dtype.name == "float32" and x.shape is not None and len(x.shape) == 4 and axis in (3, -1)
    )


@writes("BatchNormalization", _is_image)
def _normalize(
    place: Place, x: Ref, mean: Ref, variance: Ref, offset: Ref, scale: Ref, axis: int, epsilon: float
) -> list[Ref]:
    inputs = x, scale, offset, mean, variance
    return place.result("FusedBatchNormV3", *inputs, epsilon=epsilon, is_training=False, data_format="NHWC")


def _is_matrix(operation: Operation) -> bool:
    shape = operation.inputs[1].shape
    return shape is not None and len(shape) == 2 and operation.attrs["axis"] in (-1, 1)


@writes("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", _is_matrix)
def _cross_entropy(place: Place, labels: Ref, logits: Ref, axis: int) -> list[Ref]:
    return place.result(place.operation.type, logits, labels)


@writes("SigmoidGrad")
def _sigmoid_gradient(place: Place, g: Ref, y: Ref) -> list[Ref]:
    return place.result("SigmoidGrad", y, g)


@writes("LeakyReluGrad")
def _leaky_gradient(place: Place, g: Ref, x: Ref, negative_slope: float) -> list[Ref]:
    return place.result("LeakyReluGrad", g, x, alpha=negative_slope)


def _has_kernel(operation: Operation) -> bool:
    return operation.attrs["data_format"] == "channels_last" and operation.inputs[0].dtype.name == "float32"


@writes("ResizeBilinear ResizeNearestNeighbor ResizeBicubic", _has_kernel)
def _resize(place: Place, x: Ref, size: Any, data_format: str) -> list[Ref]:
    return place.result(
        place.operation.type, x, place.taken(size, "size"), align_corners=False, half_pixel_centers=True
    )
