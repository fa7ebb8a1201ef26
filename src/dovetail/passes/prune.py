"""Pruning: takes out what neither an output nor an effect needs."""

from __future__ import annotations

from dovetail.graph.ir import Graph, Operation

EFFECTS = ("AssignVariableOp",)


def prune(graph: Graph) -> int:
    """Removes dead operations; inputs stay, used or not.

    Returns:
        How many were removed.
    """
    needed: set[Operation] = set()
    todo = [t.op for t in (*graph.outputs, *graph.inputs)]
    todo += [op for op in graph.operations if op.type in EFFECTS]
    while todo:
        op = todo.pop()
        if op not in needed:
            needed.add(op)
            todo += [t.op for t in op.inputs]
            todo += op.control_inputs
    dead = [op for op in graph.operations if op not in needed]
    graph.discard(dead)
    return len(dead)
