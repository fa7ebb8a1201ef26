"""Probing: outputs that say what values a program computes."""

from __future__ import annotations

from typing import Any

from dovetail.core.recording import record_on
from dovetail.edit.graph import Graph
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.math.compare import isfinite
from dovetail.ops.math.reduce import all as all_of


def add_finite(graph: Graph, ends: int) -> int:
    """Add an output that says whether all floats among the results are finite; add none if there are no floats.

    Args:
        graph: the graph to edit.
        ends: the number of outputs that are results; further ones are not looked at.

    Returns:
        The number of added outputs.
    """
    floats = [t for t in dict.fromkeys(graph.outputs[:ends]) if t.dtype.is_differentiable]
    if not floats:
        return 0
    with record_on(()), graph.as_default():
        found: Any = all_of(isfinite(floats[0]))
        for tensor in floats[1:]:
            found = logical_and(found, all_of(isfinite(tensor)))
    graph.outputs = [*graph.outputs, found]
    return 1
