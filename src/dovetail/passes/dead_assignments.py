"""Dead assignments: the removal of assignments that have no effect.

A program reads a variable at the start of a call, and gives it its new value at the end.  So of several assignments
only the last one counts, and an assignment of the value that was read has no effect.
"""

from __future__ import annotations

from typing import Any

from dovetail.edit.graph import Graph, Operation
from dovetail.graph.pass_edits import discard, rewire
from dovetail.passes.base import needs


@needs({"AssignVariableOp"})
def remove_dead_assignments(graph: Graph) -> int:
    """Remove assignments that are overwritten or change nothing; users of their results take the values themselves.

    Returns:
        The number of removed assignments.
    """
    last: dict[Any, Operation] = {}
    assignments = graph.of_types(["AssignVariableOp"])
    for op in assignments:
        last[op.attrs["variable"]] = op
    dead = [op for op in assignments if last[op.attrs["variable"]] is not op or _gives_back(op)]
    for op in dead:
        rewire(graph, op.outputs[0], op.inputs[0])
    discard(graph, dead)
    return len(dead)


def _gives_back(op: Operation) -> bool:
    source = op.inputs[0].op
    return source.op.name == "ReadVariableOp" and source.attrs["variable"] is op.attrs["variable"]
