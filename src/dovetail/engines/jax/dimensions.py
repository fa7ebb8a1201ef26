"""The dimensions that JAX does not know yet: Keras traces so to infer a layer's output for batches of any size."""

from __future__ import annotations

from typing import Any

import jax.export
import jax.numpy as jnp

from dovetail.engines import symbolic_dimensions


class Dimensions(symbolic_dimensions.Dimensions):
    """An integer array of which some elements are symbolic dimensions of JAX."""

    symbolic = type(jax.export.symbolic_shape("n")[0])

    def native(self) -> Any:
        return jnp.array(self.tolist(), self.dtype)

    __jax_array__ = native
