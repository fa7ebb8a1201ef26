"""Graphs as TensorFlow's `GraphDef`: for TensorFlow to run, and for TensorBoard to show.

TensorBoard gets each operation of Dovetail, with its shapes, engine, device and attributes under Dovetail's names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dovetail.compat.tf_graph.node_def import node_def_of
from dovetail.core.dtypes import DType
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.saving import MIN_CONSUMER, PRODUCER
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of, shape_proto, tensor_proto
from dovetail.graph.operation import Operation

LARGEST = 1024  # the most elements of a constant to write; TensorBoard does not show larger constants either


def graph_proto(graph: Graph) -> Any:
    """A graph as TensorFlow's `GraphDef`.

    Args:
        graph: the graph; the bodies of its loops and branches become functions, and its variables become operations.

    Returns:
        A message `GraphDef`.

    Raises:
        ImportError: the extra `formats` is not installed.

    Source: `tf.Graph.as_graph_def`.
    """
    proto = TENSORFLOW.GraphDef()
    _Writer(proto).write(graph, proto.node)
    return proto


def runnable_proto(graph: Graph) -> Any:
    """A graph as TensorFlow's `GraphDef`, which TensorFlow runs.

    Args:
        graph: as for `graph_proto`.  Operations that TensorFlow cannot compute become nodes of their own type.
    """
    proto = TENSORFLOW.GraphDef()
    proto.versions.producer, proto.versions.min_consumer = PRODUCER, MIN_CONSUMER
    viewed = _Writer(proto)
    handles = viewed.add_variables(graph, proto.node)

    def otherwise(operation: Operation) -> Any:
        node = TENSORFLOW.NodeDef()
        viewed.add(operation, node, handles)
        del node.input[:]
        return node

    writer = Writer(otherwise=otherwise)
    proto.node.extend(writer.nodes(graph, handles))
    proto.library.function.extend(writer.library.values())
    return proto


class _Writer:
    """A writer that fills a definition.

    Args:
        proto: the definition whose library gets the bodies.
    """

    def __init__(self, proto: Any) -> None:
        self.library = proto.library
        self.set_by_type: dict[type, Callable[[Any, Any], None]] = {
            bool: lambda attr, value: setattr(attr, "b", value),
            int: lambda attr, value: setattr(attr, "i", value),
            float: lambda attr, value: setattr(attr, "f", value),
            DType: lambda attr, value: setattr(attr, "type", number_of(value)),
            np.ndarray: self.set_array,
        }

    def write(self, graph: Graph, nodes: Any, without: Iterable[Operation] = ()) -> None:
        """Add the variables that a graph uses, then its operations."""
        left_out, names = set(without), self.add_variables(graph, nodes)
        for op in graph:
            if op not in left_out:
                self.add(op, nodes.add(), names)

    def add_variables(self, graph: Graph, nodes: Any) -> dict[Variable, str]:
        """Add the variables of a graph as operations, and return the name of each."""
        names: dict[Variable, str] = {}
        taken = {op.name for op in graph}
        for variable in dict.fromkeys(value for op in graph for value in op.attrs.values() if _is_state(value)):
            name = variable.op_name
            while name in taken:
                name += "_variable"
            taken.add(name)
            names[variable] = name
            node = nodes.add(name=name, op="VarHandleOp")
            self.set(node.attr["dtype"], variable.dtype)
            self.set_shape(node.attr["shape"].shape, variable.shape)
            node.attr["shared_name"].s = name.encode()
        return names

    def add(self, op: Operation, node: Any, names: dict[Variable, str]) -> None:
        definition = node_def_of(op)
        states = [names[value] for value in op.attrs.values() if _is_state(value)]
        node.name, node.op, node.device = definition.name, definition.op, definition.device
        node.input.extend([*states, *definition.input[len(states) :]])
        if op.engine is not None:
            node.attr["_engine"].s = op.engine.encode()
        for output in op.outputs:
            self.set_shape(node.attr["_output_shapes"].list.shape.add(), output.shape)
        for name, value in definition.attr.items():
            if isinstance(value, Graph):
                node.attr[name].func.name = self.body(value, f"{op.name}_{name}".replace("/", "_"))
            elif value is not None:
                self.set(node.attr[name], value)

    def body(self, graph: Graph, name: str) -> str:
        """Add a body as a function, and return its name."""
        function = self.library.function.add()
        signature = function.signature
        signature.name = name
        for tensor in graph.inputs:
            signature.input_arg.add(name=tensor.op.name, type=number_of(tensor.dtype))
        for number, tensor in enumerate(graph.outputs):
            signature.output_arg.add(name=f"output_{number}", type=number_of(tensor.dtype))
            function.ret[f"output_{number}"] = tensor.name
        self.write(graph, function.node_def, without=[tensor.op for tensor in graph.inputs])
        return name

    def set(self, attr: Any, value: Any) -> None:
        """Set an attribute to a number, a dtype, an array, numbers or a shape with gaps; other values become text.

        The codec of `graph.attributes` cannot serve here: TensorBoard shows the fields that `AttrValue` has for types,
        and the codec's JSON would be text in all of them.
        """
        value = value.item() if isinstance(value, np.generic) else value
        put = self.set_by_type.get(type(value))
        if put is not None:
            put(attr, value)
        elif isinstance(value, (tuple, list)) and value and all(type(item) is int for item in value):
            attr.list.i.extend(value)
        elif isinstance(value, (tuple, list)) and value and all(type(item) is float for item in value):
            attr.list.f.extend(value)
        elif isinstance(value, (tuple, list)) and all(item is None or type(item) is int for item in value):
            self.set_shape(attr.shape, value)
        else:
            attr.s = str(value).encode()

    def set_array(self, attr: Any, value: np.ndarray) -> None:
        if value.size <= LARGEST:
            attr.tensor.CopyFrom(tensor_proto(value))
        else:
            attr.tensor.dtype = number_of(value.dtype)
            self.set_shape(attr.tensor.tensor_shape, value.shape)

    def set_shape(self, proto: Any, shape: Any) -> None:
        proto.CopyFrom(shape_proto(shape))


def _is_state(value: Any) -> bool:
    return isinstance(value, Variable)
