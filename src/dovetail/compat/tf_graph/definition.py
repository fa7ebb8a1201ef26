"""Definitions: graphs and operations as TensorFlow's messages `GraphDef` and `NodeDef`.

Nodes are TensorFlow's, so TensorFlow runs them.  Each has a mark, a field that TensorFlow does not know.  It points
to the operation of which the node was made, in a table of this process.  Copies of a message keep it, and so do
bytes.  Text keeps the marks of variables, and of operations that TensorFlow cannot compute: these are attributes, too.
`restoring` takes that operation for a node that nobody edited.  The definition has the document of the graph in such a
field, too, for other processes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tf_graph.device_spec import written
from dovetail.compat.tf_graph.elements import keep_face
from dovetail.compat.tf_graph.graph_bytes import DOCUMENT, document
from dovetail.compat.tf_graph.graph_proto import Viewed, variable_proto
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.edit.taken import hold_copies
from dovetail.edit.transplant import transplant
from dovetail.formats.tensorflow.attributes import set_attribute
from dovetail.formats.tensorflow.saving import graph_versions
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.tensorflow.written_nodes import Nodes, Place, Ref
from dovetail.formats.wire.libraries import library
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.tensors import shape_proto
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.control.plumbing import EFFECTS

MARK = 5000  # the number of the field
TAG = b"\xc2\xb8\x02"  # the field's number and kind, as they stand before its bytes
KEPT = "_dovetail"  # the attribute of a node that is Dovetail's own, or has a variable of this process
MOST = 16  # definitions whose operations are remembered
_PROCESS = secrets.token_bytes(8)  # variables and functions of Python are of this process


class Group(NamedTuple):
    """An operation, and the nodes that were made of it.

    Attributes:
        operation: in the copy of the graph.
        inputs: the references of its inputs.
        taken: the tensors whose values it took, or operations inside it → their references.
        members: the nodes, the one with the operation's name last.
    """

    operation: Operation
    inputs: list[str]
    taken: dict[GraphTensor, str]
    members: list[Any]


class Origin:
    """A copy of a graph, and the nodes that were made of it.

    Args:
        graph: the copy.
        names: of variables, if they are not the variables' own.
        theirs: as of `Writer`.

    Attributes:
        message: the message `GraphDef`, without marks.
        groups: of the operations.
        variables: name of a node → its variable.
        places: name of a node → the number of its group, and its number there.
        whole: the digest of the definition with its marks.
    """

    def __init__(self, graph: Graph, names: Mapping[Variable, str] | None = None, theirs: bool = True) -> None:
        self.graph, self.groups = graph, list[Group]()
        self.message = message = TENSORFLOW.GraphDef(versions=graph_versions())
        viewed = Viewed(message)
        handles = viewed.names(graph, names or {})
        for variable, name in (names or {}).items():
            handles.setdefault(variable, name)
        self.variables = {name: variable for variable, name in handles.items()}
        writer = _Recorder(self.groups, viewed, handles, theirs)
        nodes = writer.nodes(graph, handles)
        self.places = {
            node.name: (number, index)
            for number, group in enumerate(self.groups)
            for index, node in enumerate(group.members)
        }
        first: dict[str, int] = {}
        for number, node in enumerate(nodes):
            for text in node.input:
                first.setdefault(text.removeprefix("^"), number)
        made = {name: variable_proto(variable, name) for name, variable in self.variables.items()}
        before: dict[int, list[Any]] = {}
        for name, node in made.items():
            before.setdefault(first.get(name, len(nodes)), []).append(node)
        for number in range(len(nodes) + 1):
            message.node.extend(before.get(number, []))
            message.node.extend(nodes[number : number + 1])
        message.library.function.extend(writer.library.values())
        self.functions = {one.signature.name: one for one in message.library.function}

    def salt(self) -> bytes:
        """The identities of all that is of this process alone."""
        kept = [value for group in self.groups if _is_kept(group) for value in group.operation.attrs.values()]
        identities = [id(value) for value in (*self.variables.values(), *(one for one in kept if callable(one)))]
        return _PROCESS + repr(identities).encode() if identities else b""

    def marked(self) -> Any:
        """The definition with marks, which is remembered."""
        made = TENSORFLOW.GraphDef()
        made.CopyFrom(self.message)
        token = digest(self.message, self.salt())
        for node in made.node:
            place = self.places.get(node.name)
            mark = b"%s/%s" % (token, b"%d/%d" % place if place else node.name.encode())
            node.MergeFromString(_field(mark))
            if node.name in self.variables or KEPT in node.attr:
                node.attr[KEPT].s = mark
        with suppress(TypeError):  # an operation calls Python
            made.MergeFromString(_field(document(self.graph).SerializeToString(deterministic=True)))
        self.whole = digest(made)
        _known[token] = self
        _known.move_to_end(token)
        while len(_known) > MOST:
            _known.popitem(last=False)
        return made


_known: OrderedDict[bytes, Origin] = OrderedDict()


def digest(message: Any, salt: bytes = b"") -> bytes:
    """Sixteen letters that say what a message holds."""
    data = message.SerializeToString(deterministic=True)
    return hashlib.blake2b(data, digest_size=8, key=hashlib.blake2b(salt).digest()).hexdigest().encode()


def _field(data: bytes) -> bytes:
    """The bytes of a field of a message that is not known to others."""
    return TAG + bytes([len(data) >> shift & 127 | 128 for shift in (0, 7, 14, 21)] + [len(data) >> 28]) + data


def _hidden(message: Any) -> bytes | None:
    fields = library("google.protobuf.unknown_fields").UnknownFieldSet(message)
    marks = [field.data for field in fields if field.field_number == MARK and isinstance(field.data, bytes)]
    return marks[-1] if marks else None


def hidden_document(message: Any) -> Any:
    """The document that a definition has in bytes of other processes; None if it has none."""
    data = _hidden(message)
    return None if data is None else parsed(TENSORFLOW.FunctionDef, data, "a definition", DOCUMENT)


class Mark(NamedTuple):
    """The mark of a node: the origin, None if this process does not know it, and the rest."""

    origin: Origin | None
    rest: str


def mark_of(node: Any) -> Mark | None:
    """The mark of a node; None if it has none."""
    data = _hidden(node) or (node.attr[KEPT].s if KEPT in node.attr else None)
    if not data:
        return None
    token, _, rest = data.partition(b"/")
    return Mark(_known.get(token), rest.decode(errors="replace"))


def definition_of(graph: Graph, add_shapes: bool = False) -> Any:
    """A graph as a message `GraphDef`, as it is now.

    Args:
        graph: the graph; variables are shared with what is imported of the definition in this process.
        add_shapes: whether nodes say the shapes of their results, as the attribute "_output_shapes".

    Raises:
        ImportError: the extra `formats` is not installed.

    Source: `tf.Graph.as_graph_def`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> y = dt.ops.tanh(graph.placeholder(dt.spec(()), "x"))
        >>> [node.name for node in definition_of(graph).node]
        ['x', 'Tanh']
    """
    made = Origin(snapshot(graph)).marked()
    if add_shapes:
        outputs = {operation.name: operation.outputs for operation in graph}
        for node in made.node:
            shapes = [shape_proto(tensor.shape) for tensor in outputs.get(node.name, ())]
            node.attr["_output_shapes"].list.shape.extend(shapes)
    return made


def file_of(graph: Graph, variables: Iterable[Variable] = ()) -> Any:
    """A graph as a message `GraphDef` for a file, with its document.

    Args:
        graph: the graph.
        variables: variables that are written even if no operation uses them.

    Raises:
        ImportError: the extra `formats` is not installed.
        TypeError: an operation has an attribute that cannot be written, as a function of the program.
    """
    copy = snapshot(graph)
    variables = list(variables)
    function = document(copy, variables)
    message = Origin(copy, {variable: variable.op_name for variable in variables}).message
    message.library.function.append(function)
    return message


def snapshot(graph: Graph) -> Graph:
    """A copy of a graph that shares its variables."""
    copy = type(graph)(graph.name)
    copies = transplant(graph.operations, copy, inputs=graph.inputs, own=True)
    for old, new in copies.tensors.items():
        keep_face(old, new)
    copy.outputs = copies.of(graph.outputs)
    copy.state = graph.state.copied(copies.tensors)
    hold_copies(copy)
    return copy


def node_def_of(operation: Operation) -> Any:
    """An operation as a message `NodeDef`.

    Example:
        >>> import dovetail as dt
        >>> node = node_def_of(dt.ops.sum(dt.SessionGraph().placeholder(dt.spec((2, 3)), "x"), axis=1).op)
        >>> node.op, list(node.input), node.attr["T"].type
        ('Sum', ['x', 'Sum/reduction_indices'], 1)
    """
    viewed, groups = Viewed(TENSORFLOW.GraphDef()), list[Group]()
    handles = {value: value.op_name for value in operation.attrs.values() if isinstance(value, Variable)}
    writer = _Recorder(groups, viewed, handles)
    nodes = Nodes(writer, {variable: Ref(name, "resource") for variable, name in handles.items()}, in_function=False)
    refs = [Ref(t.op.name if t.index == 0 else t.name, t.dtype) for t in operation.inputs]
    writer.written(Place(nodes, operation, operation.name, refs, [other.name for other in operation.control_inputs]))
    return groups[0].members[-1]


def _is_kept(group: Group) -> bool:
    return group.members[-1].op == group.operation.type and KEPT in group.members[-1].attr


class _Recorder(Writer):
    """A writer that notes the nodes of each operation.

    Args:
        groups: gets the groups.
        viewed: makes a node for an operation that TensorFlow cannot compute.
        handles: variable → the name of its node.
        theirs: as of `Writer`.
    """

    def __init__(self, groups: list[Group], viewed: Any, handles: Mapping[Any, str], theirs: bool = True) -> None:
        super().__init__(otherwise=self._kept, theirs=theirs)
        self._groups, self._viewed, self._handles, self._is_inside = groups, viewed, handles, False

    def _kept(self, operation: Operation) -> Any:
        node = TENSORFLOW.NodeDef()
        self._viewed.add(operation, node, self._handles)
        del node.input[:]
        node.attr[KEPT].b = True
        return node

    def written(self, place: Place) -> list[Ref]:
        messages, operation = place.nodes.messages, place.operation
        if place.nodes.in_function or self._is_inside:
            first = len(messages)
            refs = super().written(place)
            _note(operation, messages[first:])
            return refs
        place.waits = [*place.waits, *(tensor.op.name for tensor in operation.inputs if tensor.op.type in EFFECTS)]
        first, self._is_inside = len(messages), True
        given = dict(zip(operation.inputs, (ref.text for ref in place.inputs), strict=True))
        taken = {t: given[t] for t in operation.takes() if t in given}
        taken |= {operation.taken[word]: ref.text for word, (ref, _) in place.held.items()}
        try:
            refs = _counted(place) or super().written(place)
        finally:
            self._is_inside = False
        members = messages[first:]
        members.sort(key=lambda node: node.name == place.name)
        members[-1].device = written(operation.device)
        _note(operation, members)
        self._groups.append(Group(operation, [given[t] for t in operation.inputs], taken, members))
        return refs


def _counted(place: Place) -> list[Ref] | None:
    """The results of a read or an assignment of a count of random draws; None if the operation is another one.

    TensorFlow has no value of the count, so there each run draws a number instead.
    """
    variable = place.operation.attrs.get("variable")
    if variable is None or not variable.is_counter:
        return None
    if place.inputs:
        return place.result("Identity", place.inputs[0], dtypes=[variable.dtype])
    ends = [place.constant(end, word) for word, end in (("minval", 0), ("maxval", 2**31 - 1))]
    return place.result("RandomUniformInt", place.constant(np.zeros(0, "int32"), "shape"), *ends, seed=0, seed2=0)


def _note(operation: Operation, members: list[Any]) -> None:
    """Note on the last node what an operation has besides its arguments."""
    named = operation.overrides.get(operation.type)
    for name, value in {**operation.notes, **({} if named is None else {"_gradient_op_type": named})}.items():
        values = value if isinstance(value, list) else [value]
        texts = [one.decode() if isinstance(one, bytes) else one for one in values]
        set_attribute(members[-1].attr[name], texts if isinstance(value, list) else texts[0])
