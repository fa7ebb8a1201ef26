"""The gradients of ops, as training graphs have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.formats.tensorflow.rows import row

FORMULAS: dict[str, Callable[..., Any]] = {
    "SigmoidGrad: y/T g/T": lambda y, g: g * y * (1 - y),
    "TanhGrad: y/T g/T": lambda y, g: g * (1 - ops.square(y)),
    "SqrtGrad: y/T g/T": lambda y, g: g * 0.5 / y,
    "RsqrtGrad: y/T g/T": lambda y, g: g * -0.5 * y * ops.square(y),
    "ReciprocalGrad InvGrad: y/T g/T": lambda y, g: -g * ops.square(y),
    "SoftplusGrad: g/T x/T": lambda g, x: g * ops.sigmoid(x),
    "SoftsignGrad: g/T x/T": lambda g, x: g / ops.square(1 + ops.absolute(x)),
    "EluGrad: g/T y/T": lambda g, y: ops.where(y < 0, g * (y + 1), g),
}
for _text, _formula in FORMULAS.items():
    row(_text)(_formula)


@row("BiasAddGrad: g/T; data_format@layout")
def _(g: Any, data_format: str) -> Any:
    channels = len(g.shape) - 1 if data_format == "channels_last" else 1
    return ops.sum(g, [axis for axis in range(len(g.shape)) if axis != channels])
