"""Variables become arguments: a plan reads and writes them itself, and compiles functions of arrays."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.graph.base import add_input_at
from dovetail.graph.unchecked import discard, rewire


class Lifted(NamedTuple):
    """The variables of a graph that became inputs and outputs.

    Attributes:
        only_read: their values are the first inputs after the graph's own.
        changed: read and assigned; their values are the inputs after these, and their new values the first new outputs.
        only_assigned: their new values are the outputs after the new values of `changed`.
    """

    only_read: list[Variable]
    changed: list[Variable]
    only_assigned: list[Variable]


LIFTED = frozenset(["ReadVariableOp", "AssignVariableOp", "NoOp"])
NO_VARIABLES = Lifted([], [], [])


def lift_variables(graph: Graph) -> Lifted:
    """Make an input of each variable that is read, and an output of each value that is assigned.

    Args:
        graph: the graph to edit: it reads each variable once, and assigns it once, and has no control inputs.
    """
    if LIFTED.isdisjoint(graph.by_type):
        return NO_VARIABLES
    read = {op.attrs["variable"]: op for op in graph.of_types(("ReadVariableOp",))}
    written = {op.attrs["variable"]: op for op in graph.of_types(("AssignVariableOp",))}
    only_read, changed = [v for v in read if v not in written], [v for v in read if v in written]
    with graph.replacing() as replace:
        for op in (read[v] for v in (*only_read, *changed)):
            replace(op)
            rewire(graph, op.outputs[0], add_input_at(graph, len(graph.inputs), op.outputs[0].spec, op.name))
    for op in written.values():
        rewire(graph, op.outputs[0], op.inputs[0])
    only_assigned = [v for v in written if v not in read]
    graph.outputs = [*graph.outputs, *(written[v].inputs[0] for v in (*changed, *only_assigned))]
    discard(graph, [*read.values(), *written.values(), *graph.find("NoOp")])
    return Lifted(only_read, changed, only_assigned)
