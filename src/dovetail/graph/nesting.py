"""Nesting: the graphs around a graph, and the operations that hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph
    from dovetail.graph.base import GraphBase
    from dovetail.graph.operation import Operation


def graphs_around(graph: GraphBase) -> list[Graph]:
    """The graphs around this one, the innermost first."""
    return [] if graph.outer is None else [graph.outer, *graphs_around(graph.outer)]


def outermost_of(graph: GraphBase) -> Graph:
    """The outermost graph around this one; the graph itself if there is none around it."""
    return cast("Graph", graph) if graph.outer is None else outermost_of(graph.outer)


def holders_of(graph: GraphBase) -> list[Operation]:
    """The operations that hold this graph as a subgraph."""
    if not graph._holders:
        return []
    return [op for op in graph._holders if not op.is_removed and any(part is graph for part in op.subgraphs())]
