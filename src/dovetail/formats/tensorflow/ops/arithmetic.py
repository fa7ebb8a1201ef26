"""Arithmetic: Abs to Tan, AddV2 to Pow, AddN, SqrtGrad; comparisons, logic and bits: Equal to RightShift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.values.shapes import broadcast
from dovetail.formats.nodes.bodies import by, of
from dovetail.formats.nodes.constants import is_tensor, recorded
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import READ, body, row, rows, special, writes
from dovetail.formats.tensorflow.tensor_lists import TensorList, is_zero
from dovetail.formats.tensorflow.values import Optional
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation

rows("""
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Exp Expm1 Floor IsFinite IsInf IsNan Log Log1p Neg Reciprocal: x
Rint Round Rsqrt Sign Sin Sinh Sqrt Square Tan LogicalNot Invert Conj: x
Inv > Reciprocal: x
AddV2 Sub Mul RealDiv FloorDiv FloorMod DivNoNan Maximum Minimum SquaredDifference Pow: x y
Add > AddV2: x y
Equal NotEqual: x y; incompatible_shape_error=True
Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr: x y
BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift: x y
Atan2: y x
NextAfter: x toward
ClipByValue: x x_min x_max
Complex: x y; Tout>0
Real Imag: x; Tout>0
Angle: z; Tout>0
ComplexAbs > Abs: x; Tout>0
""")

FORMULAS: dict[str, Callable[..., Any]] = {
    "Xlogy: x y": lambda x, y: _zero_wins(x, y, ops.log),
    "Xlog1py: x y": lambda x, y: _zero_wins(x, y, ops.log1p),
    "Xdivy: x y": lambda x, y: _zero_wins(x, y, lambda y: 1 / y),
    "FloorDiv: x y": lambda x, y: (
        ops.floor(x / y) if x.dtype.is_floating else ops.floor_divide(x, y)
    ),  # -0.5 // inf is 0
    "MulNoNan: x y": lambda x, y: ops.where(ops.logical_or(OPS["IsFinite"](x), ops.not_equal(y, 0)), x, 0) * y,
    "SqrtGrad: y g": lambda y, g: g * 0.5 / y,
    "RsqrtGrad: y g": lambda y, g: g * -0.5 * y * ops.square(y),
    "ReciprocalGrad InvGrad: y g": lambda y, g: -g * ops.square(y),
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


@special("AddN AddV2")
def _sum(node: Node) -> Any:
    """A sum of lists and of optional values, as gradients have them; of tensors, what rows compute."""
    lists = [value for value in node.inputs if isinstance(value, TensorList)]
    others = [value for value in node.inputs if not isinstance(value, TensorList)]
    first, *others = lists if lists and all(is_tensor(x) and is_zero(x) for x in others) else node.inputs
    if not isinstance(first, (TensorList, Optional)):
        return by_row(READ[node.type], node)
    for index, value in enumerate(others, 1):
        if not isinstance(value, Optional if isinstance(first, Optional) else TensorList):
            raise node.refused(index, "no value as the first")
    return reduce(lambda x, y: x.plus(y), others, first)


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


@row("ApproximateEqual: x y; tolerance")
def _(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    return ops.absolute(x - y) < tolerance


@special("Equal NotEqual")
def _compared(node: Node) -> Any:
    """Elementwise, or one bool if the shapes do not broadcast and TensorFlow's `==` and `!=` made the node."""
    x, y = node.tensor(0), node.tensor(1)
    if not node.attrs("incompatible_shape_error", True):
        try:
            broadcast(x.shape, y.shape)
        except ValueError:
            return recorded(node.type == "NotEqual", "bool")
    return OPS[node.type](x, y)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("Abs", lambda operation: operation.inputs[0].dtype.is_complex)
def _size(place: Place, x: Ref) -> list[Ref]:
    return place.result("ComplexAbs", x, Tout=place.operation.outputs[0].dtype)


body("LogicalXor")(by("NotEqual"))
body("Round", lambda operation: operation.inputs[0].dtype.is_integer)(
    lambda op, *args: op.body(*args)
)  # kernels give 0


def _may_shift_out(operation: Operation) -> bool:
    """Whether a number may be shifted by as many bits as it has, or more; kernels shift by one bit less then."""
    maker, bits = operation.inputs[1].op, 8 * operation.inputs[0].dtype.itemsize
    if maker.type == "Const":
        return bool((maker.attrs["value"] >= bits).any() or (maker.attrs["value"] < 0).any())
    return maker.type != "SelectV2" or maker.inputs[0].op.type != "GreaterEqual"  # as below


@body("LeftShift RightShift", _may_shift_out)
def _shift(op: Any, x: Any, y: Any) -> Any:
    last = 8 * x.dtype.itemsize - 1
    places = ops.cast(y, f"u{x.dtype.name.removeprefix('u')}")  # negative ones are large
    is_out = ops.greater_equal(places, ops.full_like(places, last + 1))
    shifted = op(x, ops.where(is_out, ops.full_like(y, last), y))
    if op.name == "RightShift" and not x.dtype.name.startswith("u"):
        return shifted
    return ops.where(is_out, ops.zeros_like(shifted), shifted)


@body("Sign", of("uint8", "uint16", "uint32", "uint64"))
def _sign(op: Any, x: Any) -> Any:
    return ops.cast(ops.not_equal(x, 0), x.dtype)
