"""Bytes of graph definitions: TensorFlow's `GraphDef`, which viewers show, with all that Dovetail needs to read it.

Nodes are TensorFlow's, so TensorFlow runs them.  The library has one more function, `dovetail.document`.  Its
attributes are the document of the graph, its arrays, and its variables by dtype and shape.  Dovetail reads the graph
from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import ops
from dovetail.compat.tf_graph.graph_proto import runnable_proto
from dovetail.core.errors import FormatError
from dovetail.core.variable import Variable
from dovetail.formats.strict_json import parse
from dovetail.formats.wire.tensors import array_of, dtype_of, known_shape, number_of, shape_proto, tensor_proto
from dovetail.graph.attributes import Beside
from dovetail.graph.document import document_of, graph_of

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

DOCUMENT, ARRAY, TENSOR, VARIABLE = "dovetail.document", "array ", "tensor ", "variable "


def proto_of(graph: Graph, variables: Iterable[Variable] = ()) -> Any:
    """A graph as a message `GraphDef`.

    Args:
        graph: the graph.
        variables: variables that are written even if no operation uses them.

    Raises:
        ImportError: the extra `formats` is not installed.
        TypeError: an operation has an attribute that cannot be written, as a function of the program.
    """
    proto, beside = runnable_proto(graph), Beside()
    document = document_of(graph, beside)
    for variable in variables:
        beside.key(beside.variables, variable, variable.op_name)
    function = proto.library.function.add()
    function.signature.name = DOCUMENT
    function.attr["document"].s = json.dumps(document, separators=(",", ":")).encode()
    constants = {id(op.attrs["value"]): op.name for op in graph if op.type == "Const"}
    for key, array in beside.arrays.items():
        if id(array) in constants:  # its node has it
            function.attr[ARRAY + key].placeholder = constants[id(array)]
        else:
            function.attr[ARRAY + key].tensor.CopyFrom(tensor_proto(array))
    for key, tensor in beside.tensors.items():
        function.attr[TENSOR + key].tensor.CopyFrom(tensor_proto(tensor.numpy()))
    for key, variable in beside.variables.items():
        said = function.attr[VARIABLE + key].func
        said.name, said.attr["trainable"].b = variable.op_name, variable.trainable
        said.attr["dtype"].type = number_of(variable.dtype)
        said.attr["shape"].shape.CopyFrom(shape_proto(variable.shape))
    return proto


def zeros(name: str, first: np.ndarray, trainable: bool) -> Variable:
    """A variable of a definition, whose value is not in it: it begins with zeros."""
    return Variable(first, name=name, trainable=trainable)


def graph_of_proto(
    proto: Any, file: str, make: Callable[[str, np.ndarray, bool], Any] = zeros
) -> tuple[Graph, list[Any]]:
    """The graph in a message `GraphDef`, and its variables.

    Args:
        proto: the message.
        file: its file, for errors.
        make: makes a variable of a name, a first value of zeros, and whether it is trainable.

    Raises:
        FormatError: it is no graph that Dovetail wrote, or is damaged.
        LookupError: an op is not in the table of this version, nor defined by the program.
    """
    function = _document(proto)
    if function is None:
        raise FormatError(file, "the library", "no graph of Dovetail's", "a definition that Dovetail wrote")
    beside = Beside()
    for key, value in sorted(function.attr.items()):
        if key.startswith((ARRAY, TENSOR)):
            array = np.array(array_of(_held(proto, value, file), file, key))
            table: dict[str, Any] = beside.arrays if key.startswith(ARRAY) else beside.tensors
            table[key.partition(" ")[2]] = array if key.startswith(ARRAY) else ops.convert(array)
        elif key.startswith(VARIABLE):
            beside.variables[key.partition(" ")[2]] = _variable(value.func, file, key, make)
    document = parse(function.attr["document"].s, Path(file), DOCUMENT)
    try:
        return graph_of(document, beside), list(beside.variables.values())
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise FormatError(file, DOCUMENT, f"no graph ({error})", "the document of a graph") from error


def _held(proto: Any, value: Any, file: str) -> Any:
    """The message of an array: the attribute has it, or a constant of the graph."""
    if not value.placeholder:
        return value.tensor
    found = next((node for node in proto.node if node.name == value.placeholder), None)
    if found is None or "value" not in found.attr:
        raise FormatError(file, DOCUMENT, f"the constant {value.placeholder!r}", "a constant of the graph")
    return found.attr["value"].tensor


def _document(proto: Any) -> Any:
    return next((function for function in proto.library.function if function.signature.name == DOCUMENT), None)


def is_tensorflows(proto: Any) -> bool:
    """Whether TensorFlow wrote a definition: it says its version, and has no document of Dovetail's."""
    return proto.versions.producer > 0 and _document(proto) is None


def _variable(said: Any, file: str, place: str, make: Callable[[str, np.ndarray, bool], Any]) -> Any:
    shape = known_shape(said.attr["shape"].shape, file, place)
    dtype = dtype_of(said.attr["dtype"].type, file, place)
    first = np.broadcast_to(np.zeros((), dtype), shape)
    return make(said.name, first, said.attr["trainable"].b)
