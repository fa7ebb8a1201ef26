"""The computation of KerasTensors from values that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail.interop.keras.parts import cut

Known = dict[int, tuple[Any, Any]]  # id → a KerasTensor and its value

GIVEN = "_given"  # the attribute of an input of a model that is made of another tensor, `keras.Input(tensor=x)`


def value_of(tensor: keras.KerasTensor, known: Known, of_source: Callable[[Any], Any]) -> Any:
    """The value of a tensor, computed from known values, which the new ones join.

    Args:
        tensor: the tensor.
        known: the known values.
        of_source: a function that gives the value of a tensor that no operation made.
    """
    if id(tensor) not in known:
        nodes, taken = cut([tensor], lambda t: id(t) in known)
        known.update((id(t), (t, of_source(t))) for t in taken if id(t) not in known)
        for node in nodes:
            args, kwargs = node.arguments.fill_in({key: value for key, (_, value) in known.items()})
            if not kwargs.get("training"):  # Keras also puts a default there
                kwargs.pop("training", None)
            results = keras.tree.flatten(node.operation(*args, **kwargs))
            known.update((id(t), (t, value)) for t, value in zip(node.outputs, results, strict=True))
    return known[id(tensor)][1]


def is_given(tensors: Iterable[Any]) -> bool:
    """Whether tensors are computed from an input that is made of another tensor."""
    return any(GIVEN in vars(t) for t in cut(tensors, lambda t: False)[1])
