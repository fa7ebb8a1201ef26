"""Special functions: the error function, the gamma function and Bessel functions, with inverses and derivatives."""

from __future__ import annotations

from math import pi
from typing import Any

from dovetail.core.base.domains import Count
from dovetail.core.kinds import Float
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.compare import equal, where
from dovetail.ops.math.exponential import exp
from dovetail.ops.samples import array, sample, unary

INFINITY = float("inf")


@primitive("Erf", infer=elementwise, samples=[*unary(), sample([-INFINITY, INFINITY, 9.0])])
def erf(x: Float) -> Tensor:
    """Error function: the integral of a Gaussian, `2 / sqrt(π) * ∫ exp(-t²) dt` from 0 to `x`.

    Source: `scipy.special.erf`.

    Example:
        >>> erf([0., 0.5]).numpy()
        array([0.       , 0.5204999], dtype=float32)
    """


@erf.gradient
def _(op: Any, g: Any) -> Any:
    return g * _erf_slope(op.inputs[0])


def _erf_slope(x: Any) -> Any:
    return 2 / pi**0.5 * exp(-x * x)


@primitive("Erfc", infer=elementwise, samples=[*unary(), sample([-INFINITY, INFINITY, 9.0])])
def erfc(x: Float) -> Tensor:
    """Complementary error function, `1 - erf(x)`, precise where it is small.

    Source: `scipy.special.erfc`.

    Example:
        >>> erfc([0., 5.]).numpy()
        array([1.0000000e+00, 1.5374598e-12], dtype=float32)
    """


@erfc.gradient
def _(op: Any, g: Any) -> Any:
    return -g * _erf_slope(op.inputs[0])


@primitive("Erfinv", infer=elementwise, samples=[*unary(-0.9, 0.9), sample([-1.0, 1.0, 2.0])])
def erfinv(x: Float) -> Tensor:
    """Inverse of the error function; infinite at -1 and 1, NaN outside.

    Source: `scipy.special.erfinv`.

    Example:
        >>> erfinv([0., 0.5]).numpy()
        array([0.        , 0.47693628], dtype=float32)
    """


@erfinv.gradient
def _(op: Any, g: Any) -> Any:
    return g / _erf_slope(op.outputs[0])


@primitive("Lgamma", infer=elementwise, samples=[*unary(0.5, 4), sample([-1.5, 0.0, -1.0, 50.0, INFINITY])])
def lgamma(x: Float) -> Tensor:
    """Logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, …

    Source: `scipy.special.gammaln`.

    Example:
        >>> lgamma([1., 5.]).numpy()
        array([0.       , 3.1780539], dtype=float32)
    """


@lgamma.gradient
def _(op: Any, g: Any) -> Any:
    return g * digamma(op.inputs[0])


@composite("Digamma", infer=elementwise, samples=[*unary(0.5, 4), sample([-1.5, 50.0])])
def digamma(x: Float) -> Tensor:
    """Derivative of `lgamma`; NaN at its poles 0, -1, -2, …

    Source: `scipy.special.digamma`.

    Example:
        >>> digamma([1., 5.]).numpy()
        array([-0.5772157,  1.5061177], dtype=float32)
    """
    return polygamma(0, x)


@digamma.gradient
def _(op: Any, g: Any) -> Any:
    return g * polygamma(1, op.inputs[0])


@primitive("Polygamma", infer=lambda n, x: x, samples=[sample(n, array(2, 3, low=0.5, high=4)) for n in (0, 1, 2)])
def polygamma(n: Count, x: Float) -> Tensor:
    """The derivative of order `n` of `digamma`.

    Args:
        n: 0 or more.
        x: positive floats.

    Source: `scipy.special.polygamma`.

    Example:
        >>> polygamma(1, [1., 5.]).numpy()
        array([1.644934  , 0.22132295], dtype=float32)
    """


@polygamma.gradient
def _(op: Any, g: Any) -> Any:
    n, x = op.args
    return g * polygamma(n + 1, x)


@primitive("BesselI0", infer=elementwise, samples=[*unary(), sample([-20.0, 0.0, 1.0, 9.0, INFINITY])])
def bessel_i0(x: Float) -> Tensor:
    """Modified Bessel function of the first kind of order 0.

    Source: `scipy.special.i0`.

    Example:
        >>> bessel_i0([0., 1.]).numpy()
        array([1.       , 1.2660658], dtype=float32)
    """


@bessel_i0.gradient
def _(op: Any, g: Any) -> Any:
    return g * bessel_i1(op.inputs[0])


@primitive("BesselI1", infer=elementwise, samples=[*unary(), sample([-20.0, 1.0, 9.0]), sample([0.0], gradient=False)])
def bessel_i1(x: Float) -> Tensor:
    """Modified Bessel function of the first kind of order 1; the derivative of `bessel_i0`.

    Source: `scipy.special.i1`.

    Example:
        >>> bessel_i1([0., 1.]).numpy()
        array([0.       , 0.5651591], dtype=float32)
    """


@bessel_i1.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    zero = equal(x, 0)
    return g * (bessel_i0(x) - where(zero, 0.5, y / where(zero, 1, x)))
