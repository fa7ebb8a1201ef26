"""Gradients that recompute the operations that `graph.recompute` marked, group by group.

When a gradient first arrives at an operation of a group, the group's operations are copied, behind a barrier that waits
for this gradient.  The gradients of all of them are computed from these copies.  So nothing needs the first results
after their last consumer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.edit.graph import Graph, Operation
from dovetail.edit.transplant import transplant
from dovetail.graph.recompute_groups import RecomputeGroup, by_group, taken_by
from dovetail.trace.trace import current_graph


class Recomputed:
    """The copies that one gradient adds."""

    def __init__(self) -> None:
        self._groups: dict[Graph, dict[RecomputeGroup, list[Operation]]] = {}
        self._copies: dict[RecomputeGroup, dict[Operation, Operation]] = {}

    def of(self, node: Operation, arriving: list[Any]) -> tuple[Operation, list[Any]]:
        """The operation whose results a gradient is computed from, and the gradients that arrive at them.

        Args:
            node: the operation to differentiate.
            arriving: a gradient for each of its results, or None.
        """
        if (
            node.recompute_group is None or node.recompute_group is node.graph.here.recompute_group
        ):  # the group is still open
            return node, arriving
        if node.recompute_group not in self._copies:
            if node.graph not in self._groups:
                self._groups[node.graph] = by_group(node.graph)
            self._copies[node.recompute_group], arriving = _again(
                self._groups[node.graph][node.recompute_group], node.graph, arriving
            )
        return self._copies[node.recompute_group][node], arriving


def _again(
    operations: Sequence[Operation], own: Graph, arriving: Sequence[Any]
) -> tuple[dict[Operation, Operation], list[Any]]:
    """Copy the operations of a group behind a barrier, and return the copies and the gradients behind the barrier."""
    graph = current_graph() or own
    taken = taken_by(operations)
    there = [i for i, gradient in enumerate(arriving) if gradient is not None]
    with graph.as_default():
        behind: Any = ops.optimization_barrier([*taken, *(arriving[i] for i in there)])
    copies = transplant(operations, graph, dict(zip(taken, behind, strict=False))).operations
    for copy in copies.values():
        copy.recompute_group = None
        copy.record_pin(copy.pin.of_gradient)
    late = list(arriving)
    for i, gradient in zip(there, behind[len(taken) :], strict=True):
        late[i] = gradient
    return copies, late
