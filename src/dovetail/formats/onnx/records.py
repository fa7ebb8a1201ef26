"""Records of a reading: the operations that each node became, so that untouched nodes are written as they were."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.core.base.scopes import scopes
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.states import State
from dovetail.formats.onnx.nodes import Body, Node, Weight, taken_inside, tensors_of
from dovetail.graph.operation import Operation
from dovetail.ops.control.plumbing import NEVER_PRUNED, PRINTS

SHARED = ("Placeholder", "ReadVariableOp")  # types of operations that belong to no node


class Record:
    """A node that was read into a graph.

    Attributes:
        node: the node.
        around: the record of the node, a call or one with graphs, among whose nodes it was read; or None.
        inputs: names and values of its inputs, then of those that only its graphs take; the value is the tensor that a
            weight was taken as, or a tensor of the graph itself in place of one around it.
        results: name of a result → its value.
        states: the operations that it became, as they were.
        specs: name of a result that is a tensor → its spec.
    """

    __slots__ = ("around", "inputs", "node", "results", "specs", "states")

    def __init__(self, node: Node, around: Record | None) -> None:
        self.node, self.around = node, around
        self.inputs: list[tuple[str, Any]] = []
        self.results: dict[str, Any] = {}
        self.states: dict[Operation, State] = {}
        self.specs: dict[str, Any] = {}

    def fill(self, graph: Any, results: list[Any], made: list[Operation]) -> None:
        """Note what the node became in a graph."""
        node, proto = self.node, self.node.proto
        own = [(name, node.taken.get(i, node.inputs[i])) for i, name in enumerate(proto.input)]
        inner = [(name, node.body.find(name)) for name in taken_inside(proto)]
        self.inputs = [(name, _inside(graph, value)) for name, value in (*own, *inner)]
        missing = [None] * (len(proto.output) - len(results))
        self.results = {name: value for name, value in zip(proto.output, [*results, *missing], strict=False) if name}
        self.specs = {name: value.spec for name, value in self.results.items() if is_tensor(value)}
        for one in made:
            if one.type not in SHARED and not one.is_removed:
                self.states[one] = State.of(one)

    @property
    def is_empty(self) -> bool:
        """Whether its results are tensors that it takes, as those of a Dropout are."""
        values = self.results.values()
        return bool(values) and all(is_tensor(one) and one.op not in self.states for one in values)

    def swapped(self, outputs: Collection[Any]) -> dict[Any, Any] | None:
        """The tensors that the node took → the ones that it takes now; None if its operations are edited.

        Args:
            outputs: of the graph.
        """
        given = {tensor for _, value in self.inputs for tensor in tensors_of(value)}
        results = {tensor for value in self.results.values() for tensor in tensors_of(value)}
        now = dict[Any, Any]()
        inner = [t for one in self.states for t in one.outputs if t not in results]
        if any(t in outputs or any(user not in self.states for user in t.consumers()) for t in inner):
            return None
        for one, state in self.states.items():
            if one.is_removed and one.type in (*NEVER_PRUNED, *PRINTS):
                return None
            if not one.is_removed and not (state.is_kept(one) and state.swapped(one, given, now)):
                return None
        return now


class Records:
    """The records of one reading.

    Attributes:
        all: the graph itself, or one of a branch or a loop → its records, each behind those of its inputs, and of a
            node around it.
        bodies: such a graph → the nodes that it was read from.
    """

    def __init__(self) -> None:
        self.all: dict[Any, list[Record]] = {}
        self.bodies: dict[Any, Body] = {}
        self._graphs: list[Any] = []  # whose operations are noted
        self._open: list[Record] = []

    def begin(self, graph: Any, body: Body | None = None) -> None:
        """Begin to note the operations that a graph gets, and the graphs inside."""
        graph.changed_ops = []
        self._graphs.append(graph)
        if body is not None:
            self.bodies[graph] = body

    def end(self) -> None:
        """End the reading of the first graph."""
        for graph in self._graphs:
            graph.changed_ops = None
        parts = {*self._graphs[0].everywhere()}  # others were read for their shapes
        self.all = {graph: found for graph, found in self.all.items() if graph in parts}
        self.bodies = {graph: body for graph, body in self.bodies.items() if graph in parts}
        self._graphs = []

    @contextmanager
    def reading(self, node: Node) -> Iterator[list[Any]]:
        """Record the node that the `with` block reads; the block adds its results to the list."""
        results: list[Any] = []
        graph: Any = scopes().graph
        if self._graphs and graph.changed_ops is None:
            self.begin(graph, node.body)
        changed = graph.changed_ops if self._graphs else None
        if changed is None:
            yield results
            return
        record, first = Record(node, self._open[-1] if self._open else None), len(changed)
        known = self.all.setdefault(graph, [])
        place = len(known)
        known.append(record)
        self._open.append(record)
        try:
            yield results
        except BaseException:
            del known[place:]
            raise
        finally:
            self._open.pop()
        record.fill(graph, results, list(dict.fromkeys(changed[first:])))


def _inside(graph: Any, value: Any) -> Any:
    """A value of a graph around a branch or a loop, as its graph has it."""
    if not is_tensor(value) or value.op.graph is graph:
        return value
    return Weight(value.op.name, value.op.attrs["value"]) if value.op.type == "Const" else graph.captures.get(value, ())
