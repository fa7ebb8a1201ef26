"""The graph of sessions, which programs build step by step: sessions cut parts out of it and run them.

Assigning a variable there is an ordinary operation: it changes nothing for operations that are recorded afterwards, and
a run does it only if the run computes it.  Each thread may have one such graph as its default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.core.base.scopes import DEFAULT_GRAPH
from dovetail.core.base.table import OPS
from dovetail.core.values.value_kinds import default_graph
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import GraphTensor, Operation
from dovetail.graph.attributes import Beside, Form, decode, encode, register
from dovetail.graph.dialect import Dialect
from dovetail.graph.document import GRAPH, described, graph_of
from dovetail.graph.naming import new_scope
from dovetail.graph.nesting import outermost_of
from dovetail.ops.random.generator import Generator
from dovetail.trace import trace
from dovetail.trace.variables import add_assignment


class SessionGraph(TensorFlowGraph):
    """A graph without an end, as in TensorFlow 1: a `Session` computes the parts that it is asked for.

    `variable.assign(value)` adds an operation and returns its tensor, the variable's next value.  A run that computes
    this tensor, or runs its operation, assigns the value.  A run makes its assignments in program order.  It reads a
    variable at its start, or right after the last assignment for which the read waits by `control_dependencies`.

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

    dialect = Dialect(arrays_follow=True, records_effects=True, follows_engine=True, ignores_case=True)

    def __init__(self, name: str = "default") -> None:
        super().__init__(name)
        self._draws: Counter[Any] = Counter()

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Begin the names of operations that are added inside the `with` block with the name; see `new_scope`.

        Source: `tf.Graph.name_scope`.

        Example:
            >>> graph = SessionGraph()
            >>> with graph.name_scope("layer") as first:
            ...     pass
            >>> with graph.name_scope("layer") as second, graph.name_scope("sum") as inner:
            ...     first, second, inner
            ('layer/', 'layer_1/', 'layer_1/sum/')
        """
        with self.at_scope(new_scope(self, name)) as scope:
            yield scope

    # copies

    def __copy__(self) -> SessionGraph:
        copy: Any = super().__copy__()
        copy._draws = Counter(self._draws)
        return copy

    def __reduce__(self) -> Any:
        """Pickle like other graphs; from collections, keep the variables, tensors, operations and strings."""
        return _rebuilt, (_notes(self), described(self))

    # variables

    def initializer(self, variables: Iterable[Variable] | None = None, name: str = "init") -> Operation:
        """An operation that gives variables their first values again, with new draws for random ones.

        Args:
            variables: made from tensors of this graph; all in the collection "variables", if not given.
            name: the name of the operation.

        Raises:
            ValueError: a variable was not made from a tensor of this graph, or that tensor was removed.

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
                raise ValueError(
                    f"{variable.name!r} was not made from a graph tensor, so its first value cannot be computed again."
                )
            self.check_tensor(variable.initial_value)
            value = trace.to_graph(variable.initial_value, variable.dtype, self, OPS["AssignVariableOp"])
            assignments.append(add_assignment(self, variable, value))
        return self.group(*assignments, name=name)

    # random numbers

    def key(self, seed: int, use: Any = None, is_shared: bool = False) -> Any:
        """A random key that differs on every run of the graph, and in every step of a loop.

        Args:
            seed: an integer that starts the sequence of keys.
            use: the use of the key; several draws with one seed, for the same use, have separate sequences.
            is_shared: whether they have equal sequences instead, the first one.
        """
        draw = 0 if is_shared else self._draws[seed, use]
        self._draws[seed, use] += 1
        generator = Generator(seed + (draw << 32))
        with self.as_default() if trace.current_graph() is None else nullcontext():
            return generator.next_key()


# -- as data ----------------------------------------------------------------------------------------------------------


def _notes(graph: SessionGraph) -> dict[str, Any]:
    """The draws, the first values of variables, and the collections of a graph."""
    variables = {v: None for members in graph._collections.values() for v in members if isinstance(v, Variable)}
    return {
        "draws": dict(graph._draws),
        "first": [(v, v.initial_value.name) for v in variables if v.initial_value is not None],
        "collections": {key: [_named(x) for x in members if _goes(x)] for key, members in graph._collections.items()},
    }


def _goes(x: Any) -> bool:
    return isinstance(x, (Variable, GraphTensor, Operation, str))


def _named(x: Any) -> Any:
    """An item of a collection, without the graph: a tensor or an operation is a tuple of its name."""
    return (x.name,) if isinstance(x, (GraphTensor, Operation)) else x


def _rebuilt(notes: dict[str, Any], description: tuple[Any, Beside]) -> SessionGraph:
    """A session graph from the data of `__reduce__`."""
    graph: Any = graph_of(*description, SessionGraph)
    graph._draws = Counter(notes["draws"])
    for variable, name in notes["first"]:
        variable.initial_value = graph.get_tensor(name)
        variable.adopted(graph)
    for key, members in notes["collections"].items():
        known = [graph.as_graph_element(*x) if isinstance(x, tuple) else x for x in members]
        graph.get_collection_ref(key)[:] = known
    return graph


def _data(graph: SessionGraph, beside: Beside) -> Any:
    data = GRAPH.encode(graph, beside)
    return data if beside.keeps_objects else {"graph": data, "notes": encode(_notes(graph), beside)}


def _of_data(data: Any, beside: Beside) -> Any:
    if isinstance(data, str):
        return GRAPH.decode(data, beside)
    return _rebuilt(decode(data["notes"], beside), (data["graph"], beside))


register(SessionGraph, Form("session graph", _data, _of_data, is_part=True))


def recording_graph() -> SessionGraph | None:
    """The session graph that records ops on symbolic variables now; None if values are computed or traced."""
    current = trace.current_graph()
    outermost = default_graph() if current is None else outermost_of(current)
    return outermost if isinstance(outermost, SessionGraph) else None


def open_default_graph() -> SessionGraph:
    """The session graph that is being built, or this thread's default one, which is opened if it was not open."""
    graph = recording_graph() or DEFAULT_GRAPH.get()
    if graph is None:
        graph = SessionGraph()
        DEFAULT_GRAPH.set(graph)
    return graph
