"""Control inputs become data: a waiting operation takes its arguments from a barrier on the result that it waits for.

Passes, and engines that compile whole programs, look at data alone to see the operations that must run.  With a
barrier, they keep each operation that another one waits for, even if they change the waiting one.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.graph_scopes import made_for_operation
from dovetail.graph.order import position
from dovetail.graph.reach import waited_for


def control_inputs_to_data(graph: Graph) -> int:
    """Replace the control inputs of a graph by data.

    Returns:
        The number of operations that had control inputs.
    """
    waiting = [(op, waited_for(op)) for op in graph.operations if op._control_inputs]
    for op, _ in waiting:
        for other in op.control_inputs:
            op.remove_control_input(other)
    for op, others in waiting:
        before = [other.outputs[0] for other in others if other.outputs]
        if before:
            _wait(graph, op, before)
    return len(waiting)


def _wait(graph: Graph, op: Operation, before: list[GraphTensor]) -> None:
    if op.inputs:
        with graph.replacing(op):
            behind = _barrier(op.inputs, before)
        for number in range(len(op.inputs)):
            op.set_input(number, behind[number])
    else:  # the operation may run first, but its users may not
        with graph.insert_after(max([op, *(t.op for t in before)], key=position)), made_for_operation(graph, op):
            behind = _barrier(op.outputs, before)
        for old, new in zip(op.outputs, behind, strict=True):
            for user, number in old.uses():
                if user is not new.op:
                    user.set_input(number, new)
            graph.outputs.replace(old, new)


def _barrier(tensors: list[GraphTensor], before: list[GraphTensor]) -> list[GraphTensor]:
    """The tensors, delayed until others are computed."""
    behind: Any = ops.optimization_barrier([*tensors, *before])
    return list(behind[: len(tensors)])
