"""Reach: which operations depend on which; the one walk over a graph, which visits nothing beyond its results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.order import position

Node = TypeVar("Node", bound=Hashable)


def reach(
    starts: Iterable[GraphTensor | Operation],
    *,
    forward: bool = False,
    control: bool = True,
    given: Iterable[GraphTensor] = (),
    outside: Callable[[Operation], bool] | None = None,
) -> list[Operation]:
    """The operations that some tensors or operations need; if `forward`, the operations that need them.

    Args:
        starts: of one graph; operations are among the results.
        forward: whether to go from a tensor to its consumers, instead of to its maker.
        control: whether control inputs count, too.
        given: tensors at which the walk stops; it does not reach placeholders among them, not even by control inputs.
        outside: says at which operations to stop; these are not among the results.

    Returns:
        The operations in program order, each once.
    """
    known = set(given)
    stops = {t.op for t in known if t.op.type == "Placeholder"}

    def beyond(tensors: Iterable[GraphTensor]) -> list[Operation]:
        if forward:
            return [user for t in tensors if t not in known for user in t._uses]
        return [t.op for t in tensors if t not in known]

    def inside(operations: list[Operation]) -> list[Operation]:
        return [op for op in operations if op not in stops and (outside is None or not outside(op))]

    def following(operation: Operation) -> list[Operation]:
        near = beyond(operation.outputs if forward else operation.inputs)
        waiting = operation._control_outputs if forward else operation._control_inputs
        return inside([*near, *waiting] if control and waiting else near)

    starts = list(starts)
    operations = [start for start in starts if isinstance(start, Operation)]
    tensors = [start for start in starts if isinstance(start, GraphTensor)]
    return sorted(walk(inside(operations + beyond(tensors)), following), key=position)


def waited_for(operation: Operation) -> list[Operation]:
    """The operations that one waits for, without earlier assignments if it is an assignment.

    Instead of these, and of operations without results, it gives the operations that they wait for.
    """

    def is_passed(other: Operation) -> bool:
        return operation.type == other.type == "AssignVariableOp" or not other.outputs

    reached = walk(operation.control_inputs[::-1], lambda op: op.control_inputs[::-1] if is_passed(op) else ())
    return [op for op in reached if not is_passed(op)]


def walk(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """All nodes that can be reached from `starts`, each once, after the nodes that follow it."""
    nodes: list[Node] = []
    is_done: dict[Node, bool] = {}  # of visited nodes
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node not in is_done:
            is_done[node] = False
            todo.append(node)
            todo += following(node)
        elif not is_done[node]:
            is_done[node] = True
            nodes.append(node)
    return nodes
