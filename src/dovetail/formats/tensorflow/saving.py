"""Saving: variables, functions and signatures become the messages of a SavedModel.

The file serves both ways of loading.  TensorFlow 2 takes the graph of objects, whose functions capture variables, and
restores these by the graph of objects in the checkpoint.  TensorFlow 1 takes the main graph: a placeholder for each
input of a signature, a handle for each variable, a call for each signature, and nodes that save and restore.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.core.values.variable import Variable
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.functions import fill_call, wrapped
from dovetail.formats.tensorflow.names import ORIGINAL, node_name
from dovetail.formats.tensorflow.structures import argument_spec, structured, tensors_in, typed
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.objects import GRAPH, VALUE, key_of
from dovetail.formats.wire.tensors import STRING, number_of, shape_proto

PRODUCER, MIN_CONSUMER = 1882, 12  # versions of TensorFlow's graphs: that of TensorFlow 2.17, and of all since 1.0
VERSION = "2.17.0"  # of TensorFlow, which has that version of graphs
SERVE = "serve"
OBJECT, LIST, DICT = "_generic_user_object", "trackable_list_wrapper", "trackable_dict_wrapper"
METHOD = "tensorflow/serving/predict"


@dataclass
class Traced:
    """A function for one kind of arguments.

    Attributes:
        name: of the function.
        names: the parameters of `args`.
        args, kwargs: the structure of its arguments; tensors are inputs of a graph.
        result: the structure of its result; tensors are of the same graph.
        defaults: the defaults of its last parameters.
        keys: the names that the specs of arguments have, by tensors.
    """

    name: str
    names: list[str]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    defaults: tuple[Any, ...] = ()
    keys: Mapping[Any, str | None] = field(default_factory=dict)

    @property
    def inputs(self) -> list[tuple[str, Any]]:
        """The tensors among the arguments, with names."""
        positional = dict(zip(self.names, self.args, strict=True))
        pairs = [pair for name, value in positional.items() for pair in tensors_in(value, name)]
        return [*pairs, *tensors_in(self.kwargs)]

    @property
    def unknowns(self) -> int:
        """The number of unknown dimensions of its arguments."""
        return sum(1000 if t.shape is None else t.shape.count(None) for _, t in self.inputs)

    @property
    def outputs(self) -> list[tuple[str, Any]]:
        """The tensors in the result, with names."""
        return [(name or "output", tensor) for name, tensor in tensors_in(self.result)]


@dataclass
class Endpoint:
    """A signature: a function whose inputs and results have keys.

    Attributes:
        function: the function.
        inputs, outputs: key → tensor of its graph.
    """

    function: Traced
    inputs: dict[str, Any]
    outputs: dict[str, Any]

    @property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Key → number of the function's argument, and key → number of its result."""
        return _numbers(self.inputs, self.function.inputs), _numbers(self.outputs, self.function.outputs)


def _numbers(named: Mapping[str, Any], known: Sequence[tuple[str, Any]]) -> dict[str, int]:
    places = {tensor: number for number, (_, tensor) in enumerate(known)}
    return {key: places[tensor] for key, tensor in named.items()}


@dataclass
class Tree:
    """An object.

    Attributes:
        children: its attributes: variables, trees, and functions as lists of `Traced`.
        kind: of the object, in TensorFlow's words.
    """

    children: dict[str, Any] = field(default_factory=dict)
    kind: str = OBJECT


@dataclass
class Written:
    """A SavedModel as data.

    Attributes:
        message: the message `SavedModel`.
        values: the arrays of the checkpoint, by their keys.
    """

    message: Any
    values: dict[str, np.ndarray]


def saved_model(root: Tree, signatures: Mapping[str, Endpoint]) -> Written:
    """A model as the messages of a SavedModel.

    Args:
        root: the object, with all attributes.
        signatures: by name.

    Raises:
        Unreadable: an operation or an argument has no equivalent in TensorFlow.
    """
    return _ModelWriter().written(root, signatures)


class _ModelWriter:
    """A writer of one model."""

    def __init__(self) -> None:
        self.message = TENSORFLOW.SavedModel(saved_model_schema_version=1)
        self.meta = self.message.meta_graphs.add()
        self.meta.meta_info_def.tags.append(SERVE)
        self.meta.meta_info_def.tensorflow_version = VERSION
        self.meta.graph_def.versions.CopyFrom(graph_versions())
        self.objects = self.meta.object_graph_def
        self.numbers: dict[int, int] = {}  # id of a part of the tree → number of its object
        self.parts: list[Any] = []  # by these numbers; while they are here, the ids are theirs
        self.paths: list[tuple[str, ...]] = []
        self.variables: dict[Variable, int] = {}
        self.captured: dict[str, list[Variable]] = {}  # function → variables
        self.functions: list[tuple[Any, list[Traced]]] = []  # objects to be filled in, once all variables are known
        self.concrete: dict[int, str] = {}  # id of a `Traced` → its function
        self.handles: dict[Variable, str] = {}  # variable → its node
        self.names: set[str] = set()
        self.writer = Writer(self.names)

    def written(self, root: Tree, signatures: Mapping[str, Endpoint]) -> Written:
        self._add(root, ())
        for node, kinds in self.functions:
            node.function.concrete_functions.extend(self._concrete(one) for one in kinds)
            spec = argument_spec(kinds[0].names, sorted(kinds[0].kwargs), kinds[0].defaults)
            node.function.function_spec.fullargspec.CopyFrom(spec)
            node.function.function_spec.input_signature.none_value.SetInParent()
        for endpoint in signatures.values():
            self._concrete(endpoint.function)
        self._add_variables(root)
        for name, concrete in self.objects.concrete_functions.items():
            concrete.bound_inputs.extend(self.variables[variable] for variable in self.captured[name])
        calls = Tree({}, kind="signature_map")
        number = self._child("signatures", calls)
        for key, endpoint in signatures.items():
            self.objects.nodes[number].children.add(node_id=self._add_signature(key, endpoint), local_name=key)
        values = self._add_checkpoint()
        keys = {variable: key_of(self.paths[number]) for variable, number in self.variables.items()}
        add_saver(self.meta, [(self.handles[v], keys[v], number_of(v.dtype)) for v in keys], self.names)
        self.meta.graph_def.library.function.extend(self.writer.library.values())
        return Written(self.message, values)

    # objects

    def _add(self, part: Any, path: tuple[str, ...]) -> int:
        """Add an object and the objects among its attributes; the number."""
        known = self.numbers.get(id(part))
        if known is not None:
            return known
        number = self.numbers[id(part)] = len(self.objects.nodes)
        self.parts.append(part)
        self.paths.append(path)
        if isinstance(part, Variable):
            self.variables[part] = number
            self.handles[part] = new_handle(self.meta.graph_def, part, self.names)
            self.objects.nodes.append(new_variable(part, self.handles[part]))
        elif isinstance(part, list):
            node = self.objects.nodes.add()
            node.function.SetInParent()
            self.functions.append((node, part))
        else:
            self.objects.nodes.append(new_object(part.kind))
            node = self.objects.nodes[number]
            for name, child in part.children.items():
                node.children.add(node_id=self._add(child, (*path, name)), local_name=name)
        return number

    def _child(self, name: str, part: Any) -> int:
        """Add an attribute of the model."""
        number = self._add(part, (name,))
        self.objects.nodes[0].children.add(node_id=number, local_name=name)
        return number

    def _add_variables(self, root: Tree) -> None:
        """Add the lists of variables that TensorFlow's models have, where the model has none of the name."""
        variables = dict.fromkeys([*self.variables, *(one for some in self.captured.values() for one in some)])
        lists = {
            "variables": list(variables),
            "trainable_variables": [one for one in variables if one.trainable],
            "non_trainable_variables": [one for one in variables if not one.trainable],
        }
        for name, some in lists.items():
            if name not in root.children:
                self._child(name, Tree({str(number): one for number, one in enumerate(some)}, LIST))

    # functions

    def _concrete(self, traced: Traced) -> str:
        """Add a function to the library; its name there."""
        if id(traced) in self.concrete:
            return self.concrete[id(traced)]
        name, captured = self.writer.function(f"__inference_{traced.name}", traced.inputs, traced.outputs)
        self.concrete[id(traced)], self.captured[name] = name, captured
        concrete = self.objects.concrete_functions[name]
        arguments = tuple(zip(traced.names, traced.args, strict=True))
        pair = concrete.canonicalized_input_signature.tuple_value
        given = pair.values.add().tuple_value
        given.SetInParent()
        given.values.extend(structured(value, title) for title, value in arguments)
        pair.values.add().CopyFrom(structured(traced.kwargs))
        concrete.output_signature.CopyFrom(structured(traced.result))
        return name

    def _unique(self, name: str) -> str:
        """A name of a node or a function that no other one has."""
        plain = node_name(name)
        free, count = plain, 0
        while free in self.names:
            free, count = f"{plain}_{count + 1}", count + 1
        self.names.add(free)
        return free

    # the main graph

    def _node(self, name: str, op: str, inputs: Iterable[str] = (), **dtypes: int) -> Any:
        node = self.meta.graph_def.node.add(name=name, op=op, input=inputs)
        for key, number in dtypes.items():
            node.attr[key].type = number
        return node

    def _add_signature(self, key: str, endpoint: Endpoint) -> int:
        """Add a function of inputs by their keys, which calls another one, and a call of it; the object's number."""
        inner = self._concrete(endpoint.function)
        captured = self.captured[inner]
        name = self._unique(f"__inference_signature_wrapper_{key}")
        wrapper = wrapped(self.writer.library[inner], name, *endpoint.numbers)
        self.writer.library[name] = wrapper
        concrete = self.objects.concrete_functions[name]
        concrete.bound_inputs.extend(self.variables[variable] for variable in captured)
        concrete.canonicalized_input_signature.CopyFrom(structured(((), endpoint.inputs)))
        concrete.output_signature.CopyFrom(structured(endpoint.outputs))
        number = len(self.objects.nodes)
        bare = self.objects.nodes.add().bare_concrete_function
        keys = sorted(endpoint.inputs)
        bare.concrete_function_name = name
        bare.argument_keywords.extend(keys)
        bare.allowed_positional_arguments = 1 if len(keys) == 1 else 0
        bare.function_spec.fullargspec.CopyFrom(argument_spec([], keys))
        bare.function_spec.input_signature.none_value.SetInParent()
        self.paths.append(("signatures", key))
        self._add_call(key, wrapper, endpoint, [self.handles[variable] for variable in captured])
        return number

    def _add_call(self, key: str, function: Any, endpoint: Endpoint, handles: Sequence[str]) -> None:
        """Add a call of a signature's function to the main graph, and the signature."""
        given = self.meta.signature_def[key]
        given.method_name = METHOD
        placeholders = []
        for name, tensor in sorted(endpoint.inputs.items()):
            node = self._node(self._unique(f"{key}_{name}"), "Placeholder", dtype=number_of(tensor.dtype))
            node.attr["shape"].shape.CopyFrom(shape_proto(tensor.shape))
            given.inputs[name].CopyFrom(tensor_info(f"{node.name}:0", tensor))
            placeholders.append(node.name)
        call = self.meta.graph_def.node.add(name=self._unique("StatefulPartitionedCall"))
        fill_call(call, function, [*placeholders, *handles])
        for number, (name, tensor) in enumerate(sorted(endpoint.outputs.items())):
            given.outputs[name].CopyFrom(tensor_info(f"{call.name}:{number}", tensor))

    # the checkpoint

    def _add_checkpoint(self) -> dict[str, Any]:
        """The arrays of the checkpoint: those of the variables, and the graph of objects by which they are found."""
        graph = TENSORFLOW.TrackableObjectGraph()
        values: dict[str, Any] = {}
        for node in self.objects.nodes:
            graph.nodes.add().children.extend(node.children)
        for variable, number in self.variables.items():
            key = key_of(self.paths[number])
            graph.nodes[number].attributes.add(name=VALUE, full_name=self.handles[variable], checkpoint_key=key)
            values[key] = variable.numpy()
        values[GRAPH] = np.empty((), object)
        values[GRAPH][()] = graph.SerializeToString()
        return values


# -- parts of the messages --------------------------------------------------------------------------------------------


def graph_versions() -> Any:
    """The versions of a graph."""
    return TENSORFLOW.VersionDef(producer=PRODUCER, min_consumer=MIN_CONSUMER)


def tensor_info(name: str, tensor: Any) -> Any:
    """The message for a tensor of a signature."""
    shape, dtype = typed(tensor) or (None, 0)
    return TENSORFLOW.TensorInfo(name=name, dtype=dtype, tensor_shape=shape_proto(shape))


def new_object(kind: str) -> Any:
    """The message for an object without attributes, of a kind in TensorFlow's words."""
    node = TENSORFLOW.SavedObject()
    node.user_object.identifier = kind
    node.user_object.version.CopyFrom(TENSORFLOW.VersionDef(producer=1, min_consumer=1))
    return node


def new_variable(variable: Variable, handle: str) -> Any:
    """The message for a variable, by the name of its handle."""
    node = TENSORFLOW.SavedObject()
    node.variable.dtype, node.variable.name = number_of(variable.dtype), handle
    node.variable.shape.CopyFrom(shape_proto(variable.shape))
    node.variable.trainable = variable.trainable
    return node


def new_handle(graph: Any, variable: Variable, names: set[str]) -> str:
    """Add the handle of a variable to a main graph; the name of its node."""
    node = graph.node.add(name=unique(node_name(variable.op_name), names), op="VarHandleOp")
    if node.name != variable.op_name:
        node.attr[ORIGINAL].s = variable.op_name.encode()
    node.attr["dtype"].type = number_of(variable.dtype)
    node.attr["shape"].shape.CopyFrom(shape_proto(variable.shape))
    node.attr["shared_name"].s = node.name.encode()
    return node.name


def add_saver(
    meta: Any, variables: Sequence[tuple[str, str, int]], names: set[str], slices: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Add the nodes with which TensorFlow 1 saves and restores variables.

    Args:
        meta: the message `MetaGraphDef`.
        variables: the handle, the key in the checkpoint and the number of the dtype of each.
        names: the names of nodes that are taken.
        slices: handle → the text of the slice that the variable is of its key's tensor; the others are whole.

    Returns:
        The nodes that restore and that read each variable.
    """
    scope = unique("saver", names)

    def node(name: str, op: str, inputs: Iterable[str] = (), **dtypes: int) -> Any:
        made = meta.graph_def.node.add(name=f"{scope}/{name}", op=op, input=inputs)
        for key, number in dtypes.items():
            made.attr[key].type = number
        return made

    def strings(name: str, texts: Sequence[str]) -> str:
        array = np.empty(len(texts), object)
        array[:] = [text.encode() for text in texts]
        constant_node(made := node(name, "Const"), array)
        return made.name

    prefix = node("filename", "Placeholder", dtype=STRING)
    prefix.attr["shape"].shape.SetInParent()
    handles, keys, dtypes = zip(*variables, strict=True) if variables else ((), (), ())
    tensors = strings("names", keys), strings("slices", [(slices or {}).get(handle, "") for handle in handles])
    assigned, waits, reads = [], [], []
    for number, (handle, dtype) in enumerate(zip(handles, dtypes, strict=True)):
        reads.append(node(f"Read_{number}", "ReadVariableOp", [handle], dtype=dtype).name)
        value = node(f"Identity_{number}", "Identity", [f"{scope}/RestoreV2:{number}"], T=dtype).name
        assigned.append(node(f"Assign_{number}", "AssignVariableOp", [handle, value], dtype=dtype).name)
    if variables:
        restore = node("RestoreV2", "RestoreV2", [prefix.name, *tensors])
        save = node("SaveV2", "SaveV2", [prefix.name, *tensors, *reads])
        waits.append(f"^{save.name}")
        for one in (restore, save):
            one.attr["dtypes"].list.type.extend(dtypes)
    path = node("path", "Identity", [prefix.name, *waits], T=STRING)
    done = node("restore_all", "NoOp", [f"^{one}" for one in assigned])
    saver = TENSORFLOW.SaverDef(filename_tensor_name=f"{prefix.name}:0", restore_op_name=done.name, version=2)
    saver.save_tensor_name = f"{path.name}:0"
    meta.saver_def.CopyFrom(saver)
    return list(zip(assigned, reads, strict=True))
