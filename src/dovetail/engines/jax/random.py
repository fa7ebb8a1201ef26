"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32

from dovetail.core.base import threefry
from dovetail.engines.jax.tables import rules


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any, part: Any) -> Any:
    size = math.prod(shape)
    x0, is_first = threefry.first_words(partial(lax.iota, np.uint32), jnp.where, shape, part)
    x0 = x0.astype(np.uint32)
    x1 = jnp.zeros_like(x0)
    if counter is not None:
        first, second = lax.bitcast_convert_type(counter, np.uint32)
        x0, x1 = x0 + first, x1 + second
    pair = tuple(lax.bitcast_convert_type(key, np.uint32))
    words = threefry_2x32(pair, jnp.concatenate([x0, x1]))
    if is_first is not None:
        words = jnp.where(is_first, words[:size], words[size:])
    return lax.bitcast_convert_type(words[:size], np.int32).reshape(shape)
