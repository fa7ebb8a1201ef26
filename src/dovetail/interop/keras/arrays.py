"""NumPy arrays as the tensors of Keras' NumPy backend: in a layer that runs, ops that are given arrays give arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


def _apply(outside: Callable[..., Any], op: Op, values: list[Any], name: str | None = None) -> Any:
    """Makes a call; where arrays are given, arrays come back."""
    found = outside(op, values, name)
    if not any(isinstance(value, np.ndarray) for value in arguments.operands(op, values)):
        return found
    return tuple(map(_array, found)) if isinstance(found, tuple) else _array(found)


def register() -> None:
    """From now on ops do so, if Keras computes with NumPy."""
    if keras.backend.backend() == "numpy":
        for world in (worlds.HOST, worlds.EAGER, worlds.STATE):
            world.apply = partial(_apply, world.apply)
        worlds.HOST.unwrap_result = _array
