"""Restoring: a message `GraphDef` becomes a graph; nodes that nobody edited become the operations that they were.

A node is of an operation if it, and the nodes behind it that were made of the same operation, say what they said.
Names, inputs from elsewhere and control inputs may be others.  All other nodes are read as TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tf_graph.checked_nodes import check_nodes
from dovetail.compat.tf_graph.definition import KEPT, Group, Mark, Origin, digest, hidden_document, mark_of
from dovetail.compat.tf_graph.elements import keep_face
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.compat.tf_graph.graph_bytes import DOCUMENT, document_in, graph_of_proto, take_unknown, zeros
from dovetail.core.base.table import OPS
from dovetail.edit.graph import Graph
from dovetail.edit.inference import infer_from
from dovetail.edit.overriding import override_gradients
from dovetail.edit.transplant import Copies
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.tensorflow.functions import called
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.read_nodes import Body, Node
from dovetail.formats.tensorflow.reading import Reader, spec_of
from dovetail.formats.tensorflow.saved_model import GRAPH, HANDLES, PLACEHOLDERS, SavedGraph, saved_graph
from dovetail.formats.tensorflow.values import Handle
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.graph.naming import name_new
from dovetail.graph.operation import Operation
from dovetail.graph.shape_values import known_value

Make = Callable[[str, np.ndarray, bool], Any]  # (name, first value, whether it is trainable) → a variable


class Match(NamedTuple):
    """The operation of a node.

    Attributes:
        group: the operation, with its nodes.
        given: reference of an input from elsewhere → the reference now.
        inner: the names of the other nodes of the group.
    """

    group: Group
    given: dict[str, str]
    inner: set[str]


def restored(
    message: Any, file: str = "a definition", make: Make = zeros, reader: Callable[..., Reader] | None = None
) -> Graph:
    """The graph of a message `GraphDef`.

    Args:
        message: is not changed.
        file: its name, for errors.
        make: makes the variables that are not of this process.
        reader: makes a reader of nodes that are TensorFlow's; it is given the tables of the model as `store`, too.

    Raises:
        FormatError: it is damaged.
    """
    marks = [mark_of(node) for node in message.node]
    first = next((mark for mark in marks if mark is not None), None)
    if first is not None and first.origin is not None and first.origin.whole == digest(message):
        return first.origin.graph
    known = any(mark is not None and mark.origin is not None for mark in marks)
    documented = None if known else _documented(message, file, make)
    if documented is not None:
        message = _without_saver(message, documented)
        if _is_same(message, documented.message):
            return documented.graph
    check_nodes(message, file)
    saved = saved_graph(message, Path(file))
    if first is None and documented is None:
        return imported(saved, make, reader)
    marked = _Marks(message, documented)
    saved.variables |= marked.variables
    _make_variables(saved, make)
    return _read(saved, marked)


def imported(saved: SavedGraph, make: Make, reader: Callable[..., Reader] | None = None) -> Graph:
    """All that a graph of TensorFlow computes, as a graph; see `restored`."""
    saved.reader = Reader if reader is None else partial(reader, store=saved.store)
    _make_variables(saved, make)
    return saved.read_signature(GRAPH, saved.session, is_session=True).graph


def _make_variables(saved: SavedGraph, make: Make) -> None:
    """Make the variables that are not known.

    Raises:
        FormatError: the shape of one is too large.
    """
    for node in saved.graph_def.node:
        if node.op in HANDLES and node.name not in saved.variables:
            made = saved.variables[node.name] = make(node.name, saved.first(node), saved.is_trainable(node))
            take_unknown(made, node.attr["shape"].shape)


def _documented(message: Any, file: str, make: Make) -> Origin | None:
    """The origin that a document tells."""
    function = document_in(message) or hidden_document(message)
    if function is None:
        return None
    origin_parts, names = (
        graph_of_proto(message, function, file, make, _recording),
        {node.name for node in message.node},
    )
    made = Origin(*origin_parts)
    if made.places.keys() <= names:
        return made
    return max(made, Origin(*origin_parts, theirs=False), key=lambda origin: len(origin.places.keys() & names))


def _recording(name: str) -> Graph:
    """An empty graph that records effects, as a graph of sessions."""
    graph = TensorFlowGraph(name)
    graph.dialect = graph.dialect._replace(records_effects=True)
    return graph


def _without_saver(message: Any, documented: Origin) -> Any:
    """A definition without the nodes with which TensorFlow saves and restores variables."""
    scopes = tuple({f"{node.name.rpartition('/')[0]}/" for node in message.node if node.op in ("SaveV2", "RestoreV2")})
    known = {node.name for node in documented.message.node}
    if not scopes:
        return message
    made = TENSORFLOW.GraphDef()
    made.CopyFrom(message)
    del made.node[:]
    made.node.extend(node for node in message.node if node.name in known or not node.name.startswith(scopes))
    return made


def _is_same(message: Any, other: Any) -> bool:
    """Whether a definition has the nodes and functions of another one."""
    functions = [one for one in message.library.function if one.signature.name != DOCUMENT]
    nodes = TENSORFLOW.GraphDef(node=message.node)
    nodes.DiscardUnknownFields()
    for node in nodes.node:
        if KEPT in node.attr and node.op in HANDLES:
            del node.attr[KEPT]
        elif KEPT in node.attr:
            node.attr[KEPT].b = True
    return nodes.node == other.node and functions == list(other.library.function)


class _Marks:
    """The operations of which the nodes of a definition were made.

    Attributes:
        places: name of a node → its origin, the number of the group, and its number there.
        variables: name of a node → its variable.
    """

    def __init__(self, message: Any, documented: Origin | None) -> None:
        self.nodes = {node.name: node for node in message.node}
        self.places: dict[str, tuple[Origin, int, int]] = {}
        self.variables: dict[str, Any] = {}
        self._functions = {one.signature.name: one for one in message.library.function}
        self._matches: dict[str, Match | None] = {}
        self._same: dict[tuple[int, str], bool] = {}
        marks = [mark_of(node) or Mark(None, "") for node in message.node]
        origins = {id(mark.origin): mark.origin for mark in marks if mark.origin is not None}
        only = next(iter(origins.values())) if len(origins) == 1 else None  # of text, where few nodes have marks
        for node, (known, rest) in zip(message.node, marks, strict=True):
            origin = known or documented or (None if node.op in HANDLES else only)
            if origin is None:
                continue
            if node.op in HANDLES:
                variable = origin.variables.get(rest or node.name)
                if variable is not None:
                    self.variables[node.name] = variable
                continue
            place = origin.places.get(node.name)
            with suppress(ValueError):
                number, index = map(int, rest.split("/"))
                place = number, index
            if place is not None and place[0] < len(origin.groups) and place[1] < len(origin.groups[place[0]].members):
                self.places[node.name] = origin, *place

    def match(self, name: str) -> Match | None:
        """The operation of a node; None if it is another node of the operation, or was edited."""
        if name not in self._matches:
            self._matches[name] = self._matched(name)
        return self._matches[name]

    def _matched(self, name: str) -> Match | None:
        if name not in self.places:
            return None
        origin, number, index = self.places[name]
        group = origin.groups[number]
        if index + 1 < len(group.members) or group.operation.type == "Const":
            return None
        given: dict[str, str] = {}
        inner: set[str] = set()
        numbers = {node.name: i for i, node in enumerate(group.members)}
        stack = [(name, index)]
        while stack:
            one, index = stack.pop()
            node, old = self.nodes.get(one), group.members[index]
            if node is None or not self._says(origin, node, old):
                return None
            news, olds = ([text for text in some.input if not text.startswith("^")] for some in (node, old))
            if len(news) != len(olds):
                return None
            for new, text in zip(news, olds, strict=True):
                source, output = split(text)[0], split(text)[1:]
                if source in numbers and source != old.name:
                    now = split(new)
                    if now[1:] != output or self.places.get(now[0]) != (origin, number, numbers[source]):
                        return None
                    if now[0] not in inner:
                        inner.add(now[0])
                        stack.append((now[0], numbers[source]))
                elif given.setdefault(text, new) != new:
                    return None
        return Match(group, given, inner) if all(text in given for text in group.inputs) else None

    def _says(self, origin: Origin, node: Any, old: Any) -> bool:
        """Whether a node has the type, the device and the attributes of another one, and calls the same functions."""
        same = (node.op, node.device) == (old.op, old.device) and _attributes(node) == _attributes(old)
        return same and all(self._is_same_function(origin, name) for name in called(node))

    def _is_same_function(self, origin: Origin, name: str) -> bool:
        key = id(origin), name
        if key not in self._same:
            self._same[key] = True  # if it calls itself
            old, new = origin.functions.get(name), self._functions.get(name)
            parts = () if new is None else [inner for node in new.node_def for inner in called(node)]
            is_same = new is None or new == old
            self._same[key] = is_same and all(self._is_same_function(origin, inner) for inner in parts)
        return self._same[key]


def _attributes(node: Any) -> dict[str, bytes]:
    attributes = {name: value.SerializeToString(deterministic=True) for name, value in node.attr.items()}
    return {name: value for name, value in attributes.items() if name not in ("_output_shapes", KEPT)}


class _Body(Body):
    """The nodes of a definition; a node that is an operation needs what that takes."""

    def __init__(self, marks: _Marks) -> None:
        super().__init__("the graph", marks.nodes.values(), {})
        self.marks = marks

    def needs(self, proto: Any) -> list[str]:
        match = self.marks.match(proto.name)
        if match is None:
            return super().needs(proto)
        return [*match.given.values(), *(text for text in proto.input if text.startswith("^"))]


class _Restorer(Reader):
    """A reader that restores operations.

    Attributes:
        made: name of a node → the operations that it became.
    """

    def __init__(self, saved: SavedGraph, marks: _Marks) -> None:
        super().__init__(saved.file, saved.functions, saved.variable)
        self.marks, self._producer = marks, saved.graph_def.versions.producer
        self.made: dict[str, list[Operation]] = {}

    def _results(self, node: Node) -> list[Any]:
        if not isinstance(node.body, _Body):
            return super()._results(node)
        match, graph = self.marks.match(node.name), self.graph
        first = len(graph.changed_ops)
        results = self._read_anew(node) if match is None else self._restored(node, match)
        operations = [one for one in graph.changed_ops[first:] if not one.is_removed]
        waits = [one for text in node.proto.input if text.startswith("^") for one in self.made.get(text[1:], ())]
        for operation in operations:
            if waits and operation.type not in ("Const", "Placeholder"):
                operation.wait_for(waits)
        last = results[0].op if results and is_tensor(results[0]) else operations[-1] if operations else None
        self.made[node.name] = [] if last is None else [last]
        if last is not None and last in operations:
            name_new(graph, last, node.name)
            if match is None:
                self._note(node, last)
        return results

    def _restored(self, node: Node, match: Match) -> list[Any]:
        """The results of a copy of the operation of a node."""
        old = match.group.operation
        values = {text: self.value(node.body, now) for text, now in match.given.items()}
        inputs = [values[text] for text in match.group.inputs]
        taken = {tensor: values[text] for tensor, text in match.group.taken.items() if text in values}
        if not all(map(is_tensor, inputs)) or not all(_are_alike(*pair) for pair in taken.items()):
            body, outer = node.body, node.body.wanted
            node.inputs = self.read(body, [text for text in node.proto.input if not text.startswith("^")])
            body.wanted = outer
            return self._read_anew(node)
        node.inputs = []  # the operation knows what it took
        if old.type == "Placeholder":
            tensor = self.graph.placeholder(old.outputs[0].spec, f"{node.name}/", known=old.attrs["known"])
            tensor.op.take_after(old)
            keep_face(old.outputs[0], tensor)
            return [tensor]
        copies = Copies(self.graph, taken | dict(zip(old.inputs, inputs, strict=True)), True, None)
        copies.copy(old)
        copy = copies.operations[old]
        for was, new in zip(old.outputs, copy.outputs, strict=True):
            keep_face(was, new)
        for value in values.values():
            if isinstance(value, Handle) and "variable" in copy.attrs:
                copy.hold_attr("variable", value.variable)
        if any(new.spec != was.spec for new, was in zip(inputs, old.inputs, strict=True)):
            infer_from([copy])
        return self.noted(node, list(copy.outputs))

    def _read_anew(self, node: Node) -> list[Any]:
        """The results of a node that was edited, or is new."""
        if node.type == "NoOp":
            self.graph.add(OPS["NoOp"], [], {}, [], (), node.name)
            return []
        if node.type in PLACEHOLDERS[:2]:
            return [self.given(node.proto, spec_of(node.proto, self._producer))]
        return super()._results(node)

    def _note(self, node: Node, operation: Any) -> None:
        """Give an operation the device, the gradient and the notes that its node says."""
        if node.proto.device:
            operation.device = node.proto.device
        notes = {
            name: node.attrs(name)
            for name in node.proto.attr
            if name.startswith("_") and name not in ("_output_shapes", KEPT)
        }
        named = notes.pop("_gradient_op_type", None)
        if named is not None:
            override_gradients([operation], {operation.type: named})
        operation.notes = {**operation.notes, **notes}

    def _opaque(self, node: Node, reason: str) -> list[Any]:
        if KEPT in node.attrs:
            reason = (
                f"only the process that made the definition can compute {node.type}; import it there, "
                "or write the graph by tf.train.export_meta_graph"
            )
        return super()._opaque(node, reason)


def _are_alike(old: Any, new: Any) -> bool:
    """Whether a tensor has the known elements of another one."""
    return is_tensor(new) and np.array_equal(known_value(old), known_value(new))  # type: ignore[arg-type]


def _read(saved: SavedGraph, marks: _Marks) -> Graph:
    """The graph of a definition that Dovetail made and somebody edited; it records effects, as a graph of sessions."""
    graph = _recording("graph")
    reader, body = _Restorer(saved, marks), _Body(marks)
    matches = [match for match in map(marks.match, marks.nodes) if match is not None]
    inner = {name for match in matches for name in match.inner}
    graph.changed_ops = []
    with graph.as_default(), saved.reading("the graph"):
        reader.read(body, [f"^{name}" for name in marks.nodes if name not in inner])
    graph.changed_ops = None
    _order_counters(graph, marks, reader)
    return graph


def _order_counters(graph: Graph, marks: _Marks, reader: _Restorer) -> None:
    """Let reads of the variables that count random numbers bring the assignments along, as in the origin."""
    for name, (origin, number, _) in marks.places.items():
        old = origin.groups[number].operation
        variable = old.attrs.get("variable")
        if variable is not None and origin.graph.state.last.get(variable) is old and reader.made.get(name):
            graph.state.last[variable] = reader.made[name][0]
