"""Activations: Relu, Elu, Sigmoid, Tanh, Softmax and others, and their gradients, such as ReluGrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.formats.tensorflow.table import row, rows

rows("""
Elu LogSoftmax Relu Relu6 Selu Sigmoid Softmax Softplus Softsign Tanh: x
LeakyRelu: x; alpha:negative_slope
LeakyReluGrad: g x; alpha:negative_slope
ReluGrad Relu6Grad: g y; T>0
SigmoidGrad < SigmoidGrad: y g
""")

SELU = 1.0507009873554805, 1.6732632423543772  # the scale, and alpha
FORMULAS: dict[str, Callable[..., Any]] = {
    "ReluGrad: g y; T>0": lambda g, y: ops.where(y > 0, g, 0),  # 0 where y is NaN
    "Relu6Grad: g y; T>0": lambda g, y: ops.where(ops.logical_and(y > 0, y < 6), g, 0),
    "SigmoidGrad: y g": lambda y, g: g * y * (1 - y),
    "TanhGrad: y g": lambda y, g: g * (1 - ops.square(y)),
    "SoftplusGrad: g x": lambda g, x: g * ops.sigmoid(x),
    "SoftsignGrad: g x": lambda g, x: g / ops.square(1 + ops.absolute(x)),
    "EluGrad: g y": lambda g, y: ops.where(y < 0, g * (y + 1), g),
    "SeluGrad: g y": lambda g, y: ops.where(y < 0, g * (y + SELU[0] * SELU[1]), g * SELU[0]),
}

for _text, _formula in FORMULAS.items():
    row(_text)(_formula)
