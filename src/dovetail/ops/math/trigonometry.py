"""Trigonometric and hyperbolic functions, elementwise; angles are in radians."""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Float, Inexact
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.compare import equal, where
from dovetail.ops.math.complex import adjoint, imag, real, real_spec
from dovetail.ops.math.exponential import exp, log, log1p, sqrt
from dovetail.ops.samples import array, binary, sample, unary
from dovetail.ops.shapes.shape import sum_like

# -- trigonometric ----------------------------------------------------------------------------------------------------


@primitive("Sin", infer=elementwise, samples=unary())
def sin(x: Inexact) -> Tensor:
    """Sine.

    Source: `numpy.sin`.

    Example:
        >>> sin([0., 0.5]).numpy()
        array([0.        , 0.47942555], dtype=float32)
    """


@sin.gradient
def _(op: Any, g: Any) -> Any:
    return g * adjoint(cos(op.inputs[0]))


@primitive("Cos", infer=elementwise, samples=unary())
def cos(x: Inexact) -> Tensor:
    """Cosine.

    Source: `numpy.cos`.

    Example:
        >>> cos([0., 0.5]).numpy()
        array([1.        , 0.87758255], dtype=float32)
    """


@cos.gradient
def _(op: Any, g: Any) -> Any:
    return -g * adjoint(sin(op.inputs[0]))


@composite("Tan", infer=elementwise, samples=unary(-1, 1))
def tan(x: Inexact) -> Tensor:
    """Tangent.

    Source: `numpy.tan`.

    Example:
        >>> tan([0., 0.5]).numpy()
        array([0.       , 0.5463025], dtype=float32)
    """
    return sin(x) / cos(x)


@tan.gradient
def _(op: Any, g: Any) -> Any:
    y = adjoint(cos(op.inputs[0]))
    return g / (y * y)


@composite("Asin", infer=elementwise, samples=[*unary(-0.9, 0.9), sample([1.0, -1.0, 2.0])])
def arcsin(x: Float) -> Tensor:
    """Inverse sine, in [-π/2, π/2]; NaN outside of [-1, 1].

    Source: `numpy.arcsin`.

    Example:
        >>> arcsin([0., 0.5]).numpy()
        array([0.       , 0.5235988], dtype=float32)
    """
    return arctan2(x, _cosine_of_arcsin(x))


@arcsin.gradient
def _(op: Any, g: Any) -> Any:
    return g / _cosine_of_arcsin(op.inputs[0])


@composite("Acos", infer=elementwise, samples=[*unary(-0.9, 0.9), sample([1.0, -1.0, 2.0])])
def arccos(x: Float) -> Tensor:
    """Inverse cosine, in [0, π]; NaN outside of [-1, 1].

    Source: `numpy.arccos`.

    Example:
        >>> arccos([1., 0.5]).numpy()
        array([0.       , 1.0471976], dtype=float32)
    """
    return arctan2(_cosine_of_arcsin(x), x)


@arccos.gradient
def _(op: Any, g: Any) -> Any:
    return -g / _cosine_of_arcsin(op.inputs[0])


def _cosine_of_arcsin(x: Any) -> Any:
    return sqrt((1 - x) * (1 + x))


@composite("Atan", infer=elementwise, samples=unary())
def arctan(x: Float) -> Tensor:
    """Inverse tangent, in [-π/2, π/2].

    Source: `numpy.arctan`.

    Example:
        >>> arctan([0., 0.5]).numpy()
        array([0.       , 0.4636476], dtype=float32)
    """
    return arctan2(x, 1)


@arctan.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    return g / (1 + x * x)


@primitive(
    "Atan2",
    infer=elementwise,
    samples=[*binary(0.5, 2), *binary(-2, -0.5)[:1], sample([0.0, -0.0, 0.0], [-1.0, -1.0, 0.0])],
)
def arctan2(y: Float, x: Float) -> Tensor:
    """The angle of the point (x, y), in [-π, π]; its gradient at the origin is 0.

    Source: `numpy.arctan2`.

    Example:
        >>> arctan2([0., 1.], -1).numpy()
        array([3.1415927, 2.3561945], dtype=float32)
    """


@arctan2.gradient
def _(op: Any, g: Any) -> Any:
    y, x = op.inputs
    square = x * x + y * y
    scaled = g / where(equal(square, 0), 1, square)
    return sum_like(scaled * x, y), sum_like(-scaled * y, x)


@composite(
    "Angle", infer=real_spec, samples=[sample(array(2, 3, dtype="complex64")), sample([-1.0, 2.0]), sample([-3, 0, 3])]
)
def angle(z: Inexact) -> Tensor:
    """The angle of complex numbers, in [-π, π]; of real numbers 0 or π.

    Source: `numpy.angle`.

    Example:
        >>> angle([1j, -1.]).numpy()
        array([1.5707964, 3.1415927], dtype=float32)
    """
    return arctan2(imag(z), real(z))


# -- hyperbolic -------------------------------------------------------------------------------------------------------


@composite("Sinh", infer=elementwise, samples=unary())
def sinh(x: Inexact) -> Tensor:
    """Hyperbolic sine.

    Source: `numpy.sinh`.

    Example:
        >>> sinh([0., 0.5]).numpy()
        array([0.       , 0.5210953], dtype=float32)
    """
    return (exp(x) - exp(-x)) / 2


@sinh.gradient
def _(op: Any, g: Any) -> Any:
    return g * adjoint(cosh(op.inputs[0]))


@composite("Cosh", infer=elementwise, samples=unary())
def cosh(x: Inexact) -> Tensor:
    """Hyperbolic cosine.

    Source: `numpy.cosh`.

    Example:
        >>> cosh([0., 0.5]).numpy().round(4)
        array([1.    , 1.1276], dtype=float32)
    """
    return (exp(x) + exp(-x)) / 2


@cosh.gradient
def _(op: Any, g: Any) -> Any:
    return g * adjoint(sinh(op.inputs[0]))


@primitive("Tanh", infer=elementwise, samples=unary(-3, 3))
def tanh(x: Inexact) -> Tensor:
    """Hyperbolic tangent.

    Source: `numpy.tanh`.

    Example:
        >>> tanh([0., 1.]).numpy()
        array([0.       , 0.7615942], dtype=float32)
    """


@tanh.gradient
def _(op: Any, g: Any) -> Any:
    y = adjoint(op.outputs[0])
    return g * (1 - y * y)


@composite("Asinh", infer=elementwise, samples=[*unary(), sample([1e-10, -1e-10])])
def arcsinh(x: Float) -> Tensor:
    """Inverse hyperbolic sine.

    Source: `numpy.arcsinh`.

    Example:
        >>> arcsinh([0., 0.5]).numpy().round(4)
        array([0.    , 0.4812], dtype=float32)
    """
    size = abs(x)
    value = log1p(size + size * size / (1 + sqrt(size * size + 1)))
    return where(x < 0, -value, value)


@arcsinh.gradient
def _(op: Any, g: Any) -> Any:
    return g / cosh(op.outputs[0])


@composite("Acosh", infer=elementwise, samples=[*unary(1.1, 3), sample([1.0, 0.0])])
def arccosh(x: Float) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    Source: `numpy.arccosh`.

    Example:
        >>> arccosh([1., 2.]).numpy()
        array([0.      , 1.316958], dtype=float32)
    """
    return log(x + sqrt((x - 1) * (x + 1)))


@arccosh.gradient
def _(op: Any, g: Any) -> Any:
    return g / sinh(op.outputs[0])


@composite("Atanh", infer=elementwise, samples=[*unary(-0.9, 0.9), sample([1.0, -1.0, 2.0])])
def arctanh(x: Float) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    Source: `numpy.arctanh`.

    Example:
        >>> arctanh([0., 0.5]).numpy()
        array([0.        , 0.54930615], dtype=float32)
    """
    return (log1p(x) - log1p(-x)) / 2


@arctanh.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    return g / ((1 - x) * (1 + x))
