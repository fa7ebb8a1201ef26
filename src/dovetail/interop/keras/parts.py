"""Parts of functional models: cut out, run by layers, and saved with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras

from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.graph.reach import walk
from dovetail.interop.keras.tensors import spec_of

# -- cutting ----------------------------------------------------------------------------------------------------------


def node_of(tensor: keras.KerasTensor) -> Any:
    """The call of the operation that made a tensor; None if no operation made it."""
    operation, index, _ = getattr(tensor, "_keras_history", (None, 0, 0))
    return None if operation is None else operation._inbound_nodes[index]


def cut(outputs: Iterable[Any], is_outside: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Find the nodes and the outside values that outputs are computed from.

    Args:
        outputs: KerasTensors, or other values, which count as outside.
        is_outside: whether a tensor is an input of the part, not computed in it.

    Returns:
        The nodes inside in the order of computation, and the values that they and the outputs take from outside.
    """

    def inside(value: Any) -> Any:
        """The node that computes a value in the part; None for a value from outside."""
        node = node_of(value) if isinstance(value, keras.KerasTensor) and not is_outside(value) else None
        return None if node is None or node.is_input else node

    def makers(values: Iterable[Any]) -> list[Any]:
        return [node for node in map(inside, values) if node is not None]

    outputs = list(outputs)
    nodes = walk(makers(outputs), lambda node: makers(node.arguments.keras_tensors))
    used = [*(t for node in nodes for t in node.arguments.keras_tensors), *outputs]
    return nodes, list({id(value): value for value in used if inside(value) is None}.values())


def model_of(
    nodes: Iterable[Any], sources: Sequence[Any], inputs: Sequence[keras.KerasTensor], outputs: Iterable[Any]
) -> keras.Model:
    """A model that computes the same as some nodes.

    Args:
        nodes: the nodes in the order of computation; this calls their operations once more.
        sources: the values that the nodes and outputs take from outside.
        inputs: tensors that `keras.Input` made, one for each source.
        outputs: KerasTensors of the nodes, or sources.
    """
    known = dict(zip(map(id, sources), inputs, strict=True))
    for node in nodes:
        args, kwargs = node.arguments.fill_in(known)
        results = keras.tree.flatten(node.operation(*args, **kwargs))
        known.update(zip(map(id, node.outputs), results, strict=True))
    return keras.Model(list(inputs), [known[id(v)] for v in outputs])


@contextmanager
def with_values(variables: Sequence[Any], values: Sequence[Any]) -> Iterator[Any]:
    """Give Keras variables these values inside the `with` block; assignments there stay in the block's scope."""
    if not variables:
        yield None
        return
    with keras.StatelessScope(list(zip(variables, values, strict=True))) as scope:
        if scope.original_scope is not None:  # keep the outer scope's values, such as the model's weights
            scope.state_mapping = {**scope.original_scope.state_mapping, **scope.state_mapping}
        yield scope


# -- running ----------------------------------------------------------------------------------------------------------


@keras.saving.register_keras_serializable("dovetail")
@dataclass(frozen=True)
class Slot:
    """The position of an argument among the values of a running part."""

    index: int

    def get_config(self) -> dict[str, Any]:
        return {"index": self.index}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Slot:
        return cls(**config)


@keras.saving.register_keras_serializable("dovetail")
class Part:
    """The computation of a functional model from some tensors, as a function.

    It is no `keras.Model`, which would add calls to its layers.  Keras counts calls to identify them in a saved model.
    So it could not load a model that has a layer both inside and outside of a part.

    Args:
        steps: operations with their arguments, in the order of computation.  Slots replace tensors: the inputs have the
            first Slots, and each operation's results get the next ones.
        outputs: the Slots of the outputs.
        specs: the specs of the inputs, and of the outputs.
    """

    def __init__(
        self,
        steps: Sequence[tuple[Any, Any, Any]],
        outputs: Sequence[Slot],
        specs: tuple[Sequence[TensorSpec], Sequence[TensorSpec]],
    ) -> None:
        self.steps, self.outputs = list(steps), list(outputs)
        self.input_specs, self.output_specs = map(list, specs)

    @classmethod
    def of(cls, nodes: Iterable[Any], sources: Sequence[Any], outputs: Sequence[Any]) -> Part:
        """A part that computes the same as some nodes.

        Args:
            nodes: the nodes in the order of computation.
            sources: the values that the nodes and outputs take from outside: KerasTensors, or values that are known.
            outputs: KerasTensors of the nodes, or sources.
        """
        slots = {id(source): Slot(index) for index, source in enumerate(sources)}
        steps, count = [], len(sources)
        for node in nodes:
            steps.append((node.operation, *node.arguments.fill_in(slots)))
            for output in node.outputs:
                slots[id(output)] = Slot(count)
                count += 1
        specs = ([spec_of(v) for v in sources], [spec_of(v) for v in outputs])
        return cls(steps, [slots[id(v)] for v in outputs], specs)

    @property
    def operations(self) -> list[Any]:
        """The operations, each once."""
        return list(dict.fromkeys(operation for operation, _, _ in self.steps))

    def __call__(self, *inputs: Any, training: bool | None = None) -> list[Any]:
        """Compute the outputs; layers like Dropout get `training`, if it is not None."""
        values = list(inputs)

        def filled(argument: Any) -> Any:
            return values[argument.index] if isinstance(argument, Slot) else argument

        for operation, args, kwargs in self.steps:
            args, kwargs = keras.tree.map_structure(filled, (args, kwargs))
            if training is not None and "training" in kwargs:  # it holds the value of the symbolic call
                kwargs["training"] = training
            values += keras.tree.flatten(operation(*args, **kwargs))
        return [values[slot.index] for slot in self.outputs]

    def get_config(self) -> dict[str, Any]:
        operations = self.operations
        save = keras.saving.serialize_keras_object
        return {
            # Keras recognizes a layer that is in a file several times by this number, which it would add too late here.
            "operations": [{**save(operation), "shared_object_id": id(operation)} for operation in operations],
            "steps": [
                [operations.index(operation), save(args), save(kwargs)] for operation, args, kwargs in self.steps
            ],
            "outputs": [slot.index for slot in self.outputs],
            "specs": [
                [[list(spec.shape or ()), str(spec.dtype)] for spec in specs]
                for specs in (self.input_specs, self.output_specs)
            ],
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Part:
        load = keras.saving.deserialize_keras_object
        operations = [load(operation) for operation in config["operations"]]
        steps = [(operations[index], load(args), load(kwargs)) for index, args, kwargs in config["steps"]]
        inputs, outputs = (
            [TensorSpec(tuple(shape), as_dtype(dtype)) for shape, dtype in specs] for specs in config["specs"]
        )
        return cls(steps, [Slot(index) for index in config["outputs"]], (inputs, outputs))


class LayerOfParts(keras.layers.Layer):
    """A layer that runs parts, and has the parts' layers as its own.

    Args:
        parts: name → part.
    """

    def __init__(self, parts: dict[str, Part], **options: Any) -> None:
        super().__init__(autocast=False, **options)
        self.parts = parts
        operations = dict.fromkeys(operation for part in parts.values() for operation in part.operations)
        self.inner_layers = [operation for operation in operations if isinstance(operation, keras.layers.Layer)]
        self.supports_masking = True
        self.built = True

    def compute_mask(self, *args: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        parts = {name: keras.saving.serialize_keras_object(part) for name, part in self.parts.items()}
        return {**super().get_config(), "parts": parts}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LayerOfParts:
        parts = {name: keras.saving.deserialize_keras_object(part) for name, part in config["parts"].items()}
        return cls(**{**config, "parts": parts})
