"""Rules of activations."""

from __future__ import annotations

import jax
from jax import lax

from dovetail.engines.jax.tables import rules

# The bodies would do for XLA; these have the right derivative at a body's kink too, when JAX is to differentiate.
rules["Relu"] = jax.jit(jax.nn.relu)  # which otherwise reads its own signature at each call
rules["Elu"] = jax.nn.elu
rules["Sigmoid"] = lax.logistic
rules["Softplus"] = jax.nn.softplus
