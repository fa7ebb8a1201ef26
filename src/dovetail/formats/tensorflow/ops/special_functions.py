"""Special functions: of Hurwitz, Bessel and Gauss, and the incomplete beta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row

TERMS = 8  # of the sum before its integral, and of the corrections by Bernoulli numbers
# (2k)! / B(2k), by which terms are divided
CORRECTIONS = 12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183792, 74724249600.0, -2950130727918.1642
FRACTIONS = 60  # of the incomplete beta function; near its middle sqrt(a + b) are needed


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


@row("BesselI0e: x; +order=0", "BesselI1e: x; +order=1")
def _(x: Any, order: int) -> Any:
    """A modified Bessel function times exp(-|x|): by the function, and for large x by its series."""
    size = ops.absolute(x)
    small = ops.minimum(size, 30)
    near = ops.exp(-small) * OPS[f"BesselI{order}"](small)
    large, term, series = ops.maximum(size, 30), 1.0, 0.0
    for k in range(6):
        series = series + term * (1 / large) ** k
        term = -term * (4 * order**2 - (2 * k + 1) ** 2) / ((k + 1) * 8)
    far = series / ops.sqrt(2 * math.pi * large)
    scaled = ops.where(size < 30, near, far)
    return ops.sign(x) * scaled if order else scaled


@row("Ndtri: x")
def _(x: Any) -> Any:
    return np.float64(math.sqrt(2)).astype(x.dtype.numpy) * OPS["Erfinv"](2 * x - 1)


@row("ApproximateEqual: x y; tolerance")
def _(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    return ops.absolute(x - y) < tolerance
