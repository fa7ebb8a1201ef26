"""Passes: functions Graph → number of changes, which edit their graph.

The plan owns the graph it optimises (a copy of the trace), so passes edit in place.  Each keeps the graph valid:
producers and consumers agree, operations stand in topological order, effects stay.  A pass looks at one graph; `run`
also applies it to the subgraphs of control flow.  In later rounds a `Local` pass looks only at operations near a
change.

A pass that can change nothing is skipped.  Either `needs` names op types, and the graph has none of them; or the pass
changed nothing before, and the graph is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import repeat
from typing import Any, TypeVar

from dovetail.edit.graph import Graph, Operation
from dovetail.edit.inference import holds_shape_values
from dovetail.graph.order import NOWHERE
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS

Pass = Callable[[Graph], int]
Visit = Callable[[Operation], int]
AnyPass = TypeVar("AnyPass", bound=Callable[..., int])
NEAR = 2  # the most steps from an operation to the producers that its visit looks at


def needs(what: Set[str] | Callable[[Graph], bool]) -> Callable[[AnyPass], AnyPass]:
    """Decorator that names the graphs that a pass may change.

    Args:
        what: op types, of which a graph must have one; or (graph) → whether the pass may change it.
    """

    def mark(apply: AnyPass) -> AnyPass:
        apply.needs = what  # type: ignore[attr-defined]
        return apply

    return mark


class Local:
    """A pass that visits operations one by one, and looks at each and at the producers of its inputs; a decorator.

    Args:
        visitor: graph → a function that visits an operation and returns the number of changes.
    """

    def __init__(self, visitor: Callable[[Graph], Visit]) -> None:
        self.visitor = visitor
        self.__name__, self.__doc__ = visitor.__name__, visitor.__doc__

    def __call__(self, graph: Graph, among: Iterable[Operation] | None = None) -> int:
        """Visit all operations, or some of them and the operations near the changes of these visits.

        Returns:
            The number of changes.
        """
        return sweep(graph, self.visitor(graph), None if among is None else _following(graph, among))


def run(graph: Graph, passes: Sequence[Pass], rounds: int = 1) -> int:
    """Run passes on a graph and its subgraphs; see `Passes`."""
    return Passes(graph).run(passes, rounds)


class Passes:
    """A run of passes on a graph, which nothing else edits in the meantime.

    Args:
        graph: the graph to edit.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._touched: list[Operation] = []
        self._seen: dict[tuple[Graph, Pass], tuple[int, int]] = {}  # the state of a graph when a pass began with it
        self._is_done: set[tuple[Graph, Pass]] = set()  # the pass changed nothing in that state

    def run(self, passes: Sequence[Pass], rounds: int = 1) -> int:
        """Run passes one after the other on the subgraphs and the graph itself, until they change nothing.

        Args:
            passes: the passes, in order.
            rounds: the most rounds.

        Returns:
            The number of all changes.
        """
        total, parts = 0, set[Graph]()
        for _ in range(rounds):
            changes = 0
            for part in (*self._graph.subgraphs(), self._graph):
                parts.add(part)
                part.changed_ops = self._touched
                for apply in passes:
                    needed: Any = getattr(apply.func if isinstance(apply, partial) else apply, "needs", None)
                    if needed is None or (needed(part) if callable(needed) else not needed.isdisjoint(part.by_type)):
                        changes += self._applied(apply, part)
            total += changes
            if not changes:
                break
        for part in parts:
            part.changed_ops = None
        return total

    def _applied(self, apply: Pass, part: Graph) -> int:
        """Apply a pass to a graph, in later rounds only near operations touched since; return the number of changes."""
        key, touched = (part, apply), self._touched
        before, now = self._seen.get(key), (part.version, len(touched))
        if before == now and key in self._is_done:
            return 0
        self._seen[key] = now
        if before is not None and isinstance(apply, Local):
            changes = apply(part, [*_near(part, touched[before[1] :]), *part.of_types(SUBGRAPH_CALLS)])
        else:
            changes = apply(part)
        if not changes and now == (part.version, len(touched)):
            self._is_done.add(key)
        return changes


def sweep(graph: Graph, visit: Visit, among: Iterable[Operation] | None = None) -> int:
    """Visit each operation that is needed, in program order.

    Operations that a visit adds come before the visited operation, and inherit its pin, name scope and user's line.

    Args:
        graph: the graph with the operations.
        visit: edits the graph around an operation, and returns the number of changes.
        among: the operations to visit; None for all.

    Returns:
        The number of changes of all visits.
    """
    changes = 0
    kept = {t.op for t in graph.outputs}
    with graph.replacing() as replace:
        for op in graph.operations if among is None else among:
            for tensor in op.outputs:
                if tensor._uses:
                    break
            else:
                if op not in kept and not op.is_kept:
                    continue
            replace(op)
            changes += visit(op)
    return changes


def _following(graph: Graph, among: Iterable[Operation]) -> Iterable[Operation]:
    """Yield operations in program order, with later ones that are near to operations touched by the visits so far."""
    touched = [] if graph.changed_ops is None else graph.changed_ops
    known = set(among)
    todo = [(op._position, id(op), op) for op in known]
    heapify(todo)
    while todo:
        op = heappop(todo)[-1]
        if op._position == NOWHERE:
            continue
        before = len(touched)
        yield op
        for other in _near(graph, touched[before:]) if len(touched) > before else ():
            if other not in known and other._position > op._position:
                known.add(other)
                heappush(todo, (other._position, id(other), other))


def _near(graph: Graph, touched: Sequence[Operation]) -> set[Operation]:
    """The operations whose visits may look at touched ones.

    A change of integers, which may be shapes, reaches all integers that are computed from them.
    """
    distances: dict[Operation, int] = {}
    todo = [(op, NEAR) for op in touched if op.graph is graph]
    while todo:
        op, further = todo.pop()
        if distances.get(op, -1) < further:
            distances[op] = further
            for tensor in op.outputs:
                left = NEAR if tensor.dtype.is_integer and holds_shape_values(tensor) else further - 1
                if left >= 0:
                    todo.extend(zip(tensor._uses, repeat(left)))
    return {op for op in distances if op._position != NOWHERE}
