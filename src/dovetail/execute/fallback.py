"""Fallback: the engine that runs a graph if another one does not claim it, or fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dovetail.core.base.pin import Pin
from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import HOME
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import copy_graph
from dovetail.execute.claims import NotClaimed
from dovetail.execute.placement import pinned_engines
from dovetail.execute.plan import Plan

logger = logging.getLogger("dovetail.plan")


def last_resort(engine: Engine) -> str:
    """The name of the engine that runs graphs which an engine, and all others that are chosen from, do not run.

    It is the engine that holds the values of an engine that only compiles; else numpy.

    Example:
        >>> from dovetail.core.engines.engine_registry import get_engine
        >>> last_resort(get_engine("numpy"))
        'numpy'
    """
    return HOME if engine.eager is None else engine.holder.name


def plan_on(
    graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None, device: str | None = None
) -> Plan:
    """The plan of a graph on a named engine.

    An engine that only compiles, and does not claim its operations, gives way to its last resort, with a line in the
    log.

    Args:
        graph, engine, shapes, device: as for `Plan`.

    Raises:
        NotClaimed: an engine with rules has none for an operation.
    """
    try:
        return Plan(graph, engine, shapes, device)
    except NotClaimed as error:
        unable = error.engine
        if unable.eager is None:
            raise
        log_fallback(graph, error)
    return plan_on(_without(graph, unable), unable.holder if engine is unable else engine, shapes, device)


def log_fallback(graph: Graph, error: NotClaimed) -> None:
    """Write to the log that a graph runs on the last resort of a named engine."""
    unable, other = error.engine.name, last_resort(error.engine)
    logger.info("%s does not claim %r, so %s computes its part: %s", unable, graph.name, other, error)


def _without(graph: Graph, unable: Engine) -> Graph:
    """The graph, with operations that are pinned to an engine pinned to its last resort instead."""
    copy = copy_graph(graph)
    pinned = [op for inner in copy.everywhere() for op in inner.operations if unable in pinned_engines([op])]
    for operation in pinned:
        device = operation.device if operation.engine == unable.name else None
        operation.pin = Pin(last_resort(unable), device, operation.part)
    return copy if pinned else graph
