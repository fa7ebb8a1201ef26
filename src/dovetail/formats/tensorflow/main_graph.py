"""Edits of main graphs, which have no objects: frozen graphs, and SavedModels of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.formats.tensorflow.editing import Edited
from dovetail.formats.tensorflow.frames import ENTERS
from dovetail.formats.tensorflow.names import original, split
from dovetail.formats.tensorflow.saved_model import PLACEHOLDERS, Read, SavedGraph
from dovetail.formats.tensorflow.saving import tensor_info
from dovetail.formats.tensorflow.structures import typed
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.tensorflow.written_nodes import Nodes, Ref
from dovetail.formats.wire.tensors import shape_proto


def edit_graph(saved: SavedGraph, graph: Any, read: Read) -> None:
    """Put an edited graph in place of a message `GraphDef`; untouched nodes stay as they are.

    Args:
        saved: the graph as it was read.
        graph: the message, which is changed.
        read: its signature `graph`.
    """
    edited, writer = Edited(read, saved.functions, _original(graph), False, False), _writer(graph)
    taken = {node.name for node in graph.node if node.op in PLACEHOLDERS}
    gone = {node.name for node in graph.node if edited.is_gone(node.name)}
    for node in graph.node:  # a node without operations is gone with one of its inputs, if these come first
        if any(split(text)[0] in gone for text in node.input):
            gone |= {node.name} if not any(True for _ in edited.operations_of(node.name)) else set()
    edited.need(node.name for node in graph.node if node.name not in gone | taken)
    nodes = Nodes(writer, {}, in_function=False)
    nodes.names |= taken
    edited.write(nodes, _given(read, nodes, graph), {name: name for name in edited.captured})
    order = {node.name: number for number, node in enumerate(graph.node)}
    kept = [node for node in graph.node if node.name in taken]
    ordered = sorted([*kept, *nodes.messages], key=lambda node: order.get(node.name, len(order)))
    del graph.node[:]
    graph.node.extend(ordered)
    graph.library.function.extend(writer.library.values())


def edit_signature(
    saved: SavedGraph, meta: Any, read: Read, name: str, inputs: Sequence[str], outputs: Sequence[str]
) -> None:
    """Add the nodes of an edited signature to the main graph of a message `MetaGraphDef`.

    All nodes that were there stay, since other signatures may need them.  The edited signature gets nodes of its own,
    but shares variables and tables.

    Args:
        saved: the graph as it was read.
        meta: the message, which is changed.
        read: the signature's graph.
        name: of the signature.
        inputs, outputs: its keys.
    """
    graph, given = meta.graph_def, meta.signature_def[name]
    edited, writer = Edited(read, saved.functions, _original(graph), False, True), _writer(graph)
    handles = {variable: Ref(node, "resource") for node, variable in saved.variables.items()}
    nodes = Nodes(writer, handles, in_function=False)
    nodes.names |= {node.name for node in graph.node}
    known, old = _given(read, nodes, graph), dict(given.inputs)
    for variable, ref in handles.items():
        if saved.nodes[ref.text].op != "VarHandleOp":  # a reference, which is read where a tensor is needed
            known |= {op.outputs[0]: Ref(ref.text, variable.dtype) for op in edited.reads(variable)}
    results = edited.write(nodes, known, {one: one for one in edited.captured})
    for node in nodes.messages:
        if node.op in ENTERS:
            node.attr["frame_name"].s += b"/edited"
    infos = {key: old[before] for key, before in zip(inputs, read.keys, strict=True)}
    given.inputs.clear()
    for key, value in zip(inputs, read.program.inputs, strict=True):
        given.inputs[key].CopyFrom(tensor_info(infos[key].name, value))
    given.outputs.clear()
    for key, value, ref in zip(outputs, read.program.values, results, strict=True):
        text = ref.text if ":" in ref.text else f"{ref.text}:0"
        given.outputs[key].CopyFrom(tensor_info(text, value))
    graph.node.extend(nodes.messages)
    graph.library.function.extend(writer.library.values())


def _original(graph: Any) -> Callable[[str, str], Any]:
    known = {"": {node.name: node for node in graph.node}}
    known |= {one.signature.name: {node.name: node for node in one.node_def} for one in graph.library.function}
    return lambda function, name: known[function][name]


def _writer(graph: Any) -> Writer:
    return Writer({one.signature.name for one in graph.library.function})


def _given(read: Read, nodes: Nodes, graph: Any) -> dict[Any, Ref]:
    """Input of a graph → its placeholder, which gets the shape that the input has now."""
    refs: dict[Any, Ref] = {}
    known = {original(node): node for node in graph.node}
    for value in read.program.inputs:
        node = known[value.op.name if hasattr(value, "op") else value.node.title]
        shape, _ = typed(value) or (None, 0)
        if "shape" in node.attr and node.attr["shape"].shape != shape_proto(shape):
            node.attr["shape"].shape.CopyFrom(shape_proto(shape))
        refs[value] = Ref(node.name, value.dtype if hasattr(value, "dtype") else "object")
    return refs
