"""Objects of a SavedModel as plain data: attributes, and functions with the values that they captured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.base.hooks import hooks
from dovetail.formats.tensorflow.attributes import dtype_named
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.read_nodes import Body
from dovetail.formats.tensorflow.reading import Reader
from dovetail.formats.tensorflow.saved_model import Read, SavedGraph
from dovetail.formats.tensorflow.saving import DICT, LIST
from dovetail.formats.tensorflow.values import Foreign, Handle, Spec
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.objects import GRAPH, StoredObjects
from dovetail.formats.wire.tensors import array_of, shape_of

DEEPEST = 50  # lists in each other
COLLECTIONS: Mapping[str, type[list[Any] | dict[str, Any]]] = {  # TensorFlow's load gives a list for a tuple, too
    LIST: list,
    "trackable_tuple_wrapper": list,
    DICT: dict,
}


@dataclass
class Concrete:
    """A function for one kind of arguments.

    Attributes:
        name: of the function in the library.
        args, kwargs: the structure of its arguments: specs, and values that are no tensors.
        result: the structure of its result.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


@dataclass
class Parameters:
    """The parameters of a function, as Python declares them.

    Attributes:
        names: those with a position.
        defaults: name → value.
    """

    names: list[str]
    defaults: dict[str, Any]

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call by position, as far as they have one, and the others by name, with defaults."""
        positional, named = list(args), {**kwargs}
        for name in self.names[len(args) :]:
            if name not in named and name not in self.defaults:
                break
            positional.append(named.pop(name) if name in named else self.defaults[name])
        others = {name: value for name, value in self.defaults.items() if name not in self.names}
        return positional, {**others, **named}


class Objects:
    """The objects of a SavedModel, by their numbers; 0 is the model.

    Args:
        saved: the graph of the file.

    Attributes:
        made: number of an object → what the caller made of it.

    Raises:
        FormatError: the file has no objects, as those of TensorFlow 1.
    """

    def __init__(self, saved: SavedGraph) -> None:
        self._saved = saved
        self.made: dict[int, Any] = {}
        saved.objects = self
        if saved.object_graph is None or not saved.object_graph.nodes:
            raise FormatError(saved.file, "the objects", "none", "a SavedModel of TensorFlow 2")
        self._nodes = saved.object_graph.nodes

    def kind(self, number: int) -> str:
        """The kind of an object, such as "variable" or "function"."""
        return self._node(number).WhichOneof("kind") or "user_object"

    def _node(self, number: int) -> Any:
        if not 0 <= number < len(self._nodes):
            raise FormatError(self._saved.file, "the objects", f"the object {number}", f"one of {len(self._nodes)}")
        return self._nodes[number]

    def children(self, number: int) -> dict[str, int]:
        """The attributes of an object, by name."""
        return {child.local_name: child.node_id for child in self._node(number).children}

    def collection(self, number: int) -> type[list[Any] | dict[str, Any]] | None:
        """The class of an object that is a list or a dict of Python; None if it is something else."""
        node = self._node(number)
        return COLLECTIONS.get(node.user_object.identifier) if self.kind(number) == "user_object" else None

    @cached_property
    def _paths(self) -> dict[int, tuple[str, ...]]:
        """Number of an object → the attributes that lead to it."""
        paths: dict[int, tuple[str, ...]] = {0: ()}
        order = [0]
        for number in order:
            for name, child in self.children(number).items():
                if child not in paths:
                    paths[child] = (*paths[number], name)
                    order.append(child)
        return paths

    @cached_property
    def handles(self) -> dict[int, str]:
        """Number of a variable → the name of its node."""
        bundle, nodes = self._saved.bundle, {key: name for name, key in self._saved.keys.items()}
        if GRAPH not in bundle:
            return {}
        stored = StoredObjects(bundle[GRAPH], self._saved.file)
        variables = [number for number in self._paths if self.kind(number) == "variable"]
        keys = {number: stored.key(self._paths[number]) for number in variables}
        return {number: nodes[key] for number, key in keys.items() if key in nodes}

    @cached_property
    def bound(self) -> dict[int, str]:
        """Number of an object that functions capture → the input that calls in the main graph have for it."""
        inputs_of: dict[int, str] = {}
        known = self._saved.object_graph.concrete_functions
        for node in self._saved.nodes.values():
            name = node.attr["f"].func.name if node.op.endswith("PartitionedCall") else ""
            numbers = known[name].bound_inputs if name in known else ()
            inputs = [text for text in node.input if not text.startswith("^")]
            inputs_of |= zip(numbers, inputs[len(inputs) - len(numbers) :], strict=False)
        return inputs_of

    @cached_property
    def twins(self) -> dict[str, str]:
        """Handle of a variable → the handle that the main graph has for the same variable.

        Keras 3 stores each variable twice: once for the functions of the objects, and once for the main graph.
        """
        pairs = {self.handles[number]: text for number, text in self.bound.items() if number in self.handles}
        return {own: text for own, text in pairs.items() if text in self._saved.nodes}

    @cached_property
    def trainable(self) -> dict[str, bool]:
        """Handle of a variable → whether it is trainable."""
        named = {**self.handles, **{number: text for number, text in self.bound.items() if number in self.handles}}
        return {name: self._node(number).variable.trainable for number, name in named.items()}

    def variable(self, number: int) -> Any:
        """The variable of an object.

        Raises:
            FormatError: the checkpoint does not have it.
        """
        if number not in self.handles:
            name = self._node(number).variable.name
            raise FormatError(self._saved.file, "the objects", f"the variable {name!r}", "its value in the checkpoint")
        return self._saved.variable(self._saved.node(self.handles[number]))

    # functions

    def concrete(self, number: int) -> list[Concrete]:
        """The functions of an object, one for each kind of arguments."""
        node = self._node(number)
        single = node.bare_concrete_function.concrete_function_name
        names = [single] if single else list(node.function.concrete_functions)
        return [self._concrete(name) for name in names]

    def parameters(self, number: int) -> Parameters:
        """The parameters of a function."""
        node = self._node(number)
        if self.kind(number) == "bare_concrete_function":
            bare = node.bare_concrete_function
            return Parameters(list(bare.argument_keywords)[: max(bare.allowed_positional_arguments, 0)], {})
        spec = node.function.function_spec
        pairs = spec.fullargspec.named_tuple_value.values
        given = {pair.key: self._structure(pair.value) for pair in pairs if pair.key != "annotations"}
        names, defaults = (given.get(key) or () for key in ("args", "defaults"))
        named = given.get("kwonlydefaults") or {}
        if (
            not isinstance(names, (list, tuple))
            or not isinstance(defaults, (list, tuple))
            or not isinstance(named, dict)
        ):
            raise FormatError(self._saved.file, "the parameters of a function", f"{given}", "names, and defaults")
        with_default = zip(list(names)[len(names) - len(defaults) :], defaults, strict=False)
        return Parameters(list(names)[spec.is_method :], {**dict(with_default), **named})

    def _concrete(self, name: str) -> Concrete:
        given = self._saved.object_graph.concrete_functions.get(name)
        if given is None:
            raise FormatError(self._saved.file, "the functions", f"{name!r}", "one of the file's functions")
        structure = self._structure(given.canonicalized_input_signature)
        is_pair = isinstance(structure, tuple) and [type(part) for part in structure] == [tuple, dict]
        args, kwargs = structure if is_pair else ((), {})
        return Concrete(name, args, kwargs, self._structure(given.output_signature))

    def _structure(self, value: Any, depth: int = 0) -> Any:
        """A structure of specs and plain values."""
        kind = value.WhichOneof("kind")
        if depth > DEEPEST:
            raise FormatError(self._saved.file, "a signature", "lists that are nested too deeply", f"{DEEPEST} levels")
        if kind in ("list_value", "tuple_value"):
            items = [self._structure(item, depth + 1) for item in getattr(value, kind).values]
            return items if kind == "list_value" else tuple(items)
        if kind == "dict_value":
            return {key: self._structure(item, depth + 1) for key, item in sorted(value.dict_value.fields.items())}
        if kind == "named_tuple_value":
            return tuple(self._structure(pair.value, depth + 1) for pair in value.named_tuple_value.values)
        if kind in ("tensor_spec_value", "bounded_tensor_spec_value"):
            spec = getattr(value, kind)
            return Spec(shape_of(spec.shape), dtype_named(spec.dtype))
        return getattr(value, kind) if kind not in (None, "none_value") else None

    def read(self, concrete: Concrete) -> Read:
        """A function as a graph of Dovetail, whose inputs are the tensors among its arguments.

        Raises:
            FormatError: the file is damaged.
        """
        saved, name = self._saved, concrete.name
        graph = hooks.new_tensorflow_graph(name)
        reader = Reader(saved.file, saved.functions, saved.variable)
        if name not in saved.functions:
            raise FormatError(saved.file, "the library", f"a call of {name!r}", "one of its functions")
        reader.records.begin(graph)
        bound = saved.object_graph.concrete_functions[name].bound_inputs
        arguments = [argument.name for argument in saved.functions[name].signature.input_arg]
        specs = list(leaves((concrete.args, concrete.kwargs)))
        with graph.as_default(), saved.reading(f"the function {name!r}", [_calling(name)]):
            placeholders = [TENSORFLOW.NodeDef(name=argument, op="Placeholder") for argument in arguments]
            inputs = [reader.given(node, spec) for node, spec in zip(placeholders, specs, strict=False)]
            main = Body("the graph", saved.graph_def.node, {})
            results = reader.call(name, [*inputs, *(self._captured(reader, main, number) for number in bound)])
        keys = [output.name for output in saved.functions[name].signature.output_arg]
        outputs = dict(zip(keys, results, strict=True))
        return saved.made(reader, graph, dict(zip(arguments, inputs, strict=False)), outputs)

    def captured(self, concrete: Concrete) -> list[int]:
        """The numbers of the objects that a function captured."""
        return list(self._saved.object_graph.concrete_functions[concrete.name].bound_inputs)

    def constant(self, number: int) -> Any:
        """The value of a constant that a function captured, as an array."""
        node = self._saved.node(split(self._node(number).constant.operation)[0])
        return array_of(node.attr["value"].tensor, self._saved.file, f"the constant {node.name!r}")

    def _captured(self, reader: Reader, main: Body, number: int) -> Any:
        """A value that a function captured."""
        node, kind = self._node(number), self.kind(number)
        if kind == "variable":
            return Handle(self.variable(number))
        if kind == "constant":
            return reader.read(main, [split(node.constant.operation)[0]])[0]
        if kind == "resource" and "_create_resource" in self.children(number):
            makers = self.concrete(self.children(number)["_create_resource"])
            if not makers:
                raise FormatError(self._saved.file, "the objects", f"the table {number} without a maker", "a function")
            create = makers[0].name
            return reader.read(Body("the objects", [_calling(create)], {}), [create])[0]
        if kind == "asset":
            return reader.read_constant(self._asset(node.asset.asset_file_def_index))[0]
        return Foreign(kind, f"it is a {kind.replace('_', ' ')}")

    def _asset(self, number: int) -> Any:
        """The constant with the path of a file."""
        paths = self._saved.store.paths
        if not 0 <= number < len(paths):
            raise FormatError(self._saved.file, "the objects", f"the file {number}", f"one of {len(paths)}")
        return paths[number]


def _calling(function: str) -> Any:
    """A node that calls a function without arguments."""
    node = TENSORFLOW.NodeDef(name=function, op="PartitionedCall")
    node.attr["f"].func.name = function
    return node


def numbered(names: Iterable[str]) -> list[str]:
    """The names of the items of a list, in order; a tuple with names has these beside."""
    return sorted((name for name in names if name.isdecimal()), key=int)


def leaves(structure: Any) -> Iterator[Any]:
    """The specs in a structure; plain values are no arguments of a function in the library."""
    if isinstance(structure, Spec):
        yield structure
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from leaves(structure[key])
    elif isinstance(structure, (list, tuple)):
        for item in structure:
            yield from leaves(item)


def filled(structure: Any, values: Iterator[Any]) -> Any:
    """A structure with values in the places of its specs."""
    if isinstance(structure, Spec):
        return next(values)
    if isinstance(structure, dict):
        return {key: filled(structure[key], values) for key in sorted(structure)}
    if isinstance(structure, (list, tuple)):
        return type(structure)([filled(item, values) for item in structure])
    return structure
