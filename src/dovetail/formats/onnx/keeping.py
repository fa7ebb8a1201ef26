"""Keeping: nodes of a model that nobody edited become one operation each in a copy of its graph, which is written.

Such an operation is written as the node was.  What it took by names, such as weights, it takes by these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import OpaqueOp, opaque_outputs
from dovetail.formats.nodes.writing import unique
from dovetail.formats.onnx.declared import DEFAULT_DOMAINS, versions_of
from dovetail.formats.onnx.forms import is_same
from dovetail.formats.onnx.layouts import rename
from dovetail.formats.onnx.nodes import Body, Node, Weight, subgraphs, tensors_of
from dovetail.formats.onnx.records import Record, Records
from dovetail.formats.onnx.table import writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.effects import ASSIGN
from dovetail.graph.order import position
from dovetail.graph.pass_edits import discard, rewire
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS


class Held(NamedTuple):
    """A value of the file that is no result of a node: its name, and its message if a branch or a loop has it."""

    name: str
    tensor: Any = None


BOOL = as_dtype("bool")
Source = Any  # a tensor, a `Held`, a `Weight` that becomes a constant, or None


class Lost(Exception):
    """A node cannot be kept, since a value that it takes is not there any more."""


class Kept(NamedTuple):
    """A node that is written as it was.

    Attributes:
        record: of the node.
        sources: of its inputs, and of the values around that its graphs take.
        is_own: whether the graph that is written has the node's names; else it was inside a function or a loop.
    """

    record: Record
    sources: list[Source]
    is_own: bool


class KeptOp(OpaqueOp):
    """The op of the nodes of one file that are written as they were; `nodes` are these."""

    def __init__(self) -> None:
        super().__init__("Kept", "a node is kept for a file")
        self.nodes: list[Kept] = []

    def of(self, operation: Any) -> Kept:
        """The node of an operation."""
        return self.nodes[operation.attrs["number"]]


class Level:
    """The copy of a graph, or of one of a branch or a loop in it.

    Attributes:
        body: the nodes that it was read from; None if they have no names of their own.
        copy: the copy.
        known: name in the file → the result of a kept node, or a token for one that is no tensor of the graph.
        empty: name → the record of a node that gives a tensor on as it is.
        replaced: tensors that are gone → the ones that all nodes take now.
    """

    def __init__(self, body: Body | None, copy: Any, op: KeptOp, assigned: set[str]) -> None:
        self.body, self.copy, self._op, self._assigned = body, copy, op, assigned
        self.known: dict[str, Any] = {}
        self._moved: dict[str, Any] = {}  # names of tensors → the results of kept nodes
        self.empty: dict[str, Record] = {}
        self.replaced: dict[Any, Any] = {}
        self._given: dict[str, Any] = {}
        self._first = next(iter(copy.operations), None)

    def now(self, tensor: Any) -> Any:
        """The counterpart of a tensor.

        Raises:
            Lost: it is gone, or None is given.
        """
        if tensor is None or tensor.op.is_removed:
            raise Lost
        name = tensor.name
        return self._moved[name] if name in self._moved else self.copy.get_tensor(name)

    def source(self, name: str, value: Any, swapped: Mapping[Any, Any], is_own: bool) -> Source:
        """The source of an input of a node.

        Args:
            name, value: of the input, as in its record.
            swapped: tensors → the ones that the node takes now.
            is_own: whether the name is one of this graph.

        Raises:
            Lost: there is none.
        """
        if not name:
            return None
        new = [swapped.get(tensor, self.replaced.get(tensor, tensor)) for tensor in tensors_of(value)]
        is_swapped = any(one is not old for one, old in zip(new, tensors_of(value), strict=True))
        if is_own and name in self.empty and self._through(name, new[0]):
            return self.known[name]
        if is_swapped:
            return self.now(new[0] if is_tensor(value) else None)
        if is_own and name in self.known:
            return self.known[name]
        held = self.held(name) if is_own else None
        if held is not None:
            return held
        weight = self.body.find(name) if is_own and self.body is not None else value
        if isinstance(weight, Weight) and (not is_tensor(value) or value.op.type == "Const"):
            return weight
        if is_tensor(value):
            return self.now(value)
        raise Lost

    def _through(self, name: str, tensor: Any) -> bool:
        """Whether a node that gives a tensor on as it is gives this one now; the first one that is asked for counts."""
        record = self.empty[name]
        (old,) = tensors_of(record.results[name])
        if name not in self.known:
            sources = [self.source(one, value, {old: tensor}, True) for one, value in record.inputs]
            self.add(Kept(record, sources, True))
            self._given[name] = tensor
        return self._given.get(name) is tensor

    def held(self, name: str) -> Held | None:
        """An initializer, or an input that is no tensor of the graph."""
        body = self.body
        while body is not None and name not in body.values:
            body = body.outer
        if body is None or body.graph is None or name in body.maker or name in self._assigned:
            return None
        value, is_root = body.values[name], body.outer is None
        if isinstance(value, Weight):
            tensor = body.initializers.get(name)
            is_here = is_root or body is self.body
            return Held(name, None if is_root else tensor) if tensor is not None and is_here else None
        return Held(name) if is_root and not is_tensor(value) else None

    def add(self, node: Kept) -> None:
        """Add an operation, whose results replace those of the operations of its node."""
        op, record, copy = self._op, node.record, self.copy
        made = {name: value for name, value in record.results.items() if is_tensor(value)}
        own = {name for name, value in made.items() if value.op in record.states}
        if not node.is_own and own != record.results.keys():
            raise Lost
        dtypes = [made[name].dtype if name in made else BOOL for name in record.results]
        shapes = [made[name].shape if name in made else () for name in record.results]
        tensors = [one for one in node.sources if is_tensor(one)]
        last = max((tensor.op for tensor in tensors), key=position, default=None)
        with self._behind(last):
            name = f"{record.node.name}/kept"
            outputs = opaque_outputs(copy, op, tensors, op.reason, dtypes, shapes, name, len(op.nodes))
        op.nodes.append(node)
        if node.is_own:
            self.known |= dict(zip(record.results, outputs, strict=True))
        for name, result in zip(record.results, outputs, strict=True):
            if name in own and not made[name].op.is_removed:
                rewire(copy, copy.get_tensor(made[name].name), result)
                self._moved[made[name].name] = result

    def _behind(self, last: Any) -> Any:
        """A scope for operations behind one, or before all if it is None."""
        if last is not None:
            return self.copy.insert_after(last)
        return self.copy.as_default() if self._first is None else self.copy.insert_before(self._first)


class Keeping:
    """What is kept of a model.

    Args:
        model: the model.
        records: of its reading.
        opset: of the new file.

    Attributes:
        lost: the nodes of the file that are not written as they were, and have operations.
        converted: the nodes that are other ones in the new opset.
        level: of the graph itself.
        parts: copy of a graph → its level.
        specs: name of a tensor of the graph itself → its spec, as it was read.
    """

    level: Level

    def __init__(self, model: Any, records: Records, opset: int) -> None:
        self._model, self._records, self._opset = model, records, opset
        self.lost: list[Record] = []
        self.converted: list[Node] = []
        self.parts: dict[Any, Level] = {}
        self.specs: dict[str, Any] = {}
        self._op = KeptOp()
        self._assigned: set[str] = set()

    def keep(self, graph: Any, copy: Any, is_inner: bool = False) -> Level:
        """Replace the operations of unedited nodes in a copy of their graph by one for each node.

        Args:
            graph: the graph that was read, or one of a branch or a loop in it.
            copy: is edited.
            is_inner: whether it is one of a branch or a loop.
        """
        if not is_inner:
            variables = {op.attrs["variable"] for part in graph.everywhere() for op in part.of_types(ASSIGN)}
            self._assigned = {name for name, one in self._model.variables.items() if one in variables}
        level = self.parts[copy] = Level(self._records.bodies.get(graph), copy, self._op, self._assigned)
        if not is_inner:
            self.level = level
        outputs, done = {*graph.outputs}, dict[Record, None]()
        level.replaced = self._replaced(graph, outputs)
        for record in self._records.all.get(graph, ()):
            if (record.around not in done and self._is_added(record, level, outputs)) or record.around in done:
                done[record] = None
        gone = {operation for record in done for operation in record.states}
        self.lost += [one for one in self._records.all.get(graph, ()) if one not in done and one.states]
        for operation in graph.of_types(SUBGRAPH_CALLS):
            if operation not in gone:
                pairs = zip(operation.subgraphs(), copy.get_operation(operation.name).subgraphs(), strict=True)
                for part, other in pairs:
                    self.keep(part, other, True)
        copies = (
            copy.get_operation(one.name) for one in sorted(gone, key=position, reverse=True) if not one.is_removed
        )
        results = {*copy.outputs}
        for one in copies:
            if not any(tensor.is_used or tensor in results for tensor in one.outputs):
                discard(copy, [one])
        return level

    def _replaced(self, graph: Any, outputs: set[Any]) -> dict[Any, Any]:
        """Tensors that are gone → the ones that all nodes take now."""
        replaced: dict[Any, Any] = {}
        for record in self._records.all.get(graph, ()):
            for old, new in (record.swapped(outputs) or {}).items():
                if old.op.is_removed:
                    replaced[old] = new if replaced.get(old, new) is new else old
        return replaced

    def _is_added(self, record: Record, level: Level, outputs: set[Any]) -> bool:
        """Whether a node is kept; its operation is added."""
        is_own = record.node.body is level.body
        swapped = record.swapped(outputs)
        if is_own and level is self.level:
            self.specs |= record.specs
        if not self.is_unchanged(record.node.proto, record.node.body.versions):
            self.converted.append(record.node)
            return False
        if swapped is None:
            return False
        if not is_own and (not record.states or any(one.ref_attr_name for one in record.node.proto.attribute)):
            return False
        if is_own and record.is_empty:
            level.empty |= dict.fromkeys(record.results, record)
            return True
        try:
            sources = [level.source(name, value, swapped, is_own) for name, value in record.inputs]
            level.add(Kept(record, sources, is_own))
        except Lost:
            return False
        return True

    def is_unchanged(self, proto: Any, versions: Mapping[str, int]) -> bool:
        """Whether a node, with those in its graphs and in the function that it calls, is the same in the new opset."""
        before = versions.get("", 1)
        if before == self._opset:
            return True
        function = self._model.functions.get((proto.domain, proto.op_type, proto.overload))
        if function is not None:
            return all(self.is_unchanged(one, versions_of(function)) for one in function.node)
        if proto.domain in DEFAULT_DOMAINS and not is_same(proto.op_type, before, self._opset):
            return False
        return all(self.is_unchanged(one, versions) for graph in subgraphs(proto) for one in graph.node)


@writes("Kept")
def _kept(place: Place, tensors: Sequence[Ref], *_: Any) -> list[Ref]:
    op: Any = place.operation.op
    kept = op.of(place.operation)
    record, refs, nodes = kept.record, iter(tensors), place.nodes
    proto, writer = record.node.proto, nodes.writer
    message = type(proto)()
    message.CopyFrom(proto)
    names = [name for name, _ in record.inputs]
    texts = [_text(place, name, source, refs) for name, source in zip(names, kept.sources, strict=True)]
    for name, text in zip(names, texts, strict=True):
        if text != name and kept.is_own:
            writer.wished(text, name, record.node.body)
    message.input[:] = texts[: len(proto.input)]
    inner = list(zip(names, texts, strict=True))[len(proto.input) :]
    renamed = {name: text for name, text in inner if text != name}
    for graph in subgraphs(message) if renamed else ():
        rename(graph, renamed)
    if not kept.is_own:
        message.name = unique(record.node.name, writer.names)
        message.output[:] = [name and unique(name, writer.values) for name in message.output]
    nodes.messages.append(message)
    nodes.kept.append(message)
    named = [name for name, old in zip(message.output, proto.output, strict=True) if old in record.results]
    return [Ref(name, tensor.dtype) for name, tensor in zip(named, place.operation.outputs, strict=True)]


def _text(place: Place, name: str, source: Source, refs: Iterator[Ref]) -> str:
    """The name of a value that a kept node takes."""
    if source is None:
        return ""
    if isinstance(source, Held):
        if source.tensor is not None:
            place.nodes.held[source.name] = source.tensor
        return source.name
    if isinstance(source, Weight):
        op: Any = place.operation.op
        node = op.of(place.operation).record.node
        ref = place.nodes.writer.constant(source.array, source.name or node.name)
        is_inside = isinstance(node.body.values.get(name), Weight)  # ONNX Runtime wants some weights there
        return place.nodes.named(ref) if is_inside else ref.text
    return next(refs).text


__all__ = ["Held", "Keeping", "Kept", "KeptOp", "Level"]
