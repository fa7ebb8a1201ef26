"""Arithmetic, elementwise."""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Inexact, Number, Ordered
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.compare import equal, greater, less, not_equal, where
from dovetail.ops.math.complex import adjoint, real, real_spec
from dovetail.ops.math.exponential import log
from dovetail.ops.samples import array, binary, ints, sample, unary
from dovetail.ops.shapes.create import zeros_like
from dovetail.ops.shapes.shape import cast, sum_like

# -- two tensors ------------------------------------------------------------------------------------------------------


@primitive("AddV2", infer=elementwise, samples=binary())
def add(x: Number, y: Number) -> Tensor:
    """Sum `x + y`, with broadcasting.

    Args:
        x, y: numbers of any shapes that broadcast; promoted to a common dtype.

    Returns:
        A tensor of the broadcast shape.

    Source: `numpy.add`.

    Example:
        >>> add([1., 2.], 3).numpy()
        array([4., 5.], dtype=float32)
    """


@add.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return sum_like(g, x), sum_like(g, y)


@primitive("Sub", infer=elementwise, samples=binary())
def subtract(x: Number, y: Number) -> Tensor:
    """Difference `x - y`, with broadcasting.

    Source: `numpy.subtract`.

    Example:
        >>> subtract([1., 2.], 3).numpy()
        array([-2., -1.], dtype=float32)
    """


@subtract.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return sum_like(g, x), sum_like(-g, y)


@primitive("Mul", infer=elementwise, samples=binary())
def multiply(x: Number, y: Number) -> Tensor:
    """Product `x * y`, with broadcasting.

    Source: `numpy.multiply`.

    Example:
        >>> multiply([1., 2.], 3).numpy()
        array([3., 6.], dtype=float32)
    """


@multiply.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return sum_like(g * adjoint(y), x), sum_like(g * adjoint(x), y)


@primitive("RealDiv", infer=elementwise, samples=binary(0.5, 2))
def divide(x: Inexact, y: Inexact) -> Tensor:
    """Quotient `x / y`, with broadcasting; integers are divided as floats.

    Source: `numpy.divide`.

    Example:
        >>> divide([1., 2.], 4).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """


@divide.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    over_y = g / adjoint(y)
    return sum_like(over_y, x), sum_like(-over_y * adjoint(x / y), y) if op.needs(1) else None


@composite("DivNoNan", infer=elementwise, samples=[*binary(0.5, 2), sample([1.0, 0.0, -2.0], [0.0, 0.0, 4.0])])
def divide_no_nan(x: Inexact, y: Inexact) -> Tensor:
    """Quotient `x / y`, and 0 where `y` is 0.

    Source: `tf.math.divide_no_nan`.

    Example:
        >>> divide_no_nan([1., 2.], [0., 4.]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    zero = equal(y, 0)
    return where(zero, 0, x / where(zero, 1, y))


@divide_no_nan.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    over_y = divide_no_nan(g, adjoint(y))
    by_y = sum_like(-over_y * adjoint(divide_no_nan(x, y)), y) if op.needs(1) else None
    return sum_like(over_y, x), by_y


@primitive(
    "FloorDiv",
    infer=elementwise,
    differentiable=False,
    samples=[
        sample(array(2, 3, low=-9, high=9), array(3, low=0.5, high=3)),
        sample(ints(2, 3, low=-9, high=9), ints(3, low=1, high=4)),
        sample([7, -7, 7, -7, 5, 0], [2, 2, -2, -2, 0, 0]),
        sample([7.0, -7.0, 5.0, -5.0, 0.0], [2.0, 2.0, 0.0, 0.0, 0.0]),
    ],
)
def floor_divide(x: Ordered, y: Ordered) -> Tensor:
    """Quotient rounded down, `floor(x / y)`, as Python's `//`.

    Returns:
        A tensor of the promoted dtype.  A division by zero gives 0 for integers, infinity or NaN for floats.

    Source: `numpy.floor_divide`.

    Example:
        >>> floor_divide([7, -7], 2).numpy()
        array([ 3, -4], dtype=int32)
    """


@primitive(
    "FloorMod",
    infer=elementwise,
    samples=[
        sample(array(2, 3, low=4.1, high=4.9), array(2, 1, low=1.6, high=1.9)),
        sample(ints(2, 3, low=-9, high=9), ints(3, low=1, high=4)),
        sample([7, -7, 7, -7, 5, 0], [2, 2, -2, -2, 0, 0]),
        sample([7.5, -7.5, 7.5, -7.5, 5.0], [2.0, 2.0, -2.0, -2.0, 0.0]),
    ],
)
def mod(x: Ordered, y: Ordered) -> Tensor:
    """Remainder of `floor_divide`, with the sign of `y`, as Python's `%`.

    Returns:
        A tensor of the promoted dtype.  A division by zero gives 0 for integers, NaN for floats.

    Source: `numpy.mod`.

    Example:
        >>> mod([7, -7], 3).numpy()
        array([1, 2], dtype=int32)
    """


@mod.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    return sum_like(g, x), sum_like(-g * floor_divide(x, y), y)


@primitive(
    "Pow",
    infer=elementwise,
    samples=[
        *binary(0.5, 2),
        sample(array(2, 3, low=-2, high=-1), [2.0, 3.0, -1.0], gradient=False),
        sample([0.0, 0.0, 0.0, -8.0], [0.0, 2.0, 0.5, 1 / 3], gradient=False),
        sample([0, 2, -1, -1, 1, 0, 3], [0, 10, 3, -3, -2, -1, -1]),
    ],
)
def power(x: Number, y: Number) -> Tensor:
    """Power `x ** y`, with broadcasting.

    Returns:
        A tensor of the promoted dtype: `0 ** 0` is 1.  A negative base with a fractional exponent gives NaN.  With a
        negative exponent, the reciprocal of an integer is truncated to an integer.

    Source: `numpy.power`.

    Example:
        >>> power([2., 3.], 2).numpy()
        array([4., 9.], dtype=float32)
    """


@power.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    slope = where(equal(y, 0), 0, y * power(x, where(equal(y, 0), 1, y - 1)))
    # x ** y has no derivative by y where x is negative; at 0 it is the limit, 0.
    by_y = op.outputs[0] * _log_or_zero(x)
    return sum_like(g * adjoint(slope), x), sum_like(g * adjoint(by_y), y)


def _log_or_zero(x: Any) -> Any:
    defined = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
    return where(defined, log(where(defined, x, 1)), 0)


@composite("SquaredDifference", infer=elementwise, samples=binary())
def squared_difference(x: Number, y: Number) -> Tensor:
    """Square of the difference, `(x - y) * (x - y)`; of complex numbers, of its absolute value.

    Source: `tf.math.squared_difference`.

    Example:
        >>> squared_difference([1., 5.], 3).numpy()
        array([4., 4.], dtype=float32)
    """
    difference = x - y
    return difference * adjoint(difference) if difference.dtype.is_complex else square(difference)


# -- one tensor -------------------------------------------------------------------------------------------------------


@primitive("Neg", infer=elementwise, samples=unary())
def negative(x: Number) -> Tensor:
    """Negation `-x`.

    Source: `numpy.negative`.

    Example:
        >>> negative([1., -2.]).numpy()
        array([-1.,  2.], dtype=float32)
    """


@negative.gradient
def _(op: Any, g: Any) -> Any:
    return -g


@primitive("Abs", infer=real_spec, samples=[*unary(0.1, 2), *unary(-2, -0.1), sample([-3, 0, 3])])
def absolute(x: Number) -> Tensor:
    """Absolute value; of complex numbers the modulus, a float.

    Source: `numpy.absolute`.

    Example:
        >>> absolute([1., -2.]).numpy()
        array([1., 2.], dtype=float32)
    """


@absolute.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    if not x.dtype.is_complex:
        return g * sign(x)
    return cast(g, x.dtype) * divide_no_nan(x, cast(op.outputs[0], x.dtype))


@composite("Sign", infer=elementwise, samples=[*unary(), sample([-3, 0, 3]), sample([0.0, -0.0])])
def sign(x: Number) -> Tensor:
    """-1, 0 or 1, by the sign; NaN for NaN, and `x / |x|` for complex numbers.

    Source: `numpy.sign`.

    Example:
        >>> sign([3., -2., 0.]).numpy()
        array([ 1., -1.,  0.], dtype=float32)
    """
    if x.dtype.is_complex:
        return divide_no_nan(x, cast(absolute(x), x.dtype))
    unsigned = x.dtype.is_integer and not x.dtype.is_signed_integer
    return where(greater(x, 0), 1, x if unsigned else where(less(x, 0), -1, x))


@sign.gradient
def _(op: Any, g: Any) -> Any:
    """Take the part of `g` at a right angle to a complex number; zero for a real number, as in TensorFlow."""
    x, y = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return zeros_like(x)
    along = cast(real(adjoint(y) * g), x.dtype)
    return divide_no_nan(g - y * along, cast(absolute(x), x.dtype))


@composite("Reciprocal", infer=elementwise, samples=unary(0.5, 2))
def reciprocal(x: Inexact) -> Tensor:
    """Reciprocal `1 / x`.

    Source: `numpy.reciprocal`; integers become floats.

    Example:
        >>> reciprocal([2., 4.]).numpy()
        array([0.5 , 0.25], dtype=float32)
    """
    return 1 / x


@reciprocal.gradient
def _(op: Any, g: Any) -> Any:
    y = adjoint(op.outputs[0])
    return -g * y * y


@composite("Square", infer=elementwise, samples=unary())
def square(x: Number) -> Tensor:
    """Square `x * x`.

    Source: `numpy.square`.

    Example:
        >>> square([2., -3.]).numpy()
        array([4., 9.], dtype=float32)
    """
    return x * x


@square.gradient
def _(op: Any, g: Any) -> Any:
    return g * (2 * adjoint(op.inputs[0]))
