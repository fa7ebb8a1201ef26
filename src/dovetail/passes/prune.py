"""Pruning: takes out what neither an output nor an effect needs."""

from __future__ import annotations

from dovetail.graph.ir import Graph


def prune(graph: Graph) -> int:
    """Removes dead operations; inputs stay, used or not.

    Returns:
        How many were removed.
    """
    return graph.prune()
