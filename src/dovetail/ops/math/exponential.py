"""Exponentials, logarithms and roots, elementwise."""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Float, Inexact
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.compare import equal, isfinite, isinf, maximum, where
from dovetail.ops.math.complex import adjoint
from dovetail.ops.samples import binary, sample, unary
from dovetail.ops.shapes.shape import narrow, sum_like, wide

INFINITY = float("inf")
LN2, LN10 = 0.6931471805599453, 2.302585092994046

# -- exponentials -----------------------------------------------------------------------------------------------------


@primitive("Exp", infer=elementwise, samples=unary())
def exp(x: Inexact) -> Tensor:
    """Exponential, elementwise.

    Source: `numpy.exp`.

    Example:
        >>> exp([0., 1.]).numpy()
        array([1.      , 2.718282], dtype=float32)
    """


@exp.gradient
def _(op: Any, g: Any) -> Any:
    return g * adjoint(op.outputs[0])


@composite("Exp2", infer=elementwise, samples=unary())
def exp2(x: Float) -> Tensor:
    """`2 ** x`, elementwise.

    Source: `numpy.exp2`.

    Example:
        >>> exp2([1., 3.]).numpy()
        array([2., 8.], dtype=float32)
    """
    return 2.0**x


@exp2.gradient
def _(op: Any, g: Any) -> Any:
    return g * (LN2 * op.outputs[0])


@primitive("Expm1", infer=elementwise, samples=[*unary(), sample([1e-10, -1e-10, 99.0, -99.0])])
def expm1(x: Float) -> Tensor:
    """`exp(x) - 1`, precise near 0.

    Source: `numpy.expm1`.

    Example:
        >>> expm1([0., 1e-10]).numpy()
        array([0.e+00, 1.e-10], dtype=float32)
    """


@expm1.gradient
def _(op: Any, g: Any) -> Any:
    return g * exp(op.inputs[0])


# -- logarithms -------------------------------------------------------------------------------------------------------


@primitive("Log", infer=elementwise, samples=[*unary(0.5, 3), sample([0.0, -1.0])])
def log(x: Inexact) -> Tensor:
    """Natural logarithm, elementwise.

    Source: `numpy.log`.

    Example:
        >>> log([1., 2.]).numpy()
        array([0.       , 0.6931472], dtype=float32)
    """


@log.gradient
def _(op: Any, g: Any) -> Any:
    return g / adjoint(op.inputs[0])


@composite("Log2", infer=elementwise, samples=unary(0.5, 3))
def log2(x: Float) -> Tensor:
    """Logarithm to the base 2, elementwise.

    Source: `numpy.log2`.

    Example:
        >>> log2([1., 8.]).numpy()
        array([0., 3.], dtype=float32)
    """
    return log(x) / LN2


@log2.gradient
def _(op: Any, g: Any) -> Any:
    return g / (LN2 * op.inputs[0])


@composite("Log10", infer=elementwise, samples=unary(0.5, 3))
def log10(x: Float) -> Tensor:
    """Logarithm to the base 10, elementwise.

    Source: `numpy.log10`.

    Example:
        >>> log10([1., 100.]).numpy().round(4)
        array([0., 2.], dtype=float32)
    """
    return log(x) / LN10


@log10.gradient
def _(op: Any, g: Any) -> Any:
    return g / (LN10 * op.inputs[0])


@primitive("Log1p", infer=elementwise, samples=[*unary(-0.5, 3), sample([1e-10, -1.0, -2.0])])
def log1p(x: Float) -> Tensor:
    """`log(1 + x)`, precise near 0.

    Source: `numpy.log1p`.

    Example:
        >>> log1p([0., 1e-10]).numpy()
        array([0.e+00, 1.e-10], dtype=float32)
    """


@log1p.gradient
def _(op: Any, g: Any) -> Any:
    return g / (op.inputs[0] + 1)


@composite(
    "LogAddExp",
    infer=elementwise,
    samples=[*binary(), sample([-INFINITY, -INFINITY, INFINITY, 1000.0], [-INFINITY, 0.0, INFINITY, 1000.0])],
)
def logaddexp(x: Float, y: Float) -> Tensor:
    """`log(exp(x) + exp(y))`, without overflow.

    Source: `numpy.logaddexp`.

    Example:
        >>> logaddexp([0., 1000.], [0., 1000.]).numpy()
        array([6.9314718e-01, 1.0006932e+03], dtype=float32)
    """
    return maximum(x, y) + log1p(exp(-abs(where(equal(x, y), 0, x - y))))


@logaddexp.gradient
def _(op: Any, g: Any) -> Any:
    g, x, y = map(wide, (g, *op.inputs))
    z = op.outputs[0] if x.dtype == op.outputs[0].dtype else logaddexp(x, y)
    return tuple(narrow(sum_like(g * share_of(t, z), t), given) for t, given in zip((x, y), op.inputs, strict=True))


def share_of(x: Any, total: Any) -> Any:
    """The share of `exp(x)` in a sum of exponentials of which the logarithm is given; 0 of a sum of nothing."""
    return exp(x - where(equal(total, -INFINITY), 0, total))


# -- roots ------------------------------------------------------------------------------------------------------------


@primitive("Sqrt", infer=elementwise, samples=[*unary(0.5, 3), sample([0.0, -1.0, INFINITY])])
def sqrt(x: Inexact) -> Tensor:
    """Square root, elementwise; NaN for negative numbers.

    Source: `numpy.sqrt`.

    Example:
        >>> sqrt([4., 9.]).numpy()
        array([2., 3.], dtype=float32)
    """


@sqrt.gradient
def _(op: Any, g: Any) -> Any:
    return 0.5 * g / adjoint(op.outputs[0])


@composite("Rsqrt", infer=elementwise, samples=[*unary(0.5, 3), sample([0.0, -1.0, INFINITY])])
def rsqrt(x: Inexact) -> Tensor:
    """Reciprocal of the square root, `1 / sqrt(x)`.

    Source: `tf.math.rsqrt`.

    Example:
        >>> rsqrt([4., 0.25]).numpy()
        array([0.5, 2. ], dtype=float32)
    """
    return 1 / sqrt(x)


@rsqrt.gradient
def _(op: Any, g: Any) -> Any:
    y = adjoint(op.outputs[0])
    return -0.5 * g * (y * y * y)


@composite("Hypot", infer=elementwise, samples=[*binary(0.5, 2), sample([0.0, 3e30, INFINITY], [0.0, 4e30, 1.0])])
def hypot(x: Float, y: Float) -> Tensor:
    """Length of the hypotenuse, `sqrt(x * x + y * y)`, without overflow; its gradient at the origin is 0.

    Source: `numpy.hypot`.

    Example:
        >>> hypot([3., 3e30], [4., 4e30]).numpy()
        array([5.e+00, 5.e+30], dtype=float32)
    """
    longer = maximum(abs(x), abs(y))
    scale = where(isfinite(longer) & (longer > 0), longer, 1)
    infinite = isinf(x) | isinf(y)  # even if the other one is NaN
    x, y = x / scale, y / scale
    return where(infinite, float("inf"), scale * sqrt(x * x + y * y))


@hypot.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs
    z = op.outputs[0]
    scaled = g / where(equal(z, 0), 1, z)
    return sum_like(scaled * x, x), sum_like(scaled * y, y)
