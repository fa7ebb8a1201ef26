"""Casts between dtypes, of which some are rounded in a wider dtype of Dovetail: Cast, CastLike, BitCast."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail import ops
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.nodes import Narrow, Node
from dovetail.formats.onnx.ops.constants import same
from dovetail.formats.onnx.table import rows, special, writes
from dovetail.formats.onnx.tensors import CARRIERS, DTYPES, PACKED, STRING, dtype_of
from dovetail.formats.onnx.written_nodes import Place, Ref

rows("Cast < Cast: x; to:dtype@dtype")


# -- reading ----------------------------------------------------------------------------------------------------------


class Small(NamedTuple):
    """A kind of small floats.

    Attributes:
        bits: of the fraction.
        lowest: the exponent of the smallest normal number.
        largest: the largest finite number.
        has_infinity: whether it has infinities.
        has_zeros: whether it has a negative zero.
        has_nan: whether it has NaN.
    """

    bits: int
    lowest: int
    largest: float
    has_infinity: bool = False
    has_zeros: bool = True
    has_nan: bool = True


SMALL = {  # ONNX's number of a dtype → its kind
    17: Small(3, -6, 448.0),
    18: Small(3, -7, 240.0, has_zeros=False),
    19: Small(2, -14, 57344.0, has_infinity=True),
    20: Small(2, -15, 57344.0, has_zeros=False),
    23: Small(1, 0, 6.0, has_nan=False),
}
LEAST = Words({"up": 1, "down": 1 << 23, "nearest": 1 << 22})  # the least fraction that is rounded up
POWERS = 24  # ONNX's number of the dtype that has powers of two alone


def rounded(x: Any, kind: Small, saturates: bool) -> Any:
    """float32 rounded to the nearest small float, ties to even."""
    shift = 23 - kind.bits
    bits = ops.bitcast(ops.absolute(x), "int32")
    even = ops.bitwise_and(ops.right_shift(bits, shift), 1)
    bits = ops.bitwise_and(bits + even + ((1 << shift - 1) - 1), -(1 << shift))
    step = 2.0 ** (kind.lowest - kind.bits)
    small = ops.rint(ops.absolute(x) / step) * step
    size = ops.where(ops.less(ops.absolute(x), 2.0**kind.lowest), small, ops.bitcast(bits, "float32"))
    beyond = kind.largest if saturates or not kind.has_nan else float("inf") if kind.has_infinity else float("nan")
    size = ops.where(ops.greater(size, kind.largest), ops.full_like(size, beyond), size)
    signed = ops.where(ops.less(ops.bitcast(x, "int32"), 0), -size, size)
    signed = signed if kind.has_zeros else ops.where(ops.equal(size, 0), ops.zeros_like(size), signed)
    return ops.where(ops.isnan(x), x if kind.has_nan else ops.full_like(x, -0.0), signed)


def _power(x: Any, mode: str, saturates: bool) -> Any:
    """float32 rounded to a power of two."""
    bits = ops.bitcast(ops.absolute(x), "int32")
    fraction, exponent = ops.bitwise_and(bits, 0x7FFFFF), ops.right_shift(bits, 23)
    if mode not in LEAST:
        raise Unreadable(f"its round_mode is {mode!r}")
    exponent = exponent + ops.cast(ops.greater_equal(fraction, LEAST[mode]), "int32")
    exponent = ops.minimum(exponent, 254 if saturates else 255)
    power = ops.bitcast(ops.left_shift(exponent, 23), "float32")
    rounded_power = ops.where(ops.equal(exponent, 0), ops.full_like(x, 2.0**-127), power)
    return ops.where(ops.isnan(x), x, rounded_power)


def cast_to(x: Any, number: int, saturates: bool = True, mode: str = "up") -> Any:
    """A tensor in a dtype of ONNX.

    Raises:
        Unreadable: the values of the dtype are strings.
    """
    dtype = dtype_of(number)
    if dtype is None:
        raise Unreadable("strings are cast by the host alone")
    if number in SMALL or number == POWERS:
        x = ops.cast(x, "float32")
        x = rounded(x, SMALL[number], saturates) if number in SMALL else _power(x, mode, saturates)
    elif number in PACKED:
        x = _whole(x, number)
    elif dtype.is_bool:
        x = ops.not_equal(x, 0) if not x.dtype.is_bool else x
    converted = ops.cast(x, dtype)
    return Narrow(converted, number) if number in CARRIERS else converted


def _whole(x: Any, number: int) -> Any:
    """Integers of a few bits: the lowest bits of an integer count."""
    bits = PACKED[number]
    x = ops.bitwise_and(ops.cast(x, "int32"), (1 << bits) - 1)
    if DTYPES[number].name.startswith("u"):
        return x
    return ops.bitwise_xor(x, 1 << bits - 1) - (1 << bits - 1)


@special("Cast CastLike")
def _cast(node: Node) -> Any:
    number = node.number(1) if node.type == "CastLike" else node.attrs.get("to", 0)
    if number not in DTYPES or number == STRING:
        raise Unreadable(f"a cast to ONNX's dtype {number}) has no tensor as its result")
    return cast_to(node.tensor(0), number, bool(node.attrs.get("saturate", 1)), node.attrs.get("round_mode", "up"))


@special("BitCast")
def _bit_cast(node: Node) -> Any:
    dtype = dtype_of(node.attrs["to"])
    if dtype is None or node.attrs["to"] in CARRIERS or node.number(0) in CARRIERS:
        raise Unreadable("Dovetail has not these bits")
    x = node.tensor(0)
    if x.dtype.is_bool or dtype.is_bool:
        return ops.cast(ops.bitcast(ops.cast(x, "uint8") if x.dtype.is_bool else x, "uint8"), dtype)
    return ops.bitcast(x, dtype)


# -- writing ----------------------------------------------------------------------------------------------------------


writes("Cast", lambda operation: operation.inputs[0].dtype == operation.attrs["dtype"])(same)


@writes("Bitcast")
def _bits(place: Place, x: Ref, dtype: Any) -> list[Ref]:
    """Integers of the same size are cast: values that do not fit wrap around."""
    if x.dtype.itemsize != dtype.itemsize:
        raise place.refused(NotImplementedError, "ONNX's BitCast keeps the size of elements. Cut the graph before it.")
    if x.dtype.is_integer and dtype.is_integer:
        return place.result("Cast", x, to=dtype)
    return place.result("BitCast", x, to=dtype)
