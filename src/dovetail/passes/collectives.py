"""Collectives in program order: all ranks must meet in the same one, so each waits for the one before it."""

from __future__ import annotations

from itertools import pairwise

from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.edit.graph import Graph, Operation
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS


def order_collectives(graph: Graph) -> int:
    """Let each collective, and each branch or loop that has one, wait for the one before it.

    Returns:
        The number of control inputs that were added.
    """
    meeting = [op for op in graph.operations if (op.type in SUBGRAPH_CALLS and _meets(op)) or op.type in COLLECTIVES]
    for before, op in pairwise(meeting):
        op.wait_for([before])
    return max(0, len(meeting) - 1)


def _meets(operation: Operation) -> bool:
    """Whether a subgraph of an operation has a collective."""
    return any(
        not part.by_type.keys().isdisjoint(COLLECTIVES)
        for graph in operation.subgraphs()
        for part in graph.everywhere()
    )
