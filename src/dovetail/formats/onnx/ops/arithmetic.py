"""Numbers: Abs to Tanh, Add to Pow, Max, Min, Sum, Mean, Clip; comparisons, logic, bits: Equal to BitShift, Where."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import add_wider, by, by_body, of
from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.onnx.calls import of_numbers
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.ops.strings import is_of_strings, pair_of
from dovetail.formats.onnx.table import body, row, rows, special, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation

rows("""
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Exp Floor Log Neg Reciprocal Sign Sin Sinh Sqrt Tan Tanh: x
Round = Rint: x
Round < Round: x; +decimals=0
Not = LogicalNot: x
BitwiseNot = Invert: x
IsNaN = IsNan: x
IsInf = IsInf: x; detect_negative=1 detect_positive=1
Add = AddV2: x y
Sub Mul: x y
Div < RealDiv: x y
Mod 10 = FloorMod: x y; fmod=0
Pow < Pow: x y
Equal: x y
Less Greater: x y
LessOrEqual 12 = LessEqual: x y
GreaterOrEqual 12 = GreaterEqual: x y
And = LogicalAnd: x y
Or = LogicalOr: x y
Xor = LogicalXor: x y
BitwiseAnd BitwiseOr BitwiseXor 18: x y
BitShift 11 = LeftShift: x y; direction=LEFT
BitShift 11 = RightShift: x y; direction=RIGHT
Max < Maximum: x y
Min < Minimum: x y
Where 9 = SelectV2: condition x y
Clip 6-10 > ClipByValue: x; min:x_min max:x_max
Clip 11 < ClipByValue: x x_min x_max
""")
add_wider(body, "Expm1 Log1p: float16 bfloat16 > float32")  # which have too few digits
add_wider(body, "LeftShift RightShift: int8 int16 uint16 > int32")  # which ONNX Runtime refuses as it runs


# -- reading ----------------------------------------------------------------------------------------------------------


def widened(dtype: Any) -> Any:
    """The dtype in which halves are added up and raised, as ONNX's definitions do."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


@row("Div: x y")
def divided(x: Any, y: Any) -> Any:
    """The quotient; of integers, without its fraction."""
    if x.dtype.is_floating:
        return ops.divide(x, y)
    if not x.dtype.is_signed_integer:
        return ops.floor_divide(x, y)
    low = ops.floor_divide(x, y)
    is_below = ops.logical_and(ops.not_equal(low * y, x), ops.logical_xor(ops.less(x, 0), ops.less(y, 0)))
    return ops.where(is_below, low + 1, low)


@row("Mod 10: x y; fmod")
def _(x: Any, y: Any, fmod: int = 0) -> Any:
    """The rest that has the sign of x."""
    if not x.dtype.is_signed_integer and not x.dtype.is_floating:
        return OPS["FloorMod"](x, y)
    if x.dtype.is_integer:  # the least integer has no absolute value
        rest = OPS["FloorMod"](x, y)
        is_other = ops.logical_xor(ops.less(x, 0), ops.less(y, 0))
        return ops.where(ops.logical_and(ops.not_equal(rest, 0), is_other), rest - y, rest)
    rest = OPS["FloorMod"](ops.absolute(x), ops.absolute(y))
    return ops.where(ops.less(x, 0), -rest, rest)


@row("Pow: x y")
def _(x: Any, y: Any) -> Any:
    if x.dtype == y.dtype:
        return ops.power(x, y)
    wide = "float64" if "64" in x.dtype + y.dtype else "float32"
    is_whole = x.dtype.is_integer and y.dtype.is_integer
    return ops.cast(ops.power(x, ops.cast(y, x.dtype)) if is_whole else _float_power(x, y, wide), x.dtype)


def _float_power(x: Any, y: Any, dtype: str) -> Any:
    return ops.power(ops.cast(x, dtype), ops.cast(y, dtype))


def _variadic(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda xs: functools.reduce(function, xs)


row("Max: xs*")(_variadic(ops.maximum))
row("Min: xs*")(_variadic(ops.minimum))
row("Sum: xs*")(_variadic(ops.add))


@row("Mean: xs*")
def _(xs: Sequence[Any]) -> Any:
    return functools.reduce(ops.add, xs) / len(xs)


@row("IsInf: x; detect_negative:low detect_positive:high")
def _(x: Any, low: int = 1, high: int = 1) -> Any:
    is_infinite = ops.isinf(x)
    return ops.logical_and(is_infinite, ops.less(x, 0) if low else ops.greater(x, 0) if high else False)


@row("Clip 11: x low high")
def _(x: Any, low: Any = None, high: Any = None) -> Any:
    """Limits are tried one after the other, since the upper one counts if it is below the lower one.

    A limit that is left out is the largest or least finite number.
    """
    if x.dtype.is_floating:
        low, high = (x.dtype.min if low is None else low), (x.dtype.max if high is None else high)
    known = [constant_of(limit) if is_tensor(limit) else np.asarray(limit) for limit in (low, high)]
    if None not in (low, high) and all(one is not None for one in known) and np.all(known[0] <= known[1]):  # type: ignore[operator]
        return ops.clip(x, low, high)
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


@special("Equal")
def _equal(node: Node) -> Any:
    if all(map(is_of_strings, node.inputs)):
        return Weight("", np.asarray(np.equal(*pair_of(node)), bool))
    return of_numbers(node)


# -- writing ----------------------------------------------------------------------------------------------------------

body("LogicalXor", of("bool"))(by("NotEqual"))


def _may_be_crossed(operation: Operation) -> bool:
    """Whether the lower end may be above the upper one, for ONNX gives the upper one then."""
    ends = [tensor.op.attrs["value"] for tensor in operation.inputs[1:] if tensor.op.type == "Const"]
    return len(operation.inputs) != 2 and not (len(ends) == 2 and ends[0] <= ends[1])


body("ClipByValue", _may_be_crossed)(by_body)


@body("Expm1")
def _expm1(op: Any, x: Any) -> Any:
    """Near 0 by the hyperbolic tangent of the half, which loses no digits there."""
    half = ops.tanh(ops.minimum(ops.maximum(x, -1), 1) * 0.5)
    return ops.where(ops.less(ops.absolute(x), 1), 2 * half / (1 - half), ops.exp(x) - 1)


@body("Log1p")
def _log1p(op: Any, x: Any) -> Any:
    """The logarithm of the rounded sum, with the rounding taken back."""
    near = ops.minimum(x, 1)
    total = 1 + near
    ratio = ops.where(ops.equal(total, 1), ops.ones_like(x), near / (total - 1))
    small = ops.where(ops.equal(total, 1), near, ops.log(total) * ratio)
    return ops.where(ops.less(x, 1), small, ops.log(1 + x))


@body("FloorMod", lambda operation: operation.inputs[0].dtype.is_floating)
def _floor_mod(op: Any, x: Any, y: Any) -> Any:
    return x - ops.floor(x / y) * y


@body("FloorDiv", lambda operation: operation.inputs[0].dtype.is_floating)
def _floor_div_of_floats(op: Any, x: Any, y: Any) -> Any:
    return ops.floor(x / y)


@writes("FloorDiv")
def _floor_div(place: Place, x: Ref, y: Ref) -> list[Ref]:
    """ONNX rounds quotients of integers towards zero, so the rest, with the divisor's sign, is taken away before."""
    rest = place.node("Mod", x, y)
    return place.result("Div", place.node("Sub", x, rest), y)


@writes("LeftShift RightShift", lambda operation: operation.inputs[0].dtype.name in ("uint8", "uint32", "uint64"))
def _shift(place: Place, x: Ref, y: Ref) -> list[Ref]:
    return place.result("BitShift", x, y, direction=place.operation.type.removesuffix("Shift").upper())


@body("RightShift", of("int32", "int64"))
def _right_shift(op: Any, x: Any, y: Any) -> Any:
    """The bits of negative numbers are inverted, shifted and inverted again."""
    unsigned, is_negative = as_dtype(f"u{x.dtype.name}"), ops.less(x, 0)
    plain = ops.cast(ops.where(is_negative, ops.invert(x), x), unsigned)
    shifted = ops.cast(op(plain, ops.cast(y, unsigned)), x.dtype)
    return ops.where(is_negative, ops.invert(shifted), shifted)


@body("LeftShift", of("int32", "int64"))
def _left_shift(op: Any, x: Any, y: Any) -> Any:
    unsigned = as_dtype(f"u{x.dtype.name}")
    return ops.cast(op(ops.cast(x, unsigned), ops.cast(y, unsigned)), x.dtype)
