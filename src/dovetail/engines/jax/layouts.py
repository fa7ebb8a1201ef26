"""The rule that divides an array among the devices of a mesh."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from dovetail.engines.jax.devices import named
from dovetail.engines.jax.tables import rules


@functools.lru_cache(1000)
def sharding(axes: Any, shape: Any, names: Any, devices: Any) -> jax.sharding.NamedSharding:
    """JAX's object for a layout; the arguments are those of the op `Distribute`."""
    mesh = jax.sharding.Mesh(np.array(list(map(named, devices))).reshape(shape), names)
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))


@rules("Distribute")
def _(x: Any, *layout: Any) -> Any:
    wanted = sharding(*layout)
    if isinstance(x, jax.core.Tracer):
        return jax.lax.with_sharding_constraint(x, wanted)
    return jax.device_put(x, wanted)
