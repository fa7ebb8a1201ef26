"""Operators of KerasTensors whose other operand is a tensor of a graph, as K's placeholders are: Dovetail's apply."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np

from dovetail.compat.keras2.patches import Patch
from dovetail.edit.graph import GraphTensor
from dovetail.interop.privates import tree
from dovetail.ops.shapes.subscript import getitem

NAMES = "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"
BINARY = [*(f"__{side}{name}__" for name in NAMES for side in ("", "r")), "__lt__", "__le__", "__gt__", "__ge__"]


def patches() -> Iterable[Patch]:
    """Yield the changes of the operators that Keras' class has."""
    tensor: Any = keras.KerasTensor
    for name in BINARY:
        if name in vars(tensor):
            yield Patch(tensor, name, _leaving_graphs(vars(tensor)[name]))
    yield Patch(tensor, "__getitem__", _at_tensors(tensor.__getitem__))


def _leaving_graphs(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operator: the other operand applies its own if it is a tensor of a graph."""

    @functools.wraps(operator)
    def call(self: Any, other: Any) -> Any:
        return NotImplemented if type(other) is GraphTensor else operator(self, other)

    return call


def _at_tensors(take: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `__getitem__`: indices may be numbers of NumPy, or tensors, of a graph or of the model."""

    @functools.wraps(take)
    def call(self: Any, key: Any) -> Any:
        key = tree.map_structure(lambda part: part.item() if isinstance(part, np.integer) else part, key)
        parts = tree.flatten([(k.start, k.stop, k.step) if isinstance(k, slice) else k for k in tree.flatten(key)])
        is_known = not any(isinstance(part, (GraphTensor, keras.KerasTensor)) for part in parts)
        return take(self, key) if is_known else getitem(self, key)

    return call
