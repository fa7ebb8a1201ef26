"""The graph of sessions, which programs build by and by: parts are cut out of it and run, and it is added to again.

Assigning a variable there is an operation like others: it changes nothing of what is recorded afterwards, and a run
does it if the run computes it.  Each thread may have one such graph that is its default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from dovetail.core.recording import building
from dovetail.core.table import OPS
from dovetail.core.value_kinds import default_graph
from dovetail.core.variable import Variable
from dovetail.graph import trace
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.pickling import described, rebuilt
from dovetail.graph.reach import reach
from dovetail.ops.control.plumbing import EFFECTS
from dovetail.ops.random.generator import Generator


class SessionGraph(Graph):
    """A graph without an end, as those of TensorFlow 1: a `Session` computes what it is asked for.

    `variable.assign(value)` adds an operation and returns its tensor, the variable's next value.  A run that computes
    this tensor, or runs its operation, gives the variable the value when it is over.  Until then the variable is read
    as it was, except by what is recorded under `control_dependencies` on the assignment.

    Example:
        >>> import dovetail as dt
        >>> graph = SessionGraph()
        >>> count = dt.Variable(1.0)
        >>> with graph.as_default():
        ...     step = count.assign_add(2.0)
        ...     twice = count * 2.0
        >>> session = dt.Session(graph)
        >>> session.run(twice), session.run([step, twice]), float(count)
        (np.float32(2.0), [np.float32(3.0), np.float32(2.0)], 3.0)
    """

    arrays_follow = True

    def __init__(self, name: str = "default") -> None:
        super().__init__(name)
        self._in_order: set[Variable] = set()
        self._changes: dict[Operation, Callable[[Any, Any], Any]] = {}
        self._belonging: dict[Operation, list[Operation]] = {}
        self._draws: Counter[Any] = Counter()
        self._assigns = False

    def __bool__(self) -> bool:
        return True  # also while it has no operations

    # copies

    def new_like(self) -> SessionGraph:
        return SessionGraph(self.name)

    def take_notes(self, other: Any, copies: Mapping[Operation, Operation]) -> None:
        self._in_order, self._draws = set(other._in_order), Counter(other._draws)
        self._changes = {copies[a]: change for a, change in other._changes.items() if a in copies}
        self._belonging = {
            copies[op]: [copies[a] for a in assignments if a in copies]
            for op, assignments in other._belonging.items()
            if op in copies
        }

    def __reduce__(self) -> Any:
        """As other graphs; of collections, the variables, tensors, operations and words go along."""
        numbers = {op: number for number, op in enumerate(self.operations)}
        variables = {v for found in self._collections.values() for v in found if isinstance(v, Variable)}
        notes = {
            "in_order": list(self._in_order),
            "draws": dict(self._draws),
            "changes": [(numbers[a], change) for a, change in self._changes.items() if a in numbers],
            "belonging": [(numbers[op], [numbers[a] for a in done]) for op, done in self._belonging.items()],
            "first": [(v, v.initial_value.name) for v in variables if v.initial_value is not None],
            "collections": {key: [_named(x) for x in found if _goes(x)] for key, found in self._collections.items()},
        }
        return _rebuilt, (notes, described(self))

    # variables

    def defers(self, variable: Variable) -> bool:
        return not variable.is_counter and variable not in self._in_order

    def assigned_by_runs(self, variable: Variable) -> None:
        """Lets a variable be assigned in program order: each run that reads it gives it the last of its values.

        What is recorded after an assignment reads what was assigned.
        """
        self._in_order.add(variable)

    def initializer(self, variables: Iterable[Variable] | None = None, name: str = "init") -> Operation:
        """An operation that gives variables their first values again, drawn anew where these are random.

        Args:
            variables: made of tensors of this graph; all in the collection "variables", if not given.
            name: what the operation is called.

        Raises:
            ValueError: a variable was not made of a tensor of this graph, or that was removed.

        Source: `tf.compat.v1.global_variables_initializer`, `tf.compat.v1.variables_initializer`.

        Example:
            >>> import dovetail as dt
            >>> import numpy as np
            >>> graph = SessionGraph()
            >>> w = dt.Variable(graph.constant(np.array(3.0)))
            >>> start = graph.initializer()
            >>> w.assign(5.0).assign_add(1.0).numpy(), start.run(), w.numpy()
            (array(6.), None, array(3.))
        """
        assignments = []
        for variable in self.get_collection("variables") if variables is None else variables:
            if variable.initial_value is None:
                raise ValueError(f"{variable.name!r} was not made of a graph tensor, which could be computed again.")
            self.check_tensor(variable.initial_value)
            value = trace.to_graph(variable.initial_value, variable.dtype, self, OPS["AssignVariableOp"])
            assignments.append(trace.add_assignment(self, variable, value))
        return self.group(*assignments, name=name)

    def note_change(self, assignment: Operation, change: Callable[[Any, Any], Any]) -> None:
        """An assignment gives a variable what `change` makes of its value; several of them in one run add up."""
        self._changes[assignment] = change

    def change_of(self, assignment: Operation) -> tuple[Callable[[Any, Any], Any], GraphTensor] | None:
        """For an assignment that changes the value by another: how, and by which tensor."""
        change, inputs = self._changes.get(assignment), assignment.inputs[0].op.inputs
        return None if change is None or len(inputs) != 2 else (change, inputs[1])

    def note_belonging(self, operation: Operation, assignment: Operation) -> None:
        """An assignment is done whenever an operation is computed, in whose branch or body it stands."""
        self._belonging.setdefault(operation, []).append(assignment)

    def done_with(self, operations: Iterable[Operation]) -> list[Operation]:
        operations = list(operations)
        read = {op.attrs["variable"] for op in operations if op.type == "ReadVariableOp"}
        ordered = [self.state.last[v] for v in read if v in self.state.last and not self.defers(v)]
        return ordered + [a for op in operations for a in self._belonging.get(op, ()) if not a.is_removed]

    @contextmanager
    def control_dependencies(self, operations: Iterable[Operation | GraphTensor]) -> Iterator[None]:
        """Operations added inside the `with` block run after these; variables that these assign are read as assigned.

        Args:
            operations: operations, and tensors that stand for theirs.

        Raises:
            ValueError: one is of another graph, or was removed.

        Source: `tf.Graph.control_dependencies`.

        Example:
            >>> import dovetail as dt
            >>> graph, count = SessionGraph(), dt.Variable(1.0)
            >>> with graph.as_default():
            ...     step = count.assign_add(2.0)
            ...     with graph.control_dependencies([step.op]):
            ...         after = dt.ops.identity(count)
            >>> dt.Session(graph).run(after)
            np.float32(3.0)
        """
        operations = list(operations)
        with super().control_dependencies(operations):
            found = [op for op in reach(operations) if op.type in EFFECTS] if self._assigns else []
            updated = {op.attrs["variable"]: op.outputs[0] for op in found if self.defers(op.attrs["variable"])}
            values, unread = self.state.values, self.state.unread
            outside = {variable: values[variable] for variable in updated if variable in values}
            values.update(updated)
            unread.update(updated)
            try:
                yield
            finally:
                for variable in updated:
                    values.pop(variable, None)
                    unread.discard(variable)
                values.update(outside)

    def add(self, op: Any, *args: Any, **kwargs: Any) -> Operation:
        self._assigns = self._assigns or op.name in EFFECTS
        return super().add(op, *args, **kwargs)

    # random numbers

    def key(self, seed: int, use: Any = None) -> Any:
        """A random key that is another one each time the graph is run, and in each step of a loop.

        Args:
            seed: an integer, where the sequence of keys starts.
            use: what the key is for; several draws with one seed, for the same use, have sequences of their own.
        """
        draw = self._draws[seed, use]
        self._draws[seed, use] += 1
        generator = Generator(seed + (draw << 32))
        with self.as_default() if trace.current_graph() is None else nullcontext():
            return generator.next_key()


def _goes(x: Any) -> bool:
    return isinstance(x, (Variable, GraphTensor, Operation, str))


def _named(x: Any) -> Any:
    """What stands in a collection, without the graph."""
    return (type(x), x.name) if isinstance(x, (GraphTensor, Operation)) else x


def _rebuilt(notes: dict[str, Any], description: tuple[Any, ...]) -> SessionGraph:
    """A session graph from what `__reduce__` gave."""
    graph: Any = partial(rebuilt, make=SessionGraph)(*description)
    operations = graph.operations
    graph._in_order, graph._draws = set(notes["in_order"]), Counter(notes["draws"])
    graph._changes = {operations[number]: change for number, change in notes["changes"]}
    graph._belonging = {operations[op]: [operations[a] for a in done] for op, done in notes["belonging"]}
    for variable, name in notes["first"]:
        variable.initial_value = graph.get_tensor(name)
        variable.adopted(graph)
    for key, found in notes["collections"].items():
        known = [graph.as_graph_element(x[1]) if isinstance(x, tuple) else x for x in found]
        graph.get_collection_ref(key)[:] = known
    return graph


def recording_graph() -> SessionGraph | None:
    """The session graph that ops on symbolic variables are recorded in now; None where values are computed or traced.

    It is the outermost graph that is being built, or else this thread's default graph while no tape records.
    """
    current = trace.current_graph()
    outermost = default_graph() if current is None else current.outermost
    return outermost if isinstance(outermost, SessionGraph) else None


def open_default_graph() -> SessionGraph:
    """The session graph that is being built, or this thread's default one, opened now if it was not open."""
    graph = recording_graph() or building.default
    if graph is None:
        graph = building.default = SessionGraph()
    return graph
