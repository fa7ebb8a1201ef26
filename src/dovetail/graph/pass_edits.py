"""Edits of passes, unchecked: the caller knows that the graph stays valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dovetail.graph.journal import note
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.order import position

if TYPE_CHECKING:
    from dovetail.graph.base import GraphBase


def rewire(graph: GraphBase, old: GraphTensor, new: GraphTensor) -> None:
    """Do `replace_all_uses` unchecked, for passes, whose replacements precede the operations they replace."""
    for operation, index in old.uses():
        operation.set_input(index, new)
    graph.outputs.replace(old, new)


def supersede(graph: GraphBase, operation: Operation, tensors: Sequence[GraphTensor]) -> None:
    """Rewire all outputs of an operation; operations that wait for it then wait for the makers of the tensors."""
    for old, new in zip(operation.outputs, tensors, strict=True):
        rewire(graph, old, new)
    for waiter in operation.control_outputs:
        waiter.remove_control_input(operation)
        waiter.wait_for(dict.fromkeys(t.op for t in tensors))


def discard(graph: GraphBase, operations: Iterable[Operation]) -> None:
    """Remove operations that nothing else uses; for passes, which have checked that."""
    gone = set(operations)
    if gone:
        graph.check_changeable()
    before, graph.inputs = graph.inputs, [t for t in graph.inputs if t.op not in gone]
    note(lambda: setattr(graph, "inputs", before))
    for operation in sorted(gone, key=position, reverse=True):
        graph._detach(operation)
