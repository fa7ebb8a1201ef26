"""Graphs as TensorFlow's `GraphDef` for TensorBoard, and the nodes of variables.

TensorBoard gets each operation of Dovetail, with its shapes, engine, device and attributes under Dovetail's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any

import numpy as np

from dovetail.compat.tf_graph.device_spec import written
from dovetail.compat.tf_graph.type_attributes import attributes
from dovetail.core.dtypes import DType
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.attributes import set_attribute
from dovetail.formats.tensorflow.names import ORIGINAL, node_name
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
    Viewed(proto).write(graph, proto.node)
    return proto


def variable_proto(variable: Variable, name: str) -> Any:
    """The node of a variable, with the attributes that resource variables have in TensorFlow."""
    node = TENSORFLOW.NodeDef(name=name, op="VarHandleOp")
    node.attr["_class"].list.s.append(f"loc:@{name}".encode())
    node.attr["allowed_devices"].list.SetInParent()
    node.attr["container"].s = b""
    node.attr["debug_name"].s = f"{name}/".encode()
    node.attr["dtype"].type = number_of(variable.dtype)
    node.attr["shape"].shape.CopyFrom(shape_proto(variable.shape))
    node.attr["shared_name"].s = name.encode()
    if node_name(variable.op_name) != variable.op_name:
        node.attr[ORIGINAL].s = variable.op_name.encode()
    return node


class Viewed:
    """A writer that fills a definition.

    Args:
        proto: the definition whose library gets the bodies.
    """

    def __init__(self, proto: Any) -> None:
        self.library = proto.library

    def write(self, graph: Graph, nodes: Any, without: Iterable[Operation] = ()) -> None:
        """Add the variables that a graph uses, then its operations."""
        left_out, names = set(without), self.add_variables(graph, nodes)
        for op in graph:
            if op not in left_out:
                self.add(op, nodes.add(), names)

    def add_variables(self, graph: Graph, nodes: Any) -> dict[Variable, str]:
        """Add the variables of a graph as operations, and return the name of each."""
        names = self.names(graph, {})
        nodes.extend(variable_proto(variable, name) for variable, name in names.items())
        return names

    def names(self, graph: Graph, known: Mapping[Variable, str]) -> dict[Variable, str]:
        """The variables of a graph, and names that no operation has; they have known names, or their own."""
        names: dict[Variable, str] = {}
        taken = {op.name for op in graph}
        for variable in dict.fromkeys(value for op in graph for value in op.attrs.values() if _is_state(value)):
            name = known.get(variable, node_name(variable.op_name))
            while name in taken:
                name += "_variable"
            taken.add(name)
            names[variable] = name
        return names

    def add(self, op: Operation, node: Any, names: Mapping[Variable, str]) -> None:
        node.name, node.op, node.device = op.name, op.type, written(op.device)
        node.input.extend(names[value] for value in op.attrs.values() if _is_state(value))
        node.input.extend(t.op.name if t.index == 0 else t.name for t in op.inputs)
        node.input.extend(f"^{other.name}" for other in op.control_inputs)
        if op.engine is not None:
            node.attr["_engine"].s = op.engine.encode()
        for output in op.outputs:
            self.set_shape(node.attr["_output_shapes"].list.shape.add(), output.shape)
        for name, value in {**op.attrs, **attributes(op)}.items():
            if isinstance(value, Graph):
                node.attr[name].func.name = self.body(value, f"{op.name}_{name}".replace("/", "_"))
            elif value is not None and not _is_state(value):
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
        kinds = {type(item) for item in value} if isinstance(value, (tuple, list)) else {type(value)}
        if isinstance(value, np.ndarray):
            self.set_array(attr, value)
        elif isinstance(value, (tuple, list)) and (not value or kinds in ({int, NoneType}, {NoneType})):
            self.set_shape(attr.shape, value)
        elif (len(kinds) == 1 and kinds < {int, float, DType}) or type(value) is bool:
            set_attribute(attr, value)
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
