"""Logic and bits: and, or, xor and not, of truth values and of the bits of integers."""

from __future__ import annotations

from dovetail.core.kinds import Bits, Bool, Integer
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.samples import bools, ints, sample

LOGIC = [sample(bools(2, 3), bools(3)), sample(bools(), bools(2))]
BITS = [sample(ints(2, 3, low=-9, high=9), ints(3, low=-9, high=9)), sample(bools(4), bools(4))]
SHIFTS = [
    sample(ints(2, 3, low=-99, high=99), ints(3, low=0, high=7)),
    sample([-1, 5, -5], [31, 32, 40]),
    sample(ints(4, low=0, high=255, dtype="uint8"), ints(4, low=0, high=9, dtype="uint8")),
]

# -- bits -------------------------------------------------------------------------------------------------------------


@primitive("BitwiseAnd", infer=elementwise, differentiable=False, samples=BITS)
def bitwise_and(x: Bits, y: Bits) -> Tensor:
    """Bits that are set in both; of booleans, logical and.

    Source: `numpy.bitwise_and`.

    Example:
        >>> bitwise_and(6, 3).numpy()
        array(2, dtype=int32)
    """


@primitive("BitwiseXor", infer=elementwise, differentiable=False, samples=BITS)
def bitwise_xor(x: Bits, y: Bits) -> Tensor:
    """Bits that are set in one of both; of booleans, logical exclusive or.

    Source: `numpy.bitwise_xor`.

    Example:
        >>> bitwise_xor(6, 3).numpy()
        array(5, dtype=int32)
    """


@composite("BitwiseOr", infer=elementwise, differentiable=False, samples=BITS)
def bitwise_or(x: Bits, y: Bits) -> Tensor:
    """Bits that are set in one or both; of booleans, logical or.

    Source: `numpy.bitwise_or`.

    Example:
        >>> bitwise_or(6, 3).numpy()
        array(7, dtype=int32)
    """
    return bitwise_xor(bitwise_xor(x, y), bitwise_and(x, y))


@composite("Invert", infer=elementwise, differentiable=False, samples=[sample(ints(2, 3)), sample(bools(3))])
def invert(x: Bits) -> Tensor:
    """All bits flipped; of booleans, logical not.

    Source: `numpy.invert`.

    Example:
        >>> invert([5, -1]).numpy()
        array([-6,  0], dtype=int32)
    """
    return bitwise_xor(x, -1 if x.dtype.is_signed_integer else x.dtype.max)


@primitive("LeftShift", infer=elementwise, differentiable=False, samples=SHIFTS)
def left_shift(x: Integer, y: Integer) -> Tensor:
    """Bits moved `y` places up; zeros come in.

    A shift by all bits or more, or by a negative number, gives 0.

    Source: `numpy.left_shift`.

    Example:
        >>> left_shift([1, 3], 2).numpy()
        array([ 4, 12], dtype=int32)
    """


@primitive("RightShift", infer=elementwise, differentiable=False, samples=SHIFTS)
def right_shift(x: Integer, y: Integer) -> Tensor:
    """Bits moved `y` places down; copies of the sign come in.

    Source: `numpy.right_shift`.

    Example:
        >>> right_shift([9, -9], 1).numpy()
        array([ 4, -5], dtype=int32)
    """


# -- truth values -----------------------------------------------------------------------------------------------------


@composite("LogicalAnd", infer=elementwise, differentiable=False, samples=LOGIC)
def logical_and(x: Bool, y: Bool) -> Tensor:
    """Whether both are true; numbers are true where they are not 0.

    Source: `numpy.logical_and`.

    Example:
        >>> logical_and([True, False], True).numpy()
        array([ True, False])
    """
    return bitwise_and(x, y)


@composite("LogicalOr", infer=elementwise, differentiable=False, samples=LOGIC)
def logical_or(x: Bool, y: Bool) -> Tensor:
    """Whether one or both are true; numbers are true where they are not 0.

    Source: `numpy.logical_or`.

    Example:
        >>> logical_or([True, False], False).numpy()
        array([ True, False])
    """
    return bitwise_or(x, y)


@composite("LogicalXor", infer=elementwise, differentiable=False, samples=LOGIC)
def logical_xor(x: Bool, y: Bool) -> Tensor:
    """Whether one of both is true and the other is not; numbers are true where they are not 0.

    Source: `numpy.logical_xor`.

    Example:
        >>> logical_xor([True, False], True).numpy()
        array([False,  True])
    """
    return bitwise_xor(x, y)


@composite("LogicalNot", infer=elementwise, differentiable=False, samples=[sample(bools(2, 3)), sample(bools())])
def logical_not(x: Bool) -> Tensor:
    """Whether `x` is not true; numbers are true where they are not 0.

    Source: `numpy.logical_not`.

    Example:
        >>> logical_not([True, False]).numpy()
        array([False,  True])
    """
    return bitwise_xor(x, True)
