"""Greatest divisors, least multiples and Bessel's function."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from keras_dovetail.dtypes import as_tensor, floating, name_of, promoted


def gcd(x1: Any, x2: Any) -> Any:
    x1, x2 = (ops.absolute(x) for x in promoted(x1, x2))
    x1, x2 = x1 + ops.zeros_like(x2), x2 + ops.zeros_like(x1)  # of one shape, as what a loop carries must be

    def remains(a: Any, b: Any) -> Any:
        return ops.any(b != 0)

    def step(a: Any, b: Any) -> Any:
        rest = ops.mod(a, ops.where(b == 0, ops.ones_like(b), b))
        return ops.where(b == 0, a, b), ops.where(b == 0, b, rest)

    return ops.while_loop(remains, step, (x1, x2))[0]


def lcm(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    divisor = gcd(x1, x2)
    safe = ops.maximum(divisor, ops.ones_like(divisor))
    return ops.absolute(ops.floor_divide(x1, safe) * x2)


# Chebyshev series of exp(-x) I0(x) on [0, 8], and of sqrt(x) exp(-x) I0(x) beyond; from Cephes.
_NEAR = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998, -0.02373741480589947,
    0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761,
)  # fmt: skip
_FAR = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15,
    -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13,
    7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
    1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088,
)  # fmt: skip


def _chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    before, last, now = 0.0, 0.0, coefficients[0]
    for coefficient in coefficients[1:]:
        before, last, now = last, now, x * now - last + coefficient
    return (now - before) * 0.5


def i0(x: Any) -> Any:
    x = as_tensor(x)
    x = ops.absolute(ops.cast(x, "float64") if name_of(x) == "int64" else floating(x))
    near = _chebyshev(ops.minimum(x, 8.0) / 2 - 2, _NEAR)
    beyond = ops.maximum(x, 8.0)
    far = _chebyshev(32 / beyond - 2, _FAR) / ops.sqrt(beyond)
    return ops.exp(x) * ops.where(x <= 8, near, far)
