"""Greatest divisors, least multiples and Bessel's function."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import floating_as_wide, promoted
from keras_dovetail.src.ops.calls import of_tensor

i0 = of_tensor(ops.bessel_i0, floating_as_wide)


def gcd(x1: Any, x2: Any) -> Any:
    x1, x2 = (ops.absolute(x) for x in promoted(x1, x2))
    x1, x2 = x1 + ops.zeros_like(x2), x2 + ops.zeros_like(x1)  # of one shape, since loop variables keep theirs

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
