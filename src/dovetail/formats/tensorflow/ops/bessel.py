"""Bessel functions of order 0 and 1: BesselI0 to BesselY1.

They are computed by their series near 0, and by an integral that decays as exp(-s²) elsewhere.
The trapezoidal rule is exact to rounding there: the integrand is analytic in a strip around the real axis.
Watson, "A treatise on the theory of Bessel functions" (1922), has the series in 3.5 and 3.7, the integrals in 6.1 and
7.2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row, rows

rows("BesselI0 BesselI1: x")

TERMS = 20  # of the series
STEP = 0.25
NODES = (np.arange(26) + 0.5) * STEP  # symmetric, so each counts twice; exp(-6.4²) is below rounding
HARMONIC = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, TERMS + 1))])  # ψ(k + 1) + γ


def polynomial(coefficients: Any, x: Any) -> Any:
    """A polynomial, the constant first."""
    *others, last = (float(one) for one in coefficients)
    total = ops.full_like(x, last)
    for one in reversed(others):
        total = total * x + one
    return total


def _near(x: Any, order: int, sign: int) -> tuple[Any, Any]:
    """J or I, and the function with a logarithm of which Y and K are made, for x at most 4.

    Args:
        sign: -1 for J and Y, 1 for I and K.
    """
    k = range(TERMS)
    weights = [1 / (math.factorial(i) * math.factorial(i + order)) for i in k]
    slopes = [w * (HARMONIC[i] + HARMONIC[i + order] - 2 * np.euler_gamma) for w, i in zip(weights, k, strict=True)]
    power, q = (x / 2) ** order, sign * ops.square(x / 2)
    first = power * polynomial(weights, q)
    positive = ops.where(x > 0, x, 1)
    second = ops.log(positive / 2) * first - power * polynomial(slopes, q) / 2
    return first, second - 1 / positive if order and sign < 0 else second + (1 / positive if order else 0)


def _decaying(x: Any, order: int) -> tuple[Any, Any]:
    """The squares of the nodes over 2x, and the weights of the integral."""
    weights = 2 * STEP * np.exp(-(NODES**2)) * NODES ** (2 * order) / math.gamma(order + 0.5)
    return NODES**2 / (2 * ops.expand_dims(x, -1)), weights


def _oscillating(x: Any, order: int) -> tuple[Any, Any]:
    """J and Y for x from 4: the real and imaginary part of a wave whose amplitude changes slowly."""
    y, weights = _decaying(x, order)
    size = ops.sqrt(1 + ops.square(y))
    real = ops.sqrt((size + 1) / 2)
    imaginary = y / (2 * real)  # (1 + iy)**(1/2) is real + i imaginary
    if order == 0:
        real, imaginary = real / size, -imaginary / size
    p, q = (ops.sum(part * weights, -1) for part in (real, imaginary))
    angle, scale = x - (2 * order + 1) * math.pi / 4, ops.sqrt(2 / (math.pi * x))
    sine, cosine = ops.sin(angle), ops.cos(angle)
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


@row("BesselJ0: x; +order=0", "BesselJ1: x; +order=1")
def _(x: Any, order: int) -> Any:
    wide = ops.cast(x, "float64")
    size = ops.absolute(wide)
    far = _oscillating(ops.maximum(size, 4), order)[0]
    far = ops.where(wide < 0, -far, far) if order else far
    near = _near(ops.clip(wide, -4, 4), order, -1)[0]
    return ops.cast(ops.where(size > 4, far, near), x.dtype)


@row("BesselY0: x; +order=0", "BesselY1: x; +order=1")
def _(x: Any, order: int) -> Any:
    wide = ops.cast(x, "float64")
    near = _near(ops.clip(wide, 0, 4), order, -1)[1] * (2 / math.pi)
    value = ops.where(wide > 4, _oscillating(ops.maximum(wide, 4), order)[1], near)
    return ops.cast(ops.where(wide <= 0, -math.inf, value), x.dtype)


@row(
    "BesselK0: x; +order=0 +scaled=False",
    "BesselK1: x; +order=1 +scaled=False",
    "BesselK0e: x; +order=0 +scaled=True",
    "BesselK1e: x; +order=1 +scaled=True",
)
def _(x: Any, order: int, scaled: bool) -> Any:
    wide = ops.cast(x, "float64")
    small, large = ops.clip(wide, 0, 2), ops.maximum(wide, 2)
    y, weights = _decaying(large, order)
    far = ops.sqrt(math.pi / (2 * large)) * ops.sum(weights * (1 + y) ** (order - 0.5), -1)
    near = _near(small, order, 1)[1] * (1 if order else -1)
    near, far = (near * ops.exp(small), far) if scaled else (near, far * ops.exp(-large))
    return ops.cast(ops.where(wide <= 0, math.inf, ops.where(wide > 2, far, near)), x.dtype)


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
