"""The gradients of ops, as training graphs have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.ops.images import resized
from dovetail.formats.tensorflow.ops.normalization import batch_norm, local_response
from dovetail.formats.tensorflow.ops.shapes import strided_slice
from dovetail.formats.tensorflow.table import row
from dovetail.graph.operation import GraphTensor
from dovetail.graph.shape_values import shape_values
from dovetail.ops.shapes.shape import dims_of

SELU = 1.0507009873554805, 1.6732632423543772  # the scale, and alpha
FORMULAS: dict[str, Callable[..., Any]] = {
    "SigmoidGrad: y g": lambda y, g: g * y * (1 - y),
    "TanhGrad: y g": lambda y, g: g * (1 - ops.square(y)),
    "SqrtGrad: y g": lambda y, g: g * 0.5 / y,
    "RsqrtGrad: y g": lambda y, g: g * -0.5 * y * ops.square(y),
    "ReciprocalGrad InvGrad: y g": lambda y, g: -g * ops.square(y),
    "SoftplusGrad: g x": lambda g, x: g * ops.sigmoid(x),
    "SoftsignGrad: g x": lambda g, x: g / ops.square(1 + ops.absolute(x)),
    "EluGrad: g y": lambda g, y: ops.where(y < 0, g * (y + 1), g),
    "SeluGrad: g y": lambda g, y: ops.where(y < 0, g * (y + SELU[0] * SELU[1]), g * SELU[0]),
}
for _text, _formula in FORMULAS.items():
    row(_text)(_formula)


def through(function: Callable[..., Any], g: Any, *xs: Any) -> list[Any]:
    """The gradients by some tensors of a function of them, where `g` arrives at its results."""
    gradients = hooks.gradients_through(function, xs, g)
    return [ops.zeros_like(x) if one is None else one for x, one in zip(xs, gradients, strict=True)]


def blank(g: Any, shape: Any) -> Any:
    """A tensor for the input of a linear op, whose values do not matter."""
    return ops.broadcast_to(ops.sum(g) * 0, shape)


@row("BiasAddGrad: g; data_format@layout")
def _(g: Any, data_format: str) -> Any:
    channels = len(g.shape) - 1 if data_format == "channels_last" else 1
    return ops.sum(g, [axis for axis in range(len(g.shape)) if axis != channels])


def broadcast_axes(a: Any, b: Any, dtype: Any) -> Any:
    """The axes over which a gradient is summed: an unknown dimension is taken for one that is not broadcast.

    If it is, the following `Reshape` to this dimension refuses the gradient.

    Raises:
        Unreadable: a rank is not known.
    """
    shapes = [shape_values(one).of(one) if type(one) is GraphTensor else constant_of(one) for one in (a, b)]
    if any(shape is None for shape in shapes):
        raise Unreadable("the rank of a shape is not known")
    rank = max(len(shape) for shape in shapes if shape is not None)
    padded = [[1.0] * (rank - len(shape)) + list(shape) for shape in shapes if shape is not None]
    if padded[0] == padded[1]:
        padded = [[np.nan] * rank] * 2
    return [ops.convert(np.array([i for i, dim in enumerate(dims) if dim == 1]), dtype) for dims in padded]


# -- windows ----------------------------------------------------------------------------------------------------------

_WINDOW = "strides@spatial padding@padding data_format@layout"


@row(*(f"{op}: shape? g; ksize:size@spatial {_WINDOW} +op={op}" for op in ("AvgPoolGrad", "AvgPool3DGrad")))
def _(shape: Any, g: Any, op: str, **window: Any) -> Any:
    return OPS[op](blank(g, shape), g, **window)


_CONVOLUTION = "strides@spatial padding@padding dilations@dilations data_format@layout"


@row(f"DepthwiseConv2dNativeBackpropInput: sizes? kernel g; {_CONVOLUTION}")
def _(sizes: Any, kernel: Any, g: Any, **window: Any) -> Any:
    height, width, channels, multiplier = dims_of(kernel)
    kernel = ops.reshape(kernel, [height, width, 1, channels * multiplier])
    return OPS["Conv2DBackpropInput"](sizes, kernel, g, **window)


@row(f"DepthwiseConv2dNativeBackpropFilter: x sizes! g; {_CONVOLUTION}")
def _(x: Any, sizes: Sequence[int], g: Any, **window: Any) -> Any:
    height, width, channels, multiplier = sizes
    return ops.reshape(OPS["Conv2DBackpropFilter"](x, [height, width, 1, channels * multiplier], g, **window), sizes)


# -- normalization ----------------------------------------------------------------------------------------------------

_NORM = "epsilon is_training data_format@layout"


@row(
    f"FusedBatchNormGrad: g x scale mean variance; {_NORM}",
    f"FusedBatchNormGradV2: g x scale mean variance; {_NORM}",
    f"FusedBatchNormGradV3: g x scale mean variance reserved; {_NORM}",
)
def _(
    g: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    data_format: str,
    reserved: Any = None,
    epsilon: float = 1e-4,
    is_training: bool = True,
) -> list[Any]:
    def norm(x: Any, scale: Any, offset: Any) -> Any:
        return batch_norm(x, scale, offset, mean, variance, data_format, epsilon, is_training)[0]

    nothing = ops.zeros([], scale.dtype)
    return [*through(norm, g, x, scale, ops.zeros_like(scale)), nothing, nothing]


@row("LRNGrad: g x y; depth_radius:radius bias alpha beta")
def _(g: Any, x: Any, y: Any, **numbers: Any) -> Any:
    return through(lambda x: local_response(x, **numbers), g, x)


# -- images and shapes ------------------------------------------------------------------------------------------------


@row(
    *(
        f"Resize{kind}Grad: g x; align_corners:aligned half_pixel_centers:centered +kind={kind}"
        for kind in ("Bilinear", "Bicubic")
    )
)
def _(g: Any, x: Any, **how: Any) -> Any:
    return through(lambda x: resized(x, dims_of(g)[1:3], **how), g, x)


@row("ResizeNearestNeighborGrad: g size?; align_corners:aligned half_pixel_centers:centered")
def _(g: Any, size: Any, **how: Any) -> Any:
    batch, height, width, channels = dims_of(g)
    x = blank(g, [batch, size[0], size[1], channels])
    return through(lambda x: resized(x, [height, width], "NearestNeighbor", **how), g, x)


@row(
    "StridedSliceGrad: shape? begin? end? strides? g; begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask"
)
def _(shape: Any, begin: Any, end: Any, strides: Any, g: Any, **masks: int) -> Any:
    return through(lambda x: strided_slice(x, begin, end, strides, **masks), g, blank(g, shape))


@row("MirrorPadGrad: g paddings!; mode@lower")
def _(g: Any, paddings: Any, mode: str) -> Any:
    inside = tuple(slice(low, dim - high) for (low, high), dim in zip(paddings, dims_of(g), strict=True))
    return through(lambda x: OPS["MirrorPad"](x, paddings, mode), g, g[inside])
