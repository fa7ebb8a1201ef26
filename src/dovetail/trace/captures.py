"""Captures of branches and bodies of loops from the graph around them, after their operation was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.op import Op
from dovetail.graph.base import add_input_at
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import CAPTURED, GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def subgraph_names(operation: Operation) -> list[str]:
    """The parameters of an operation that are graphs."""
    parts = operation.subgraphs()
    return [name for name, value in operation.attrs.items() if any(value is part for part in parts)]


def holder_of(graph: Graph, what: Any) -> Operation | None:
    """The operation that holds a graph, so that it can be given more inputs; None if none does.

    Args:
        graph: the graph.
        what: the value that it is to be given, for the error.

    Raises:
        ValueError: several operations hold it.
    """
    holders = holders_of(graph)
    if len(holders) > 1:
        names = " and ".join(repr(op.name) for op in holders)
        problem = f"{names} share the graph {graph.name!r}, so it cannot capture {what!r}"
        advice = "edit the copy that op.body() gives."
        raise op_error(ValueError, holders[0].type, f"{problem}; {advice}", where=holders[0].where)
    return holders[0] if holders else None


def capture_into(graph: Graph, holder: Operation, tensor: GraphTensor) -> GraphTensor:
    """The input of a graph for a tensor of the graph around it; a new one if there is none.

    Args:
        graph: is inside `holder`, and inside no other operation.
        holder: takes the tensor, too, from then on.
        tensor: in the holder's graph.

    Raises:
        ValueError: the tensor depends on the holder.
    """
    index = holder.op.index_of(CAPTURED[holder.type])
    taken = holder.args[index]
    first = len(graph.inputs) - len(taken)
    for number, known in enumerate(taken):
        if known is tensor:
            return graph.inputs[first + number]
    hooks.order_before(holder.graph, tensor.op, [holder])
    holder.insert_input(index, tensor)
    for name in subgraph_names(holder):
        part = hooks.own_subgraph(holder, name)
        add_input_at(part, len(part.inputs), tensor.spec, tensor.op.name.rpartition("/")[2])
    return graph.inputs[-1]


def check_open(graph: Graph, what: Any, op: Op | None) -> None:
    """Raise an error if a subgraph cannot be given more inputs, since its operation was made."""
    if graph.is_traced:
        problem = (
            f"{what!r} is outside of the subgraph {graph.name!r}, whose operation gives it certain inputs; use one of "
            f"them ({', '.join(t.name for t in graph.inputs)}), or build the loop or branch again."
        )
        raise op_error(ValueError, op.name if op else "Capture", problem)
