"""Fused ops: compositions for which some libraries have one kernel.

Programs do not call these ops; `passes.fuse` puts them in if the engine claims them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from dovetail.core.base.windows import DataFormat, Padding, PerAxis
from dovetail.core.kinds import Float, MaybeFloat
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer, shapes
from dovetail.core.values.infer import elementwise
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.linalg.linalg import matmul
from dovetail.ops.math.trigonometry import tanh
from dovetail.ops.nn.activation import sigmoid, silu
from dovetail.ops.nn.conv import conv, conv_spec
from dovetail.ops.nn.rectifier import relu, relu6
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import reshape


def _matmul_add_spec(bias: RankedSpec, x: RankedSpec, y: RankedSpec, *transposed: bool) -> TensorSpec:
    product = infer.matmul(x, y, *transposed)
    return TensorSpec(shapes.broadcast(bias.shape, product.shape), product.dtype)


@composite(
    "FusedMatMul",
    infer=_matmul_add_spec,
    samples=[
        sample(array(4), array(2, 3), array(3, 4)),
        sample(array(2, 4), array(3, 2), array(4, 3), transpose_a=True, transpose_b=True),
    ],
)
def matmul_add(bias: Float, x: Float, y: Float, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """The product of two matrices plus a bias that broadcasts to it.

    Source: `torch.addmm`.

    Example:
        >>> matmul_add([1., 2.], [[1., 1.]], [[3., 4.], [5., 6.]]).numpy()
        array([[ 9., 12.]], dtype=float32)
    """
    return matmul(x, y, transpose_a, transpose_b) + bias


@composite(
    "AddScaled", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), -0.5), sample(array(2), array(), 2.0)]
)
def add_scaled(x: Float, y: Float, scale: float) -> Tensor:
    """The sum `x + scale * y`; a step of gradient descent.

    Source: `torch.add` with `alpha`.

    Example:
        >>> add_scaled([1., 2.], [10., 20.], -0.1).numpy()
        array([0., 0.], dtype=float32)
    """
    return x + scale * y


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "Relu": relu,
    "Relu6": relu6,
    "Sigmoid": sigmoid,
    "Silu": silu,
    "Tanh": tanh,
}


def _fused_conv_spec(x: RankedSpec, kernel: RankedSpec, bias: Any, addend: Any, *options: Any) -> TensorSpec:
    *window, _ = options
    return conv_spec(x, kernel, *window)


@composite(
    "FusedConv",
    infer=_fused_conv_spec,
    samples=[
        sample(
            *(array(2, 5, 6, 2), array(3, 2, 2, 3), array(3), array(2, 3, 5, 3)),
            *((1, 1), "valid", (1, 1), "channels_last", "Relu"),
        ),
        sample(
            *(array(1, 5, 1), array(3, 1, 2), None, array(1, 3, 2)),
            *((2,), "same", (1,), "channels_last", "Tanh"),
        ),
        sample(
            *(array(1, 4, 5, 6), array(3, 2, 2, 2), array(2), None),
            *((1, 1), ((1, 0), (1, 0)), (2, 2), "channels_first", "Silu"),
        ),
        sample(
            *(array(2, 0, 3, 4, 1), array(3, 2, 2, 1, 2), array(2), array(2, 0, 2, 2, 2)),
            *((2, 2, 2), "same", (1, 1, 1), "channels_last", "Sigmoid"),
        ),
        sample(
            *(array(1, 3, 4, 4, 2), array(2, 2, 2, 2, 3), array(3), array(1, 2, 3, 3, 3)),
            *((1, 1, 1), "valid", (1, 1, 1), "channels_last", ""),
        ),
    ],
)
def fused_conv(
    x: Float,
    kernel: Float,
    bias: MaybeFloat,
    addend: MaybeFloat,
    strides: PerAxis,
    padding: Padding,
    dilations: PerAxis,
    data_format: DataFormat,
    activation: Literal["", "Relu", "Relu6", "Sigmoid", "Silu", "Tanh"],
) -> Tensor:
    """An activation of a convolution plus a bias, a number for each channel, plus a tensor of the result's shape.

    Source: `tf.raw_ops`' `_FusedConv2D`.

    Example:
        >>> x, kernel, addend = [[[1.], [2.]]], [[[1.]]], [[[1.], [3.]]]
        >>> y = fused_conv(x, kernel, [-3.], addend, (1,), "valid", (1,), "channels_last", "Relu")
        >>> y.numpy().reshape(-1)
        array([0., 2.], dtype=float32)
    """
    y = conv(x, kernel, strides, padding, data_format, dilations)
    if bias is not None:
        y = y + (bias if data_format == "channels_last" else reshape(bias, (-1, *[1] * len(strides))))
    if addend is not None:
        y = y + addend
    return ACTIVATIONS[activation](y) if activation else y


__all__ = ["add_scaled", "fused_conv", "matmul_add"]
