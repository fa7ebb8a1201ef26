"""The learning phase in a functional model: a layer picks one of two parts by its `training` argument in each run."""

from __future__ import annotations

from typing import Any

import keras

from dovetail.backend.values import told_to_layer
from dovetail.core.base.context import register_context
from dovetail.core.values.structure import flatten, show, unflatten
from dovetail.interop.keras.control_layers import Body, promote_outputs, symbolic_or_native, taken_by
from dovetail.interop.keras.parts import LayerOfParts
from dovetail.interop.keras.tensors import KerasTensor
from dovetail.ops.control.subgraphs import join_specs


def _told_to_layer() -> int | None:
    """The `training` argument of the running layer, as 0 or 1; None if it is not a Python number."""
    told = told_to_layer()
    return int(told) if isinstance(told, int) else None


register_context(_told_to_layer, is_of_library=True)


def in_train_phase(x: Any, alt: Any) -> Any:
    """One value while a functional model trains, another one otherwise.

    Args:
        x: the value in training: a tensor, or a structure of tensors, or a function that gives it.
        alt: the value otherwise, of the same structure and ranks.

    Returns:
        KerasTensors; `alt` as it is, if neither value is of a functional model.

    Raises:
        ValueError: the structures or ranks differ.

    Source: `keras.backend.in_train_phase` of Keras 2.3.
    """
    testing, structure = _body(alt)
    if not any(isinstance(v, keras.KerasTensor) for v in (*testing.outputs, *flatten(x)[0])):
        return unflatten(structure, testing.outputs)
    training, form = _body(x)
    if form != structure:
        raise ValueError(f"both values must have one structure, but they are {show(form)} and {show(structure)}.")
    promote_outputs([training, testing])
    taken = taken_by([training, testing])
    layer = InTrainPhase({"training": training.part(taken), "testing": testing.part(taken)})
    layer.compute_output_spec([])  # raises errors here; Keras' call would hide the user's line
    return unflatten(structure, layer([symbolic_or_native(v) for v in taken]))


def _body(value: Any) -> tuple[Body, Any]:
    """A body that gives a value, or the result of a function; and the value's structure."""
    structures = []

    def leaves() -> list[Any]:
        flat, structure = flatten(value() if callable(value) else value)
        structures.append(structure)
        return flat

    return Body([], leaves), structures[0]


@keras.saving.register_keras_serializable("dovetail")
class InTrainPhase(LayerOfParts):
    """One of two parts, "training" and "testing"; the layer computes only the picked one."""

    def call(self, values: list[Any], training: bool | None = None) -> list[Any]:
        """Run the picked part.

        Args:
            values: the inputs of both parts.
            training: whether to pick the part "training".
        """
        return self.parts["training" if training else "testing"](*values, training=training)

    def compute_output_spec(self, values: list[Any], training: bool | None = None) -> list[Any]:
        pairs = zip(*(part.output_specs for part in self.parts.values()), strict=True)
        return [KerasTensor(join_specs(a, b, "what is computed in training and else")) for a, b in pairs]
