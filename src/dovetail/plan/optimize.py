"""The passes that every plan runs, in order."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engines.base import Engine
from dovetail.graph.copying import copy_into
from dovetail.graph.ir import Graph
from dovetail.passes.composites import inline_composites
from dovetail.passes.prune import prune


def optimized_copy(graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None) -> Graph:
    """A copy of the graph as the engine will run it."""
    copy = Graph(graph.name)
    inputs = [copy.placeholder(t.spec, t.op.name) for t in graph.inputs]
    copy.outputs = copy_into(graph, copy, inputs)
    prune(copy)
    inline_composites(copy, engine.rules)
    prune(copy)
    return copy
