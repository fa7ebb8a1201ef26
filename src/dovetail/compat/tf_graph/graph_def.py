"""Graph definitions: snapshots of a graph, to be looked at and imported into others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.compat.tf_graph.elements import element_of
from dovetail.compat.tf_graph.graph_bytes import graph_of_proto, is_tensorflows, proto_of, zeros
from dovetail.compat.tf_graph.node_def import NodeDef, node_def_of
from dovetail.compat.tf_graph.variable_operation import variable_node
from dovetail.core.hooks import hooks
from dovetail.core.variable import Variable
from dovetail.formats.tensorflow.saved_model import GRAPH, HANDLES, SavedGraph, saved_graph
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.walk import backward
from dovetail.ops.control.plumbing import EFFECTS

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class GraphDef:
    """The operations of a graph at one time; the definition does not change with the graph.

    Args:
        graph: the graph to copy; variables are shared with it.  An empty definition, if not given.
        outputs: tensors; the copy has the operations that they need.  Everything, if not given.
        add_shapes: whether nodes say the shapes of their outputs, as the attribute "_output_shapes".

    Attributes:
        graph: the copy.

    Source: `tf.compat.v1.GraphDef`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
        >>> [node.name for node in GraphDef(graph).node]
        ['x', 'Tanh']
    """

    def __init__(
        self, graph: Graph | None = None, outputs: Iterable[GraphTensor] | None = None, add_shapes: bool = False
    ) -> None:
        graph = hooks.new_graph("graph") if graph is None else graph
        self._adds_shapes = add_shapes
        targets = list(_ends(graph) if outputs is None else outputs)
        inputs = graph.inputs if outputs is None else _needed_inputs(targets)
        self.graph = graph.subgraph(targets, inputs)

    @property
    def node(self) -> list[NodeDef]:
        """The operations as plain data, each variable before the first operation that reads or assigns it."""
        found: list[NodeDef] = []
        seen: set[Any] = set()
        for operation in self.graph.operations:
            used = [value for value in operation.attrs.values() if isinstance(value, Variable)]
            found += [variable_node(variable) for variable in used if variable not in seen]
            seen.update(used)
            node = node_def_of(operation)
            if self._adds_shapes:
                node.attr["_output_shapes"] = [tensor.shape for tensor in operation.outputs]
            found.append(node)
        return found

    def SerializeToString(self) -> bytes:
        """The bytes of TensorFlow's `GraphDef`, which TensorFlow runs and Dovetail reads.

        An operation that TensorFlow cannot compute becomes a node of its own type.

        Raises:
            ImportError: the extra `formats` is not installed.
            TypeError: an operation cannot be written, as one that calls Python.
        """
        return proto_of(self.graph).SerializeToString(deterministic=True)

    def ParseFromString(self, serialized: bytes) -> int:
        """Become the definition of some bytes that Dovetail or TensorFlow wrote, and return how many they are.

        Variables are new ones, of zeros.  In TensorFlow's definitions, nodes that Dovetail cannot compute are opaque
        operations, and nodes that read or write checkpoints are left out.

        Raises:
            FormatError: the bytes are no such definition; the definition stays as it was.
        """
        proto = parsed(TENSORFLOW.GraphDef, serialized, "a definition", "the bytes")
        self.graph = _read(proto) if is_tensorflows(proto) else graph_of_proto(proto, "a definition")[0]
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> GraphDef:
        """The definition of some bytes, as `ParseFromString`."""
        made = cls()
        made.ParseFromString(serialized)
        return made

    def CopyFrom(self, other: GraphDef) -> None:
        """Become the definition that another one is."""
        self.graph, self._adds_shapes = GraphDef(other.graph).graph, other._adds_shapes

    def __str__(self) -> str:
        return "\n".join(f"node {{\n{node}\n}}" for node in self.node)


def _read(proto: Any) -> Graph:
    """The graph of a definition that TensorFlow wrote."""
    return imported(saved_graph(proto, Path("a definition")), zeros)


def imported(saved: SavedGraph, make: Callable[[str, np.ndarray, bool], Any]) -> Graph:
    """All that a graph of TensorFlow computes, as a graph.

    Args:
        saved: the graph of a file.
        make: makes a variable of a name, a first value, and whether it is trainable.

    Raises:
        FormatError: it is damaged, or the shape of a variable is not known.
    """
    for node in saved.graph_def.node:
        if node.op in HANDLES:
            saved.variables[node.name] = make(node.name, saved.first(node), saved.is_trainable(node))
    return saved.read_signature(GRAPH, saved.session, is_session=True).graph


def _ends(graph: Graph) -> list[GraphTensor]:
    """The tensors that nothing takes, and the results of assignments."""
    found = [t for op in graph.operations for t in op.outputs if not t.consumers() or op.type in EFFECTS]
    return [t for t in found if t.op.type != "Placeholder"]


def _needed_inputs(tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
    found = [op for op in backward(tensors) if op.type == "Placeholder"]
    return [op.outputs[0] for op in found]


def import_definition(
    target: Graph, definition: GraphDef, input_map: Mapping[str, GraphTensor], elements: Iterable[str], name: str
) -> list[GraphTensor | Operation]:
    """Copy the operations of a definition into a graph.

    Args:
        target: the graph.
        definition: is not changed.
        input_map: names of tensors of the definition → tensors of the graph that replace them.
        elements: names of tensors or operations of the definition.
        name: a name scope for the copies.

    Returns:
        The copies of `elements`.

    Raises:
        KeyError: nothing has one of the names.
    """
    wanted = [element_of(definition.graph, element) for element in elements]
    tensors = [t for x in wanted for t in (x.outputs if isinstance(x, Operation) else [x])]
    source = definition.graph
    keyed = {key if ":" in key else f"{key}:0": tensor for key, tensor in input_map.items()}
    before = source.outputs
    source.outputs = [*before, *tensors]
    try:
        copies = iter(target.import_graph(source, keyed, name)[len(before) :])
    finally:
        source.outputs = before
    found: list[Any] = []
    for x in wanted:
        if isinstance(x, Operation):
            made = [next(copies) for _ in x.outputs]
            found.append(made[0].op if made else None)
        else:
            found.append(next(copies))
    return found
