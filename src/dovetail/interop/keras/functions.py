"""Functions and gradients cut out of functional models, as K has them: `K.function` and `K.gradients`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras.src.backend.common import global_state

from dovetail.dtypes import as_dtype
from dovetail.engines import get_engine, owner_of_type
from dovetail.interop.keras.parts import LayerOfParts, Part, cut, model_of
from dovetail.interop.keras.random import RandomKey
from dovetail.interop.keras.tensors import KerasTensor, input_like, spec_of
from dovetail.ops import cast
from dovetail.ops import sum as total

# -- functions --------------------------------------------------------------------------------------------------------


def function(inputs: Sequence[keras.KerasTensor], outputs: Sequence[keras.KerasTensor]) -> Callable[..., list[Any]]:
    """What a functional model computes between some of its tensors, as a function of arrays.

    Args:
        inputs: any tensors of the model, also inner ones.
        outputs: tensors that can be computed from them.

    Returns:
        (arrays, training=None) → a list of arrays; `training` is what layers like Dropout are told.

    Raises:
        ValueError: there are no inputs, or outputs need other inputs as well; the message names them.

    Source: `tf.keras.backend.function`.
    """
    inputs, outputs = list(inputs), list(outputs)
    if not inputs:
        raise ValueError("a function of a Keras model needs at least one of its tensors as an input.")
    given = set(map(id, inputs))
    nodes, taken = cut(outputs, lambda tensor: id(tensor) in given)
    missing = [t.name for t in taken if id(t) not in given]
    if missing:
        raise ValueError(f"the outputs also depend on {', '.join(missing)}, which must be among the inputs.")
    model = model_of(nodes, inputs, [input_like(spec_of(t)) for t in inputs], outputs)

    def run(arrays: Sequence[Any], training: bool | None = None) -> list[Any]:
        tensors = [keras.ops.convert_to_tensor(a, str(as_dtype(t.dtype))) for a, t in zip(arrays, inputs, strict=True)]
        if training:
            return keras.tree.flatten(model(tensors, training=True))
        return keras.tree.flatten(model.predict_on_batch(tensors))  # which Keras compiles

    return run


# -- gradients --------------------------------------------------------------------------------------------------------


def gradients(ys: Any, xs: Any) -> list[keras.KerasTensor | None]:
    """The gradients of tensors of a functional model, as more tensors of it; they have gradients in turn.

    Args:
        ys: a tensor, or a list of them, of which the sum counts.
        xs: a tensor, or a list of them, also inner ones.

    Returns:
        A tensor for each of xs, of its shape and dtype; None where ys do not depend on it, or it has an integer dtype.

    Raises:
        TypeError: one of xs is no KerasTensor.

    Source: `tf.keras.backend.gradients`.
    """
    losses = [y for y in keras.tree.flatten(ys) if as_dtype(y.dtype).is_floating]
    sources = keras.tree.flatten(xs)
    for x in sources:
        if not isinstance(x, keras.KerasTensor):
            problem = "the gradients of a Keras model's tensors are with respect to other tensors of it, not to"
            raise TypeError(f"{problem} {x!r}; train its weights with model.fit, or with the backend's own gradients.")
    floats = {id(x): x for x in sources if as_dtype(x.dtype).is_floating}
    # A part ends at its inputs, so a tensor that depends on other ones asked for is the input of another part.
    inner = [x for x in floats.values() if id(x) in _dependent([x], floats.keys() - {id(x)})]
    first = [x for x in floats.values() if not any(x is other for other in inner)]
    found: dict[int, keras.KerasTensor] = {}
    for group in (first, *([x] for x in inner)):
        found.update(_gradients(losses, set(map(id, group))))
    return [found.get(id(x)) for x in sources]


def _gradients(ys: Sequence[keras.KerasTensor], xs: set[int]) -> dict[int, keras.KerasTensor]:
    """The gradients with respect to tensors that do not depend on each other, by their ids; only those there are."""
    dependent = _dependent(ys, xs)
    ys = [y for y in ys if id(y) in dependent]
    nodes, taken = cut(ys, lambda tensor: id(tensor) in xs or id(tensor) not in dependent)
    reached = [t for t in taken if id(t) in xs]
    if not reached:
        return {}
    taken = [*reached, *(t for t in taken if id(t) not in xs)]
    layer = Gradients({"ys": Part.of(nodes, taken, ys)}, len(reached))
    return dict(zip(map(id, reached), layer(taken), strict=True))


def _dependent(ys: Sequence[keras.KerasTensor], xs: set[int]) -> set[int]:
    """The tensors, by their ids, on the ways from some to others."""
    found = set(xs)
    for node in cut(ys, lambda tensor: id(tensor) in xs)[0]:
        # The way to a random key says when it is drawn, not what it is; and the numbers stay those of the model.
        if not isinstance(node.operation, RandomKey) and any(id(t) in found for t in node.input_tensors):
            found.update(map(id, node.outputs))
    return found


@keras.saving.register_keras_serializable("dovetail")
class Gradients(LayerOfParts):
    """The gradients of the sum of what a part gives, by the differentiation of Keras' backend.

    Args:
        parts: the one, named "ys".
        count: how many of its inputs, the first ones, to differentiate with respect to.
    """

    def __init__(self, parts: dict[str, Part], count: int, **options: Any) -> None:
        super().__init__(parts, **options)
        self.count = count

    def call(self, values: list[Any], training: bool | None = None) -> list[Any]:
        """The gradients where the part's inputs have these values."""
        others = values[self.count :]

        def loss(*sources: Any) -> Any:
            ys = self.parts["ys"](*sources, *others, training=training)
            return sum(total(cast(y, "float32") if as_dtype(y.dtype).itemsize < 4 else y) for y in ys)

        owner = owner_of_type(type(values[0])) or get_engine("numpy")
        found = owner.gradients_of(loss, values[: self.count])
        return [keras.ops.zeros_like(x) if g is None else g for x, g in zip(values, found, strict=False)]

    def compute_output_spec(self, values: list[Any], training: bool | None = None) -> list[Any]:
        return [KerasTensor(spec_of(x)) for x in values[: self.count]]

    def get_config(self) -> dict[str, Any]:
        in_file = global_state.get_global_attribute("shared_objects/id_to_config_map") is not None
        if self.inner_layers and not in_file:
            problem = "a model that computes gradients shares its layers with them, which Keras keeps only in a file"
            raise NotImplementedError(f"{problem}: save the model to a file and load it, to have another one like it.")
        return {**super().get_config(), "count": self.count}
