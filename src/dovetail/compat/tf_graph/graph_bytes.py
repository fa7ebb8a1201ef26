"""Documents of graphs in messages of TensorFlow's: all that Dovetail needs to read a graph as it was.

A document is a message `FunctionDef` with the name `dovetail.document`.  Its attributes are the document of the graph,
its arrays, and its variables by dtype and shape.  Files have it in the library of their `GraphDef`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import ops
from dovetail.core.base import tensor_shape
from dovetail.core.base.errors import FormatError
from dovetail.core.values.variable import Variable
from dovetail.formats.strict_json import parse
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import (
    array_of,
    dtype_of,
    known_shape,
    number_of,
    shape_of,
    shape_proto,
    tensor_proto,
)
from dovetail.graph.attributes import Beside
from dovetail.graph.document import document_of, graph_of

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

DOCUMENT, ARRAY, TENSOR, VARIABLE = "dovetail.document", "array ", "tensor ", "variable "


def document(graph: Graph, variables: Iterable[Variable] = ()) -> Any:
    """The message `FunctionDef` with all that a graph is read from; its constants are in their nodes.

    Args:
        graph: the graph.
        variables: variables that are written even if no operation uses them.

    Raises:
        TypeError: an operation has an attribute that cannot be written, as a function of the program.
    """
    beside = Beside()
    data = document_of(graph, beside)
    for variable in variables:
        beside.key(beside.variables, variable, variable.op_name)
    function = TENSORFLOW.FunctionDef()
    function.signature.name = DOCUMENT
    function.attr["document"].s = json.dumps(data, separators=(",", ":")).encode()
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
        said.attr["is_counter"].b = variable.is_counter
        said.attr["dtype"].type = number_of(variable.dtype)
        said.attr["shape"].shape.CopyFrom(shape_proto(variable.shape))
    return function


def zeros(name: str, first: np.ndarray, trainable: bool) -> Variable:
    """A variable of a definition, whose value is not in it: it begins with zeros."""
    return Variable(first, name=name, trainable=trainable)


def graph_of_proto(
    proto: Any, function: Any, file: str, make: Callable[[str, np.ndarray, bool], Any], empty: Callable[[str], Graph]
) -> tuple[Graph, dict[Variable, str]]:
    """The graph of a document, and the names of its variables there.

    Args:
        proto: the message `GraphDef`, with the constants.
        function: the document.
        file: its file, for errors.
        make: makes a variable of a name, a first value of zeros, and whether it is trainable.
        empty: makes an empty graph of a name.

    Raises:
        FormatError: it is no graph that Dovetail wrote, or is damaged.
        LookupError: an op is not in the table of this version, nor defined by the program.
    """
    beside, names = Beside(), dict[Variable, str]()
    for key, value in sorted(function.attr.items()):
        if key.startswith((ARRAY, TENSOR)):
            array = np.array(array_of(_held(proto, value, file), file, key))
            table: dict[str, Any] = beside.arrays if key.startswith(ARRAY) else beside.tensors
            table[key.partition(" ")[2]] = array if key.startswith(ARRAY) else ops.convert(array)
        elif key.startswith(VARIABLE):
            beside.variables[key.partition(" ")[2]] = variable = _variable(value.func, file, key, make)
            names[variable] = value.func.name
    data = parse(function.attr["document"].s, Path(file), DOCUMENT)
    try:
        return graph_of(data, beside, empty), names
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise FormatError(file, DOCUMENT, f"no graph ({error})", "the document of a graph") from error


def _held(proto: Any, value: Any, file: str) -> Any:
    """The message of an array: the attribute has it, or a constant of the graph."""
    if not value.placeholder:
        return value.tensor
    constant = next((node for node in proto.node if node.name == value.placeholder), None)
    if constant is None:  # its node was removed, so nothing takes it
        return TENSORFLOW.TensorProto(dtype=1)
    if "value" not in constant.attr:
        raise FormatError(file, DOCUMENT, f"the constant {value.placeholder!r}", "a constant of the graph")
    return constant.attr["value"].tensor


def document_in(proto: Any) -> Any:
    """The document in the library of a definition; None if there is none, as in TensorFlow's."""
    return next((function for function in proto.library.function if function.signature.name == DOCUMENT), None)


def take_unknown(variable: Any, proto: Any) -> None:
    """Let a variable have the shape of a message, where not all of that is known."""
    shape = shape_of(proto)
    if (shape is None or None in shape) and hasattr(variable, "take_shape"):
        variable.shape = tensor_shape.shape_of(shape)


def _variable(said: Any, file: str, place: str, make: Callable[[str, np.ndarray, bool], Any]) -> Any:
    shape = known_shape(said.attr["shape"].shape, file, place, least=True)
    dtype = dtype_of(said.attr["dtype"].type, file, place)
    first = np.broadcast_to(np.zeros((), dtype), shape)
    made = make(said.name, first, said.attr["trainable"].b)
    take_unknown(made, said.attr["shape"].shape)
    made.is_counter = said.attr["is_counter"].b
    return made
