"""Special functions: Erf, Lgamma, Digamma, Igamma, Betainc, Zeta, Polygamma, Ndtri, Dawsn, Expint, Spence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.ops.bessel import NODES, STEP, polynomial
from dovetail.formats.tensorflow.table import row, rows

rows("""
Digamma Erf Erfc Erfinv Lgamma: x
Igamma IgammaGradA: a x
Polygamma < Polygamma: n! x
""")

TERMS = 8  # of the sum before its integral, and of the corrections by Bernoulli numbers
# (2k)! / B(2k), by which terms are divided
CORRECTIONS = 12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183792, 74724249600.0, -2950130727918.1642
FRACTIONS = 60  # of the incomplete beta function; near its middle sqrt(a + b) are needed


@row("Igammac: a x")
def _(a: Any, x: Any) -> Any:
    return 1 - OPS["Igamma"](a, x)


@row("Zeta: x q")
def zeta(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function, by the sum formula of Euler and Maclaurin."""
    total, end = ops.zeros_like(x + q), q + TERMS
    for k in range(TERMS):
        total = total + (q + k) ** -x
    power = end**-x
    total = total + power * end / (x - 1) + power / 2
    term = power * x / end
    for k, number in enumerate(CORRECTIONS):
        total = total + term / number
        term = term * (x + 2 * k + 1) * (x + 2 * k + 2) / ops.square(end)
    return total


@row("Polygamma: a x")
def _(a: Any, x: Any) -> Any:
    sign = ops.where(ops.equal(OPS["FloorMod"](a, ops.full_like(a, 2)), 0), -1, 1)
    order = ops.where(ops.equal(a, 0), 1, a)
    series = ops.cast(sign, x.dtype) * ops.exp(OPS["Lgamma"](order + 1)) * zeta(order + 1, x)
    return ops.where(ops.equal(a, 0), OPS["Digamma"](x), series)


@row("Betainc: a b x")
def _(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, by its continued fraction, on the side where that is short."""
    dtype = x.dtype
    a, b, x = (ops.cast(one, "float64") for one in (a, b, x))
    is_far = x > (a + 1) / (a + b + 2)
    a, b = ops.where(is_far, b, a), ops.where(is_far, a, b)
    x = ops.where(is_far, 1 - x, x)

    def step(fraction: Any, m: Any) -> Any:
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        return 1 + odd / (1 + even / fraction), None

    fraction, _ = ops.scan(step, ops.ones_like(x + a + b), np.arange(FRACTIONS, 0, -1.0))
    beta = OPS["Lgamma"](a) + OPS["Lgamma"](b) - OPS["Lgamma"](a + b)
    share = ops.exp(_times_log(a, x) + _times_log(b, 1 - x) - beta) / (a * fraction)
    return ops.cast(ops.where(is_far, 1 - share, share), dtype)


def _times_log(a: Any, x: Any) -> Any:
    return a * ops.log(x)


@row("Ndtri: x")
def _(x: Any) -> Any:
    return np.float64(math.sqrt(2)).astype(x.dtype.numpy) * OPS["Erfinv"](2 * x - 1)


# -- integrals without a closed form, in float64 ----------------------------------------------------------------------

ODD = np.arange(-27, 28, 2.0)
SPACING = 0.25  # of the samples of exp(-t²) in Dawson's integral
LEGENDRE = np.polynomial.legendre.leggauss(48)
# B(2k) / (2k + 1)!, of the dilogarithm's series in powers of a logarithm
BERNOULLI = [
    number / math.factorial(2 * k + 1)
    for k, number in enumerate(
        [1, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330]
    )
]


@row("Dawsn: x")
def _(x: Any) -> Any:
    """exp(-x²) times the integral of exp(t²) from 0 to x, by the sampling theorem (Rybicki 1989)."""
    wide = ops.cast(x, "float64")
    near = ops.clip(wide, -1e4, 1e4)
    even = 2 * ops.round(near / (2 * SPACING))
    rest = ops.expand_dims(near - even * SPACING, -1) - ODD * SPACING
    sums = ops.sum(ops.exp(-ops.square(rest)) / (ops.expand_dims(even, -1) + ODD), -1) / math.sqrt(math.pi)
    is_far = ops.absolute(wide) > 1e4
    return ops.cast(ops.where(is_far, 1 / (2 * ops.where(is_far, wide, 1)), sums), x.dtype)


@row("Expint: x")
def _(x: Any) -> Any:
    """The integral of exp(t) / t up to x > 0: of (exp(xs) - 1) / s over s from 0 to 1, and for large x its series."""
    wide = ops.cast(x, "float64")
    near = ops.where(wide <= 0, 1, ops.minimum(wide, 40))
    points, weights = (LEGENDRE[0] + 1) / 2, LEGENDRE[1] / 2
    whole = ops.sum(ops.expm1(ops.expand_dims(near, -1) * points) * (weights / points), -1)
    large = ops.maximum(wide, 40)
    series = polynomial([math.factorial(k) for k in range(30)], 1 / large)
    positive = ops.where(wide > 40, ops.exp(large) / large * series, np.euler_gamma + ops.log(near) + whole)
    edge = ops.where(wide < 0, math.nan, -math.inf)
    return ops.cast(ops.where(wide <= 0, edge, positive), x.dtype)


@row("FresnelCos: x; +is_sine=False", "FresnelSin: x; +is_sine=True")
def _(x: Any, is_sine: bool) -> Any:
    """The integral of cos(πt²/2) or sin(πt²/2) from 0 to x: by its series, and from 2 by what oscillates around 1/2."""
    wide = ops.cast(x, "float64")
    near, far = ops.clip(wide, -2, 2), ops.clip(ops.absolute(wide), 2, 1e12)
    terms = range(is_sine, 48, 2)
    series = [(-1) ** (k // 2) / (math.factorial(k) * (2 * k + 1)) for k in terms]
    angle = ops.square(near) * (math.pi / 2)
    close = near * polynomial(series, ops.square(angle)) * (angle if is_sine else 1)
    t = NODES**2 / ops.expand_dims(ops.square(far) * (math.pi / 2), -1)
    shares = 2 * STEP * np.exp(-(NODES**2)) / (1 + ops.square(t))
    f = ops.sum(shares, -1) / (math.pi**1.5 * far)
    g = ops.sum(shares * t, -1) / (math.pi**1.5 * far)
    turn = ops.mod(ops.square(far), 4) * (math.pi / 2)
    sine, cosine = ops.sin(turn), ops.cos(turn)
    size = 0.5 - f * cosine - g * sine if is_sine else 0.5 + f * sine - g * cosine
    return ops.cast(ops.where(ops.absolute(wide) > 2, ops.sign(wide) * size, close), x.dtype)


def _dilogarithm(w: Any) -> Any:
    """Li₂(1 - exp(-w)) for w of at most log(2)."""
    return w * polynomial(BERNOULLI, ops.square(w)) - ops.square(w) / 4


@row("Spence: x")
def _(x: Any) -> Any:
    """The integral of -log(t) / (t - 1) from 1 to x, mirrored so that the series in the middle suffices."""
    wide = ops.cast(x, "float64")
    middle = _dilogarithm(-ops.log(ops.clip(wide, 0.5, 2)))
    is_large = wide > 2
    small = ops.where(is_large, 1 / ops.maximum(wide, 2), ops.clip(wide, 0, 0.5))
    safe = ops.where(small > 0, small, 1e-300)
    logarithm = ops.log(safe)
    rest = -ops.log1p(-small)
    side = math.pi**2 / 6 + logarithm * rest - _dilogarithm(rest)
    outside = ops.where(is_large, -side - ops.square(logarithm) / 2, side)
    value = ops.where(ops.logical_and(wide >= 0.5, wide <= 2), middle, outside)
    return ops.cast(ops.where(wide < 0, math.nan, value), x.dtype)
