"""Records of a reading: the operations that each node became, so that untouched nodes are written as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.core.base.scopes import scopes
from dovetail.formats.nodes.states import State
from dovetail.graph.operation import Operation

if TYPE_CHECKING:
    from dovetail.formats.tensorflow.read_nodes import Body

SHARED = ("Placeholder", "ReadVariableOp")  # types of operations that belong to no node
LOOPS = ("While", "StatelessWhile")


class Record:
    """A node that was read into the graph itself, not into a branch or a loop.

    Attributes:
        body, name: the nodes around it, and its name among them.
        around: the record of the call that it is in, or None.
        inputs: the references of its data inputs → their values.
        values: its results.
        operations: the operations that it alone became; `parts` have the others.
        parts: the records inside of it.
        inner: the nodes of the function that it calls, or None.
    """

    __slots__ = ("around", "body", "inner", "inputs", "name", "operations", "parts", "values")

    def __init__(self, body: Body, name: str, around: Record | None) -> None:
        self.body, self.name, self.around = body, name, around
        self.inputs: list[Any] = []
        self.values: list[Any] = []
        self.operations: list[Operation] = []
        self.parts: list[Record] = []
        self.inner: Body | None = None

    @property
    def node(self) -> Any:
        """The message."""
        return self.body.nodes[self.name]

    def all_operations(self) -> Iterator[Operation]:
        """The operations of the node, and of the function that it calls."""
        stack = [self]
        while stack:
            record = stack.pop()
            yield from record.operations
            stack += record.parts


class Records:
    """The records of one reading.

    Attributes:
        all: the records, each behind the records of its inputs.
        owner: operation → the innermost record of it.
        origin: tensor → the innermost record that has it as a result.
        states: the operations as they were when the reading ended.
        functions: id of the nodes of a function → its name.
        top: the nodes of the function that was read, if no node called it.
    """

    def __init__(self) -> None:
        self.all: list[Record] = []
        self.owner: dict[Operation, Record] = {}
        self.origin: dict[Any, Record] = {}
        self.states: Mapping[Operation, State] = {}
        self.functions: dict[int, str] = {}
        self.top: Body | None = None
        self._graph: Any = None
        self._bodies: dict[int, Body] = {}  # by their ids, of the nodes that are recorded
        self._at: dict[tuple[int, str], Record] = {}
        self._open: list[Record] = []

    def begin(self, graph: Any) -> None:
        """Begin to note the operations that a graph gets."""
        self._graph, graph.changed_ops = graph, []

    def end(self) -> None:
        """End the reading."""
        self._graph.changed_ops = None
        self._graph, graph = None, self._graph
        self.states = {operation: State.of(operation) for operation in graph.operations}

    def find(self, body: Body, name: str) -> Record | None:
        """The record of a node; None if it was not read into the graph itself."""
        return self._at.get((id(body), name))

    @contextmanager
    def reading(self, body: Body, name: str, inputs: list[Any]) -> Iterator[list[Any]]:
        """Record the node that the `with` block reads; the block adds its results to the list."""
        results: list[Any] = []
        graph = self._graph
        if graph is None or graph is not scopes().graph or (self._open and id(body) not in self._bodies):
            yield results  # the nodes of a branch or a loop, which are read for their shapes
            return
        self._bodies[id(body)] = body
        record = Record(body, name, self._open[-1] if self._open else None)
        first = len(graph.changed_ops)
        self._open.append(record)
        try:
            yield results
        finally:
            self._open.pop()
        record.inputs, record.values = inputs, results
        for operation in graph.changed_ops[first:]:
            if operation not in self.owner and operation.type not in SHARED:
                self.owner[operation] = record
                record.operations.append(operation)
        if record.around is not None:
            record.around.parts.append(record)
        self.all.append(record)
        self._at[id(body), name] = record
        for value in results:
            if hasattr(value, "op"):
                self.origin.setdefault(value, record)

    def call(self, body: Body, function: str) -> None:
        """Note that the node that is being read calls a function with these nodes."""
        if self._graph is not None and self._graph is scopes().graph:
            if not self._open:
                self.top = body
            elif self._open[-1].node.op in LOOPS:
                return
            else:
                self._open[-1].inner = body
            self.functions[id(body)], self._bodies[id(body)] = function, body
