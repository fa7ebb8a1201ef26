"""Tensors and weights in calls of JAX: `jax.jit`, `jax.grad` and the like take them as arrays.

So loss functions with `stateless_call` run under `jax.value_and_grad` as with Keras on JAX.  Its tables by the types of
arguments are not public: of abstract types, of canonical forms, and of ways to devices.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from dovetail.core.base.optional_api import optional_api
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import unwrapped

TABLES = (
    "_src.core.pytype_aval_mappings",
    "_src.dtypes.canonicalize_value_handlers",
    "_src.interpreters.pxla.shard_arg_handlers",
)


def accept(module: ModuleType) -> None:
    """Let JAX take tensors and weights as arguments, once it and Keras are imported.

    Args:
        module: JAX or Keras, which has just been imported.
    """
    modules: Any = sys.modules
    jax, keras = modules.get("jax"), modules.get("keras")
    if not hasattr(jax, "jit") or not hasattr(keras, "Variable"):
        return
    parts = [optional_api(jax, name) for name in ("typeof", *TABLES)]
    if None in parts:
        return
    typeof, types, canonical, placed = parts

    def put(values: Sequence[Any], *places: Any) -> Any:
        arrays = list(map(_array, values))
        return placed[type(arrays[0])](arrays, *places)

    def type_of(value: Any) -> Any:
        placed.setdefault(type(value), put)  # by the class itself, not by its bases
        return typeof(_array(value))

    for kind in (Tensor, keras.Variable):
        types[kind], canonical[kind] = type_of, _array


def _array(value: Any) -> Any:
    """The array of JAX for a tensor or a weight."""
    tensor = unwrapped(value)
    return tensor.__jax_array__() if isinstance(tensor, Tensor) else tensor
