"""Reach: which operations depend on which; the one walk over a graph, which looks at nothing beyond what it finds."""

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
    """The operations that some tensors or operations need; forward, those that need them.

    Args:
        starts: of one graph; operations are among the results.
        forward: whether to go from a tensor to those that take it, in place of to the one that makes it.
        control: whether an operation needs those that it waits for.
        given: tensors beyond which nothing is looked for; at their placeholders not even where an operation waits.
        outside: says at which operations to stop; they are not among the results.

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
    """The operations that one waits for; of an assignment, instead of earlier assignments, what these wait for.

    Operations without results stand for what they wait for.
    """

    def is_passed(other: Operation) -> bool:
        return operation.type == other.type == "AssignVariableOp" or not other.outputs

    found = walk(operation.control_inputs[::-1], lambda op: op.control_inputs[::-1] if is_passed(op) else ())
    return [op for op in found if not is_passed(op)]


def walk(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """All that is reached from some nodes by going on to what follows; each once, after what follows it."""
    found: list[Node] = []
    is_done: dict[Node, bool] = {}  # of those that were met
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node not in is_done:
            is_done[node] = False
            todo.append(node)
            todo += following(node)
        elif not is_done[node]:
            is_done[node] = True
            found.append(node)
    return found
