"""Rules of reductions, and of running sums and products."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.core.dtypes import native_to_dtype
from dovetail.core.rules import Rule
from dovetail.engines.jax.tables import rules
from dovetail.engines.numpy_like import infinite_bounds, reduction, running


def _total(reduce: Rule) -> Rule:
    return lambda x, axis, keepdims: reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _extreme(reduce: Rule, bound: int) -> Rule:
    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        start = np.asarray(infinite_bounds(native_to_dtype(x.dtype))[bound], x.dtype)
        return reduce(x, axis=axis, keepdims=keepdims, initial=start)

    return rule


def _position(find: Rule, first: Rule) -> Rule:
    """A position among floats, found by their bits, since XLA takes subnormal numbers for zeros on CPUs.

    Args:
        find: `argmax` or `argmin`.
        first: limits of integers → the limit that is found before all others, which replaces NaN.
    """

    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        if jnp.issubdtype(x.dtype, jnp.floating):
            bits = lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
            limits = jnp.iinfo(bits.dtype)
            bits = jnp.where(bits == limits.min, 0, bits)  # -0.0 is 0.0
            x = jnp.where(jnp.isnan(x), first(limits), jnp.where(bits < 0, bits ^ limits.max, bits))
        return find(x, axis=axis, keepdims=keepdims)

    return rule


rules |= {
    "Sum": _total(jnp.sum),
    "Prod": _total(jnp.prod),
    "Max": _extreme(jnp.max, 0),
    "Min": _extreme(jnp.min, 1),
    "Mean": reduction(jnp.mean),
    "ArgMax": _position(jnp.argmax, lambda limits: limits.max),
    "ArgMin": _position(jnp.argmin, lambda limits: limits.min),
    "Any": reduction(jnp.any),
    "All": reduction(jnp.all),
    "Cumsum": running(jnp, lax.cumsum, 0),
    "Cumprod": running(jnp, lax.cumprod, 1),
    "CumulativeLogsumexp": running(jnp, lax.cumlogsumexp, -math.inf),
}
