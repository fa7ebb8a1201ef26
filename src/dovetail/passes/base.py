"""What a pass is: a function Graph → number of changes, which edits the graph it is given.

The plan owns the graph it optimises (a copy of what was traced), so passes edit in place; each keeps the graph valid:
producers and consumers agree, operations stand in topological order, effects stay.
"""

from __future__ import annotations

from collections.abc import Callable

from dovetail.graph.ir import Graph, Operation

Pass = Callable[[Graph], int]


def run(graph: Graph, passes: list[Pass]) -> int:
    """Runs passes one after the other; how many changes they made in all."""
    return sum(apply(graph) for apply in passes)


def sweep(graph: Graph, visit: Callable[[Operation], int]) -> int:
    """Visits each operation in program order; what a visit adds comes to stand before the operation it visits.

    Returns:
        The sum of what the visits return.
    """
    changes = 0
    for op in graph.operations:
        with graph._insert(op):
            changes += visit(op)
    return changes
