"""NumPy arrays as the tensors of Keras' NumPy backend: in a layer that runs, ops that are given arrays give arrays."""

from __future__ import annotations

from typing import Any

import keras

from dovetail.backend.values import running_layer
from dovetail.core.provided import provided
from dovetail.core.tensor import Tensor


def _array(result: Any) -> Any:
    """A result as Keras takes it."""
    return result._engine.to_numpy(result._value) if type(result) is Tensor and running_layer() is not None else result


def register() -> None:
    """From now on ops do so, if Keras computes with NumPy."""
    if keras.backend.backend() == "numpy":
        provided.array_result = _array
