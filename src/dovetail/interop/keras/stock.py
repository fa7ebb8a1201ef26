"""The registration of a stock Keras 3's tensors, variables and arrays; this Keras computes with another library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import get_engine, owner_of_type
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import Wrapper, register
from dovetail.interop.keras import arrays, computing, saving, variables
from dovetail.interop.keras.kinds import OfKeras, Symbolic


class _Variable(OfKeras, Wrapper):
    """Keras variables, which tapes do not follow."""


class _Computing(computing.Computing):
    """Operations on a library's values, by the rules of that library's engine."""

    def result(self, value: Any) -> Any:
        """A Tensor as a NumPy array, which may be a shape or a value of Keras' NumPy backend; others unchanged."""
        return np.asarray(value) if type(value) is Tensor else value

    def control_rule(self, op: str, values: Sequence[Any]) -> Callable[..., Any]:
        return _engine_of(values).native.rules[op]

    def carries_states(self, values: Sequence[Any]) -> bool:
        """True for jax: a function that JAX traces cannot assign variables, such as seeds."""
        return _engine_of(values).name == "jax"

    def gradients(self, loss: Callable[..., Any], sources: Sequence[Any]) -> Sequence[Any]:
        return _engine_of(sources[:1]).gradients_of(loss, sources)


def _engine_of(values: Sequence[Any]) -> Engine:
    return next(filter(None, (owner_of_type(type(v)) for v in values)), None) or get_engine("numpy")


computing.use(_Computing())
register(keras.KerasTensor, Symbolic())
register(keras.Variable, _Variable())
saving.register()
variables.register()
arrays.register()
