"""Rules of elementwise ops: arithmetic, comparisons, special functions, casts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.core.dtypes import DType
from dovetail.core.rules import EAGER, NATIVE, PROGRAM
from dovetail.engines.jax.tables import rules
from dovetail.engines.numpy_like import by_name, drops_imaginary, integer_power, transforms


def _exp2(x: Any) -> Any:
    """2 to the power x, in float32 for halves, for which jax's is wrong in the first digit of large results."""
    return jnp.exp2(x.astype(jnp.float32)).astype(x.dtype) if x.dtype.itemsize == 2 else jnp.exp2(x)


rules |= {
    **by_name(jnp, but=("FloorDiv",)),
    "Equal": jnp.equal,
    "Rint": jnp.rint,
    "Rsqrt": lax.rsqrt,
    "Real": jnp.real,
    "Imag": jnp.imag,
    "Exp2": _exp2,
    "Erf": lax.erf,
    "Erfc": lax.erfc,
    "Erfinv": lax.erf_inv,
    "Lgamma": lax.lgamma,
    "Digamma": lambda x: jnp.where(x == 0, -1 / x, lax.digamma(x)),  # lax gives NaN at the pole
    "Polygamma": jax.scipy.special.polygamma,
    "Igamma": jax.scipy.special.gammainc,
    "BesselI0": jax.scipy.special.i0,
    "BesselI1": jax.scipy.special.i1,
    # The bodies of activations would do for XLA, but JAX differentiates these rules correctly at a body's kink too.
    "Relu": jax.jit(jax.nn.relu),  # without `jit` it reads its own signature at each call
    "Elu": jax.nn.elu,
    "Sigmoid": lax.logistic,
    "Softplus": jax.nn.softplus,
    **transforms(jnp),
}


@rules("FloorDiv")
def _(x: Any, y: Any) -> Any:
    quotient = jnp.floor_divide(x, y)
    return jnp.where(y == 0, 0, quotient) if jnp.issubdtype(x.dtype, jnp.integer) else quotient


@rules("Pow")
def _(x: Any, y: Any) -> Any:
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.power(x, y)
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    return integer_power(jnp, _power_by_squaring, x, y) if signed else _power_by_squaring(x, y)


def _power_by_squaring(x: Any, y: Any) -> Any:
    """`x ** y` of integers with `y >= 0`; jnp.power reads only the six lowest bits of an exponent."""

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        result, x, y = state
        return jnp.where(y & 1 == 1, result * x, result), x * x, y >> 1

    x, y = jnp.broadcast_arrays(x, y)
    return lax.while_loop(lambda state: jnp.any(state[2] > 0), step, (jnp.ones_like(x), x, y))[0]


@rules("Complex")
def _(x: Any, y: Any) -> Any:
    return lax.complex(*jnp.broadcast_arrays(x, y))


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    if x.dtype == bool and dtype.is_differentiable:
        # XLA computes a converted mask times x as a selection of x or 0, which is not NaN where x is infinite.
        return jnp.where(x, np.ones((), dtype.numpy), np.zeros((), dtype.numpy))
    return lax.convert_element_type(x.real if drops_imaginary(x.dtype.kind == "c", dtype) else x, dtype.numpy)


@rules("XlaOptimizationBarrier", layers=(EAGER, NATIVE))
def _(xs: Any) -> Any:
    return lax.optimization_barrier(tuple(xs))


@rules("XlaOptimizationBarrier", layers=(PROGRAM,))
def _(xs: Any) -> Any:
    return lax.platform_dependent(*xs, cpu=_opaque, default=lambda *xs: lax.optimization_barrier(xs))


def _opaque(*xs: Any) -> Any:
    """The same values, though XLA cannot see that they are the same.

    On CPUs, XLA removes barriers before it merges common subexpressions.  So a condition chooses each value here.  It
    always holds, but XLA knows that only once the last float among the values is computed.
    """
    last = next((x for x in reversed(xs) if jnp.issubdtype(x.dtype, jnp.floating) and x.size), None)
    if last is None:
        return lax.optimization_barrier(xs)
    number = last.reshape(-1)[0]
    is_there = (number == number) | (number != number)
    return tuple(jnp.where(is_there, x, jnp.zeros((), x.dtype)) for x in xs)
