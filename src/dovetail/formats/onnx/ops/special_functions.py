"""Special functions: Erf; bodies of those that ONNX lacks, such as Lgamma and Atan2, in double precision."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.formats.nodes.bodies import add_wider, of
from dovetail.formats.onnx.table import body, rows

rows("Erf: x")
# Dtypes with too few digits.
add_wider(body, "Lgamma Polygamma Erfc Erfinv BesselI0 BesselI1: float16 bfloat16 float32 > float64")


def _polynomial(x: Any, coefficients: Any) -> Any:
    """A polynomial, from the highest power on."""
    first, *others = coefficients
    total = ops.zeros_like(x) + first
    for one in others:
        total = total * x + one
    return total


LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


@body("Lgamma", of("float64"))
def _lgamma(op: Any, x: Any) -> Any:
    """Lanczos' approximation, reflected for small numbers."""
    is_small = ops.less(x, 0.5)
    y = ops.where(is_small, 1 - x, x) - 1
    series = ops.zeros_like(x) + LANCZOS[0]
    for number, one in enumerate(LANCZOS[1:], 1):
        series = series + one / (y + number)
    t = y + 7.5
    plain = 0.5 * math.log(2 * math.pi) + (y + 0.5) * ops.log(t) - t + ops.log(series)
    plain = ops.where(ops.equal(ops.absolute(x), math.inf), ops.absolute(x), plain)
    from_nearest = x - ops.floor(x)
    sine = ops.sin(math.pi * ops.minimum(from_nearest, 1 - from_nearest))
    reflected = math.log(math.pi) - ops.log(ops.absolute(sine)) - plain
    return ops.where(is_small, ops.where(ops.equal(x, -math.inf), ops.absolute(x), reflected), plain)


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
SHIFT = 8  # terms before the asymptotic series


@body("Polygamma", of("float64"))
def _polygamma(op: Any, n: int, x: Any) -> Any:
    """Terms of the series one by one, and Stirling's asymptotic series for the rest."""
    if n == 0:
        reflected = ops.less(x, 0)
        at = ops.where(reflected, 1 - x, x)
        angle = math.pi * (x - ops.floor(x))
        return _psi(at, 0) - ops.where(reflected, math.pi * ops.cos(angle) / ops.sin(angle), ops.zeros_like(x))
    return _psi(x, n) * (-1.0) ** (n + 1)


def _psi(x: Any, n: int) -> Any:
    y = x + SHIFT
    if n == 0:
        tail = ops.log(y) - 0.5 / y
        for k, one in enumerate(BERNOULLI, 1):
            tail = tail - one / (2 * k) * y ** (-2.0 * k)
        return tail - sum(1 / (x + i) for i in range(SHIFT))
    tail = math.factorial(n - 1) * y ** (-1.0 * n) + math.factorial(n) / 2 * y ** (-1.0 * n - 1)
    for k, one in enumerate(BERNOULLI, 1):
        tail = tail + one * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * y ** (-2.0 * k - n)
    return tail + math.factorial(n) * sum((x + i) ** (-1.0 * n - 1) for i in range(SHIFT))


ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)


@body("Erfc", of("float64"))
def _erfc(op: Any, x: Any) -> Any:
    """Chebyshev's approximation, with a relative error of 1e-7 also where the values are small."""
    size = ops.absolute(x)
    t = 1 / (1 + 0.5 * size)
    upper = t * ops.exp(_polynomial(t, ERFC) - size * size)
    return ops.where(ops.less(x, 0), 2 - upper, upper)


CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
OUTER = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@body("Erfinv", of("float64"))
def _erfinv(op: Any, x: Any) -> Any:
    """Giles' polynomials: one in the middle, one near the ends."""
    w = -ops.log((1 - x) * (1 + x))
    is_central = ops.less(w, 5)
    inner = _polynomial(ops.minimum(w, 5) - 2.5, CENTRAL)
    outer = _polynomial(ops.sqrt(ops.maximum(ops.minimum(w, 100), 5)) - 3, OUTER)
    inside = x * ops.where(is_central, inner, outer)
    return ops.where(ops.equal(ops.absolute(x), 1), x * math.inf, inside)


I0 = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
I0_LARGE = (
    0.00392377,
    -0.01647633,
    0.02635537,
    -0.02057706,
    0.00916281,
    -0.00157565,
    0.00225319,
    0.01328592,
    0.39894228,
)
I1 = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5)
I1_LARGE = (
    -0.00420059,
    0.01787654,
    -0.02895312,
    0.02282967,
    -0.01031555,
    0.00163801,
    -0.00362018,
    -0.03988024,
    0.39894228,
)


@body("BesselI0", of("float64"))
def _bessel_0(op: Any, x: Any) -> Any:
    return _bessel(ops.absolute(x), I0, I0_LARGE, 1)


@body("BesselI1", of("float64"))
def _bessel_1(op: Any, x: Any) -> Any:
    size = ops.absolute(x)
    return ops.sign(x) * _bessel(size, I1, I1_LARGE, size)


def _bessel(size: Any, near: Any, far: Any, factor: Any) -> Any:
    """The approximations 9.8.1 to 9.8.4 of Abramowitz and Stegun."""
    low, high = ops.minimum(size, 3.75) / 3.75, ops.maximum(size, 3.75)
    large = ops.exp(high) / ops.sqrt(high) * _polynomial(3.75 / high, far)
    return ops.where(ops.less(size, 3.75), factor * _polynomial(low * low, near), large)


@body("Atan2")
def _atan2(op: Any, y: Any, x: Any) -> Any:
    """The angle of the quotient, turned by half a circle on the left."""
    is_down = ops.logical_or(ops.less(y, 0), ops.logical_and(ops.equal(y, 0), ops.less(1 / y, 0)))
    is_left = ops.logical_or(ops.less(x, 0), ops.logical_and(ops.equal(x, 0), ops.less(1 / x, 0)))
    are_zeros = ops.logical_and(ops.equal(y, 0), ops.equal(x, 0))
    are_infinite = ops.logical_and(ops.equal(ops.absolute(y), math.inf), ops.equal(ops.absolute(x), math.inf))
    ratio = ops.where(are_infinite, ops.sign(y) * ops.sign(x), y / ops.where(are_zeros, ops.ones_like(x), x))
    turn = ops.where(is_left, ops.where(is_down, -math.pi, math.pi), 0.0)
    return ops.arctan(ratio) + ops.cast(turn, y.dtype)
