"""Dead assignments: takes out those that nobody can see.

A variable is read at the start of a call and gets its new value at the end, so of several assignments only the last
one counts, and none that gives back what was read.
"""

from __future__ import annotations

from typing import Any

from dovetail.graph.ir import Graph, Operation
from dovetail.passes.base import needs


@needs({"AssignVariableOp"})
def remove_dead_assignments(graph: Graph) -> int:
    """Removes assignments that are overwritten or change nothing; who takes their result takes the value itself.

    Returns:
        How many were removed.
    """
    last: dict[Any, Operation] = {}
    assignments = graph.of_types(["AssignVariableOp"])
    for op in assignments:
        last[op.attrs["variable"]] = op
    dead = [op for op in assignments if last[op.attrs["variable"]] is not op or _gives_back(op)]
    for op in dead:
        graph.rewire(op.outputs[0], op.inputs[0])
    graph.discard(dead)
    return len(dead)


def _gives_back(op: Operation) -> bool:
    source = op.inputs[0].op
    return source.op.name == "ReadVariableOp" and source.attrs["variable"] is op.attrs["variable"]
