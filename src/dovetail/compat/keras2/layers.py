"""Methods and attributes that layers, models and tensors had in Keras 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import keras

from dovetail.compat.keras2.patches import Patch, methods
from dovetail.interop.privates import Functional, get_keras_mask


def patches() -> Iterable[Patch]:
    """Yield the changes of layers, models and KerasTensors."""
    yield from methods(
        keras.layers.Layer,
        add_update=_add_update,
        get_input_at=_at("input_tensors", "input"),
        get_output_at=_at("output_tensors", "output"),
        get_input_shape_at=_at("input_tensors", "input shape", lambda tensor: tuple(tensor.shape)),
        get_output_shape_at=_at("output_tensors", "output shape", lambda tensor: tuple(tensor.shape)),
        get_input_mask_at=_at("input_tensors", "input mask", get_keras_mask),
        get_output_mask_at=_at("output_tensors", "output mask", get_keras_mask),
    )
    yield Patch(Functional, "add_loss", _refuse_symbolic_loss)
    yield from methods(keras.Sequential, input=_of_the_graph("input"), output=_of_the_graph("output"))
    yield Patch(keras.KerasTensor, "_keras_shape", property(lambda self: tuple(self.shape)))


def _add_update(self: Any, updates: Any, inputs: Any = None) -> None:
    """Assign variables from pairs of a variable and its new value; `K.update` has already assigned its own.

    Args:
        updates: one, or a list of them.
        inputs: ignored, as updates belong to the call in which they are made.

    Source: `keras.layers.Layer.add_update` of Keras 2.3.
    """
    for update in updates if isinstance(updates, list) else [updates]:
        if isinstance(update, tuple):
            variable, value = update
            variable.assign(value)


def _at(tensors: str, words: str, part: Callable[[Any], Any] = lambda tensor: tensor) -> Callable[..., Any]:
    """Make a method for the inputs or outputs of one call of a layer; several tensors come as a list."""

    def method(self: Any, node_index: int) -> Any:
        found = self._get_node_attribute_at_index(node_index, tensors, words)
        return [part(tensor) for tensor in found] if isinstance(found, (list, tuple)) else part(found)

    return method


def _of_the_graph(name: str) -> property:
    """Make a property for the input or output of a Sequential, which need not have been called as a layer."""

    def found(self: Any) -> Any:
        source = self._functional or super(keras.Sequential, self)
        tensors = getattr(source, name)
        return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors

    return property(found)


def _refuse_symbolic_loss(self: Any, losses: Any, inputs: Any = None) -> NoReturn:
    raise NotImplementedError(
        "Keras 3 has no losses that are tensors of a functional model: make a layer whose call(self, x) computes the "
        "loss, calls self.add_loss(loss) and returns x, and put it where the loss is computed."
    )
