"""Keeping: a model that nobody edited is written as its file was, with the values that its weights have now.

Of an edited model, nodes that are recorded are written as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.formats.constants import is_tensor
from dovetail.formats.onnx.encoding import attribute
from dovetail.formats.onnx.model import Model
from dovetail.formats.onnx.nodes import Node, Weight, subgraphs
from dovetail.formats.onnx.records import Record, Records
from dovetail.formats.onnx.tensors import CARRIERS, Tensors
from dovetail.formats.onnx.written_nodes import Place, Ref, writes
from dovetail.formats.opaque import OpaqueOp, opaque_outputs
from dovetail.formats.ways import unique
from dovetail.graph.order import position, stands_before
from dovetail.graph.pass_edits import rewire
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS

Data = list[tuple[Any, np.ndarray]]  # messages of tensors, and the arrays whose data they are to have


def kept(model: Model, external: bool) -> tuple[Any, Data]:
    """A copy of the message of a model, and its tensors whose data is new, or is not in the message.

    Args:
        model: the model.
        external: whether the data of all initializers is to be written beside the new file.
    """
    message, tensors, data = type(model.proto)(), Tensors(model.file, model.folder), Data()
    message.CopyFrom(model.proto)
    for name, is_initializer, found in _tensors(message):
        is_list = not hasattr(found, "dims")  # the floats of a Constant
        array = np.array(found.floats, "float32") if is_list else tensors.array(found)
        variable = model.variables.get(name) if name else None
        now = array if variable is None or array.dtype.name in CARRIERS else np.asarray(variable.numpy())
        is_changed = now is not array and now.tobytes() != array.tobytes()
        if is_list:
            found.CopyFrom(attribute("value", now) if is_changed else found)
        elif is_changed or found.data_location == 1 or (external and is_initializer):
            data.append((found, now))
    return message, data


def _tensors(message: Any) -> Iterator[tuple[str, bool, Any]]:
    """The tensors in a message: names of weights, whether they are initializers of the model, and messages."""
    yield from ((one.name, True, one) for one in message.graph.initializer)
    yield from _inner(message.graph)
    for function in message.functions:
        yield from (("", place, found) for _, place, found in _inner(function))  # its constants are no variables


def _inner(owner: Any) -> Iterator[tuple[str, bool, Any]]:
    """The tensors of the nodes of a graph or a function."""
    for node in owner.node:
        name = node.output[0] if node.op_type == "Constant" and node.output else ""
        for one in node.attribute:
            yield from ((name, False, found) for found in ([one.t] if one.HasField("t") else one.tensors))
            if name and one.floats:
                yield name, False, one
        for graph in subgraphs(node):
            yield from ((one.name, False, one) for one in graph.initializer)
            yield from _inner(graph)


# -- nodes of an edited graph -----------------------------------------------------------------------------------------


class KeptOp(OpaqueOp):
    """The op of a node that is written as it was; `sources` has the weight, or None for a tensor, of each input."""

    def __init__(self, node: Node, sources: list[Any]) -> None:
        super().__init__("Kept", f"{node.type} {node.name!r} is kept for a file")
        self.node, self.sources = node, sources


def keep_nodes(graph: Any, copy: Any, records: Records, opset: int) -> None:
    """Replace the operations of unedited nodes in a copy of their graph, which is to be written, by one for each.

    Args:
        graph: the graph that was read, or one of a branch or a loop in it.
        copy: is edited.
        records: of the reading.
        opset: of the new file.
    """
    kept: dict[str, Any] = {}  # names of tensors → the results of kept nodes
    outputs = {*graph.outputs}

    def now(tensor: Any) -> Any:
        return kept[tensor.name] if tensor.name in kept else copy.get_tensor(tensor.name)

    for operation in graph.of_types(SUBGRAPH_CALLS):
        for part, other in zip(operation.subgraphs(), copy.get_operation(operation.name).subgraphs(), strict=True):
            keep_nodes(part, other, records, opset)
    for number, record in enumerate(records.all.get(graph, ())):
        swapped = record.swapped(outputs)
        named = [one for one in record.results if one is not None]
        if swapped is None or not record.is_in(opset) or not any(one in outputs or one.consumers() for one in named):
            continue
        sources = [_source(record, index, swapped) for index in range(len(record.inputs))]
        tensors, results = [now(one) for one in sources if is_tensor(one)], [now(one) for one in named]
        first = min((user for one in results for user in one.consumers()), key=position, default=None)
        if first is not None and not all(stands_before(first)(one.op) for one in tensors):
            continue
        op, dtypes, shapes = (
            KeptOp(record.node, sources),
            [one.dtype for one in results],
            [one.shape for one in results],
        )
        with copy.as_default() if first is None else copy.insert_before(first):
            name = f"{record.node.name}/kept"
            made = opaque_outputs(copy, op, tensors, op.reason, dtypes, shapes, name, number)
        for old, new in zip(results, made, strict=True):
            rewire(copy, old, new)
        kept |= dict(zip((one.name for one in named), made, strict=True))


def _source(record: Record, index: int, swapped: Mapping[Any, Any]) -> Any:
    """An input of a node that is kept: a tensor, a weight that is a constant, or None."""
    value = record.inputs[index]
    if is_tensor(value):
        is_weight = value.op in record.states and swapped.get(value, value) is value
        return record.node.inputs[index] if is_weight else swapped.get(value, value)
    return value


@writes("Kept")
def _kept(place: Place, tensors: Sequence[Ref], *_: Any) -> list[Ref]:
    op: Any = place.operation.op
    node, refs, writer = op.node, iter(tensors), place.nodes.writer
    message = type(node.proto)()
    message.CopyFrom(node.proto)
    given = [
        None
        if one is None
        else writer.constant(one.array, one.name or node.name)
        if isinstance(one, Weight)
        else next(refs)
        for one in op.sources
    ]
    message.input[:] = [
        "" if ref is None else _named(place, name, ref) for name, ref in zip(node.proto.input, given, strict=True)
    ]
    message.name = unique(node.name, writer.names)
    message.output[:] = [name and unique(name, writer.values) for name in message.output]
    writer.domains[message.domain] = node.version
    place.nodes.messages.append(message)
    named = filter(None, message.output)
    return [Ref(name, tensor.dtype) for name, tensor in zip(named, place.operation.outputs, strict=True)]


def _named(place: Place, name: str, ref: Ref) -> str:
    """The name of an input; a weight that is inside a branch in the file stays there, as ONNX Runtime wants it."""
    op: Any = place.operation.op
    return place.nodes.named(ref) if isinstance(op.node.body.values.get(name), Weight) else ref.text
