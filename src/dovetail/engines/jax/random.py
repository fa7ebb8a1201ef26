"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32

from dovetail.core.base import threefry
from dovetail.engines.jax.tables import rules


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any, part: Any) -> Any:
    size, is_row = math.prod(shape), part is not None and len(shape) == 1
    if part is None:
        x0 = lax.iota(np.uint32, (size + 1) // 2)
    else:
        columns, period = part[0] + lax.iota(np.int64, shape[-1]), threefry.part_period(part[1], is_row)
        is_first = columns < period
        x0 = jnp.where(is_first, columns, columns - period).astype(np.uint32)
    x1 = jnp.zeros_like(x0)
    if counter is not None:
        first, second = lax.bitcast_convert_type(counter, np.uint32)
        x0, x1 = x0 + first, x1 + second
    pair = tuple(lax.bitcast_convert_type(key, np.uint32))
    words = threefry_2x32(pair, jnp.concatenate([x0, x1]))
    if is_row:
        words = jnp.where(is_first, words[:size], words[size:])
    return lax.bitcast_convert_type(words[:size], np.int32).reshape(shape)
