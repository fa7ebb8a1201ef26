"""What a pass is: a function Graph → number of changes, which edits the graph it is given.

The plan owns the graph it optimises (a copy of what was traced), so passes edit in place; each keeps the graph valid:
producers and consumers agree, operations stand in topological order, effects stay.  A pass looks at one graph; `run`
takes it into the subgraphs of control flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail.graph.ir import Graph, Operation

Pass = Callable[[Graph], int]


def run(graph: Graph, passes: Sequence[Pass], rounds: int = 1) -> int:
    """Runs passes one after the other on the subgraphs and the graph itself, until they change nothing.

    Args:
        graph: is edited.
        passes: in this order.
        rounds: how often at most.

    Returns:
        How many changes they made in all.
    """
    total = 0
    for _ in range(rounds):
        changes = sum(apply(part) for part in (*graph.subgraphs(), graph) for apply in passes)
        total += changes
        if not changes:
            break
    return total


def sweep(graph: Graph, visit: Callable[[Operation], int]) -> int:
    """Visits each operation that is needed, in program order.

    What a visit adds comes to stand before the operation it visits, and takes after it.

    Returns:
        The sum of what the visits return.
    """
    changes = 0
    kept = {t.op for t in graph.outputs}
    with graph.replacing() as replace:
        for op in graph.operations:
            if op not in kept and not op.is_kept and not any(t.is_used for t in op.outputs):
                continue
            replace(op)
            changes += visit(op)
    return changes
