"""Activations: Relu, Sigmoid, Elu, Gelu, Swish, PRelu, Shrink and others; Softmax, LogSoftmax, Hardmax."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.formats.onnx.ops.normalization import by_channel
from dovetail.formats.onnx.ops.shapes import as_matrix
from dovetail.formats.onnx.table import body, row, rows
from dovetail.ops.shapes.shape import dims_of

rows("""
Relu Sigmoid Softplus Softsign Mish: x
HardSwish = HardSilu: x
HardSigmoid < HardSigmoid: x; alpha=0.16666666666666666 beta=0.5
Elu Celu: x; alpha|1.0
LeakyRelu: x; alpha:negative_slope|0.01
Selu < Selu: x
Swish 24 = Silu: x; alpha=1.0
Gelu 20 = Gelu: x; approximate=none
Gelu 20 = ApproximateGelu: x; approximate=tanh
Softmax 13 = Softmax: x; axis|-1
LogSoftmax 13 = LogSoftmax: x; axis|-1
""")


# -- reading ----------------------------------------------------------------------------------------------------------


@row("HardSigmoid: x; alpha beta")
def hard_sigmoid(x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return ops.clip(x * alpha + beta, 0, 1)


@row("Selu: x; alpha gamma")
def _(x: Any, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return ops.elu(x, alpha) * gamma


@row("ThresholdedRelu: x; alpha")
def _(x: Any, alpha: float = 1.0) -> Any:
    return ops.where(ops.greater(x, alpha), x, ops.zeros_like(x))


@row("Shrink: x; lambd bias")
def _(x: Any, lambd: float = 0.5, bias: float = 0.0) -> Any:
    low, high = (ops.cast(shifted, x.dtype) for shifted in (x + bias, x - bias))
    return ops.where(ops.less(x, -lambd), low, ops.where(ops.greater(x, lambd), high, ops.zeros_like(x)))


@row("PRelu 1-6: x slope")
def _(x: Any, slope: Any) -> Any:
    return _parametric(x, by_channel(slope, x))


@row("PRelu 7: x slope")
def _parametric(x: Any, slope: Any) -> Any:
    return ops.where(ops.less(x, 0), x * slope, x)


@row("Swish 24: x; alpha")
def swish(x: Any, alpha: float = 1.0) -> Any:
    """A number times the share that its sigmoid is."""
    return x * ops.sigmoid(x * alpha)


@row("SwiGLU: x gate; alpha")
def _(x: Any, gate: Any, alpha: float = 1.0) -> Any:
    return swish(x, alpha) * gate


@row("Hardmax 13: x; axis")
def _hardmax(x: Any, axis: int = -1) -> Any:
    return ops.one_hot(ops.argmax(x, axis), dims_of(x)[axis], axis, x.dtype)


def _flattened(function: Callable[[Any, int], Any], x: Any, axis: int = 1) -> Any:
    """A function along all axes from one on, as if they were one."""
    return ops.reshape(function(as_matrix(x, axis), 1), dims_of(x))


row("Hardmax 1-12: x; axis")(partial(_flattened, _hardmax))
row("Softmax 1-12: x; axis")(partial(_flattened, ops.softmax))
row("LogSoftmax 1-12: x; axis")(partial(_flattened, ops.log_softmax))


# -- writing ----------------------------------------------------------------------------------------------------------


@body("Softmax LogSoftmax", lambda operation: not isinstance(operation.attrs["axis"], int))
def _along_axes(op: Any, x: Any, axis: Any) -> Any:
    return op(x, axis[0]) if axis is not None and len(axis) == 1 else op.body(x, axis)
