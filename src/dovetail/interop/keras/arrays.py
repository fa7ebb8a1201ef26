"""NumPy arrays as the tensors of Keras' NumPy backend: in a layer that runs, ops that are given arrays give arrays."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from dovetail.backend.values import running_layer
from dovetail.core import arguments, worlds
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor


def _array(result: Any) -> Any:
    """A result as Keras takes it."""
    return result._engine.to_numpy(result._value) if type(result) is Tensor and running_layer() is not None else result


def _finish(op: Op, values: list[Any], result: Any) -> Any:
    """Where arrays are given, arrays come back."""
    if not any(isinstance(value, np.ndarray) for value in arguments.operands(op, values)):
        return result
    return tuple(map(_array, result)) if isinstance(result, tuple) else _array(result)


def register() -> None:
    """From now on ops do so, if Keras computes with NumPy."""
    if keras.backend.backend() == "numpy":
        for world in (worlds.HOST, worlds.EAGER, worlds.STATE):
            world.finish = _finish
        worlds.HOST.unwrap_result = _array
