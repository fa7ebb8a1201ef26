"""Arithmetic that several ops compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row

FORMULAS: dict[str, Callable[..., Any]] = {
    "L2Loss: x": lambda x: ops.sum(ops.square(x)) / 2,
    "Igammac: a x": lambda a, x: 1 - OPS["Igamma"](a, x),
    "Xlogy: x y": lambda x, y: _zero_wins(x, y, ops.log),
    "Xlog1py: x y": lambda x, y: _zero_wins(x, y, ops.log1p),
    "Xdivy: x y": lambda x, y: _zero_wins(x, y, lambda y: 1 / y),
    "FloorDiv: x y": lambda x, y: (
        ops.floor(x / y) if x.dtype.is_floating else ops.floor_divide(x, y)
    ),  # -0.5 // inf is 0
    "ReluGrad: g y; T>0": lambda g, y: ops.where(y > 0, g, 0),  # 0 where y is NaN
    "Relu6Grad: g y; T>0": lambda g, y: ops.where(ops.logical_and(y > 0, y < 6), g, 0),
    "MulNoNan: x y": lambda x, y: ops.where(ops.logical_or(OPS["IsFinite"](x), ops.not_equal(y, 0)), x, 0) * y,
}
for _text, _formula in FORMULAS.items():
    row(_text)(_formula)


def _zero_wins(x: Any, y: Any, function: Callable[[Any], Any]) -> Any:
    """x · function(y), and 0 where x is 0."""
    zero = ops.equal(x, 0)
    product = function(ops.where(zero, ops.ones_like(x), y)) * x
    return ops.where(zero, ops.zeros_like(product), product)


@row("AddN: xs*", "AccumulateNV2: xs*; shape")
def _(xs: Sequence[Any]) -> Any:
    total = ops.identity(xs[0]) if len(xs) == 1 else xs[0]
    for other in xs[1:]:
        total = total + other
    return total


@row("Div: x y")
def _(x: Any, y: Any) -> Any:
    return truncated(x, y) if x.dtype.is_integer else OPS["RealDiv"](x, y)


@row("TruncateDiv: x y")
def truncated(x: Any, y: Any) -> Any:
    """The quotient of integers, rounded towards zero."""
    floor = OPS["FloorDiv"](x, y)
    is_below = ops.logical_and(ops.less(floor, 0), ops.not_equal(floor * y, x))
    return floor + ops.cast(is_below, floor.dtype)


@row("Mod TruncateMod: x y")
def _(x: Any, y: Any) -> Any:
    return x - (truncated(x, y) if x.dtype.is_integer else OPS["Trunc"](x / y)) * y


@row("PopulationCount: x")
def _(x: Any) -> Any:
    """The number of ones among the bits of integers."""
    places = np.arange(8 * x.dtype.itemsize)
    bits = ops.bitwise_and(ops.right_shift(ops.expand_dims(x, -1), ops.convert(places, dtype=x.dtype)), 1)
    return ops.cast(ops.sum(ops.cast(bits, "int32"), -1), "uint8")
