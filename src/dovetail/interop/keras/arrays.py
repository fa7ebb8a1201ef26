"""NumPy arrays as the tensors of Keras' NumPy backend: in a running layer, ops on arrays return arrays."""

from __future__ import annotations

from typing import Any

import keras

from dovetail.backend.values import running_layer
from dovetail.core.base.hooks import hooks
from dovetail.core.tensor import Tensor


def _array(result: Any) -> Any:
    """A result in the form that Keras takes: an array, while a layer runs."""
    return result._engine.to_numpy(result._value) if type(result) is Tensor and running_layer() is not None else result


def register() -> None:
    """Make ops return arrays in running layers, if Keras computes with NumPy."""
    if keras.backend.backend() == "numpy":
        hooks.array_result = _array
