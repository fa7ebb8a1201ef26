"""Elementwise arithmetic and functions of real and complex numbers."""

from __future__ import annotations

from typing import Any

from dovetail.ops.infer import elementwise
from dovetail.ops.kinds import Float, Inexact, Number
from dovetail.ops.op import composite, primitive
from dovetail.ops.samples import array, binary, sample, unary
from dovetail.ops.shape import sum_like
from dovetail.tensor import Tensor


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
    return sum_like(g * y, x), sum_like(g * x, y)


@primitive("RealDiv", infer=elementwise, samples=[*binary(0.5, 2)])
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
    return sum_like(g / y, x), sum_like(-g * op.outputs[0] / y, y)


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


@primitive("Exp", infer=elementwise, samples=unary())
def exp(x: Inexact) -> Tensor:
    """Exponential, elementwise.

    Source: `numpy.exp`.

    Example:
        >>> exp([0., 1.]).numpy()
        array([1.       , 2.7182817], dtype=float32)
    """


@exp.gradient
def _(op: Any, g: Any) -> Any:
    return g * op.outputs[0]


@primitive("Tanh", infer=elementwise, samples=unary(-3, 3))
def tanh(x: Inexact) -> Tensor:
    """Hyperbolic tangent, elementwise.

    Source: `numpy.tanh`.

    Example:
        >>> tanh([0., 1.]).numpy()
        array([0.       , 0.7615942], dtype=float32)
    """


@tanh.gradient
def _(op: Any, g: Any) -> Any:
    y = op.outputs[0]
    return g * (1 - y * y)


@composite("Square", infer=elementwise, samples=unary())
def square(x: Number) -> Tensor:
    """Square `x * x`, elementwise.

    Source: `numpy.square`.

    Example:
        >>> square([2., -3.]).numpy()
        array([4., 9.], dtype=float32)
    """
    return x * x


@square.gradient
def _(op: Any, g: Any) -> Any:
    return g * (2 * op.inputs[0])
