"""Rules of activations."""

from __future__ import annotations

import jax
from jax import lax

from dovetail.engines.jax.tables import rules

# The bodies would do for XLA, but JAX differentiates these rules correctly at a body's kink too.
rules["Relu"] = jax.jit(jax.nn.relu)  # without `jit` it reads its own signature at each call
rules["Elu"] = jax.nn.elu
rules["Sigmoid"] = lax.logistic
rules["Softplus"] = jax.nn.softplus
