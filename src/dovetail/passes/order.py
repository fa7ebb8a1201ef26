"""Order: puts operations into a topological order that stays as near to the program's as it can."""

from __future__ import annotations

from dovetail.graph.ir import Graph, Operation


def sort_operations(graph: Graph) -> int:
    """Sorts the operations so that each stands after what it needs; edits may have appended some at the end.

    Returns:
        How many operations changed their place.
    """
    order: list[Operation] = []
    done: set[Operation] = set()
    before = graph.operations
    for start in before:
        todo = [(start, False)]
        while todo:
            op, ready = todo.pop()
            if ready:
                order.append(op)
            elif op not in done:
                done.add(op)
                todo.append((op, True))
                needs = [t.op for t in op.inputs] + op.control_inputs
                todo += [(need, False) for need in reversed(needs) if need not in done]
    graph.reorder(order)
    return sum(a is not b for a, b in zip(order, before, strict=True))
