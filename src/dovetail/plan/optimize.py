"""The passes that every plan runs, in order."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engines.base import Engine
from dovetail.graph.copying import copy_graph
from dovetail.graph.ir import Graph
from dovetail.passes.composites import inline_composites
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.prune import prune
from dovetail.passes.specialize import check_static, specialize


def optimized_copy(graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None) -> Graph:
    """A copy of the graph as the engine will run it."""
    copy = copy_graph(graph)
    prune(copy)
    if shapes is not None:
        specialize(copy, shapes)
        prune(copy)
    inline_composites(copy, engine.rules)
    fold_constants(copy)
    prune(copy)
    if engine.static_shapes:
        check_static(copy, engine.name)
    return copy
