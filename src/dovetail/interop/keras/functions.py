"""Functions and gradients cut out of functional models, for `K.function` and `K.gradients`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras

from dovetail.core.base.errors import describe
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import owned
from dovetail.interop.keras import computing
from dovetail.interop.keras.parts import LayerOfParts, Part, cut, model_of, with_values
from dovetail.interop.keras.random import RandomKey
from dovetail.interop.keras.tensors import KerasTensor, input_like, spec_of
from dovetail.interop.privates import global_state
from dovetail.ops import cast
from dovetail.ops import sum as total

# -- functions --------------------------------------------------------------------------------------------------------


def function(inputs: Sequence[keras.KerasTensor], outputs: Sequence[keras.KerasTensor]) -> Callable[..., list[Any]]:
    """The computation between some tensors of a functional model, as a function of arrays.

    Args:
        inputs: any tensors of the model, also inner ones.
        outputs: tensors that can be computed from them.

    Returns:
        (arrays, training=None) → a list of arrays; layers like Dropout get `training`.

    Raises:
        ValueError: there are no inputs, or outputs need other inputs as well; the message names those.

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
        return keras.tree.flatten(model.predict_on_batch(tensors))  # Keras compiles this

    return run


# -- gradients --------------------------------------------------------------------------------------------------------


def gradients(ys: Any, xs: Any, constants: Sequence[keras.KerasTensor] = ()) -> list[keras.KerasTensor | None]:
    """The gradients of tensors of a functional model, as new tensors of it, which have gradients in turn.

    Args:
        ys: a tensor, or a list of tensors whose sum is differentiated.
        xs: a tensor or a weight of a layer, or a list of them, also inner ones.
        constants: tensors through which no gradient goes.

    Returns:
        A tensor for each of xs, of its shape and dtype; None if ys do not depend on it, or it has an integer dtype.

    Raises:
        TypeError: one of xs is neither a KerasTensor nor a Keras variable.

    Source: `tf.keras.backend.gradients`.
    """
    losses = [y for y in keras.tree.flatten(ys) if as_dtype(y.dtype).is_floating]
    sources = keras.tree.flatten(xs)
    for x in sources:
        if not isinstance(x, (keras.KerasTensor, keras.Variable)):
            problem = "the gradients of a Keras model's tensors are with respect to its tensors and weights, not to"
            raise TypeError(f"{problem} {describe(x)}; make it a weight with add_weight, in the build of a layer.")
    weights = {id(x): x for x in sources if isinstance(x, keras.Variable) and as_dtype(x.dtype).is_floating}
    tensors = [x for x in sources if isinstance(x, keras.KerasTensor)]
    floats = {id(x): x for x in tensors if as_dtype(x.dtype).is_floating}
    fixed = set(map(id, constants))
    # A part ends at its inputs, so a source that depends on other sources is the input of another part.
    inner = [x for x in floats.values() if id(x) in _dependent([x], floats.keys() - {id(x)}, fixed)]
    first = [x for x in floats.values() if not any(x is other for other in inner)]
    by_source: dict[int, keras.KerasTensor] = {}
    for group in (first, *([x] for x in inner), weights.values()):
        by_source.update(_gradients(losses, set(map(id, group)), fixed))
    return [by_source.get(id(x)) for x in sources]


def _gradients(ys: Sequence[keras.KerasTensor], xs: set[int], constants: set[int]) -> dict[int, keras.KerasTensor]:
    """The gradients with respect to tensors that do not depend on each other, or to weights.

    Args:
        ys: the tensors whose sum is differentiated.
        xs: the ids of the tensors or weights.
        constants: the ids of tensors through which no gradient goes.

    Returns:
        The gradients that exist, by the ids of xs.
    """
    dependent = _dependent(ys, xs, constants)
    ys = [y for y in ys if id(y) in dependent]
    nodes, taken = cut(ys, lambda tensor: id(tensor) in xs or id(tensor) not in dependent)
    reached = [t for t in taken if id(t) in xs]
    taken = [*reached, *(t for t in taken if id(t) not in xs)]
    part = Part.of(nodes, taken, ys)
    weights = [i for i, weight in enumerate(_weights_of(part)) if id(weight) in xs]
    if not reached and not weights:
        return {}
    layer = Gradients({"ys": part}, len(reached), weights)
    return dict(zip(map(id, [*reached, *layer.by_weights()]), layer(taken), strict=True))


def _dependent(ys: Sequence[keras.KerasTensor], xs: set[int], constants: set[int]) -> set[int]:
    """The ids of the tensors on the paths from the tensors or weights `xs` to `ys`, around the constants."""
    dependent = set(xs)
    for node in cut(ys, lambda tensor: id(tensor) in xs)[0]:
        # The input of a random key only orders the draw.  Outside the part, the key keeps the model's random numbers.
        before = [] if isinstance(node.operation, RandomKey) else node.arguments.keras_tensors
        if any(id(x) in dependent for x in (*before, *getattr(node.operation, "variables", ()))):
            dependent.update(set(map(id, node.outputs)) - constants)
    return dependent


def _weights_of(part: Part) -> list[keras.Variable]:
    """The weights of a part's layers, each once."""
    weights = [weight for operation in part.operations for weight in getattr(operation, "variables", ())]
    return list({id(weight): weight for weight in weights}.values())


@keras.saving.register_keras_serializable("dovetail")
class Gradients(LayerOfParts):
    """The gradients of the sum of a part's outputs, by the differentiation of Keras' backend.

    Args:
        parts: one part, named "ys".
        count: the number of its first inputs to differentiate with respect to.
        weights: the positions of the weights of its layers to differentiate with respect to, as well.
    """

    def __init__(self, parts: dict[str, Part], count: int, weights: Sequence[int] = (), **options: Any) -> None:
        super().__init__(parts, **options)
        self.count, self.weight_positions = count, list(weights)

    def by_weights(self) -> list[keras.Variable]:
        """The weights to differentiate with respect to."""
        weights = _weights_of(self.parts["ys"])
        return [weights[i] for i in self.weight_positions]

    def call(self, values: list[Any], training: bool | None = None) -> list[Any]:
        """The gradients at these values of the part's inputs."""
        others, weights = values[self.count :], self.by_weights()

        def loss(*sources: Any) -> Any:
            with with_values(weights, sources[self.count :]):
                ys = self.parts["ys"](*sources[: self.count], *others, training=training)
            return sum(total(cast(y, "float32") if as_dtype(y.dtype).itemsize < 4 else y) for y in ys)

        sources = [*values[: self.count], *map(owned, weights)]
        derivatives = computing.current().gradients(loss, sources)
        return [keras.ops.zeros_like(x) if g is None else g for x, g in zip(sources, derivatives, strict=True)]

    def compute_output_spec(self, values: list[Any], training: bool | None = None) -> list[Any]:
        weights = [TensorSpec(tuple(w.shape), as_dtype(w.dtype)) for w in self.by_weights()]
        return [KerasTensor(spec) for spec in (*map(spec_of, values[: self.count]), *weights)]

    def get_config(self) -> dict[str, Any]:
        in_file = global_state.get_global_attribute("shared_objects/id_to_config_map") is not None
        if self.inner_layers and not in_file:
            problem = "a model that computes gradients shares its layers with them, which Keras keeps only in a file"
            raise NotImplementedError(f"{problem}: save the model to a file and load it, to have another one like it.")
        return {**super().get_config(), "count": self.count, "weights": self.weight_positions}
