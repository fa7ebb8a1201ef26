"""History: what is known of how fast a function's graphs run, before they are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.engine_registry import list_engines
from dovetail.graph.ir import Graph
from dovetail.plan import store
from dovetail.plan.store import Measured, Way

STEADY = ("torch", "numpy")  # the first that is installed is taken where nothing is to be measured


class History:
    """What is known of a function's graphs.

    A graph that was measured before, maybe by another process, runs as it was fastest then.  Of other shapes, the two
    ways that were fastest for the shapes measured last are compared.

    Args:
        fixed: the way in which all run, without measuring.

    Attributes:
        fixed: as given.
    """

    def __init__(self, fixed: Way | None = None) -> None:
        self.fixed = fixed
        self._latest: list[Way] = []

    def known(self, graph: Graph, shapes: Sequence[Any]) -> list[Way]:
        """The ways to be considered, the most likely first; one that is sure; none if nothing is known."""
        if self.fixed is not None:
            return [self.fixed]
        kept = store.measured(graph, shapes)
        if kept is not None and kept.ranking[0].engine in list_engines():
            return [kept.ranking[0][:2]]
        return self._latest[:2] if len(self._latest) > 1 else []

    def learn(self, graph: Graph, shapes: Sequence[Any], ranking: Sequence[Measured]) -> None:
        """A choice was settled: what was measured, the chosen way first."""
        self._latest = [measured[:2] for measured in ranking]
        store.keep(graph, shapes, ranking)


def steady() -> Way:
    """The way that is taken where each run is to give the same bits, and none was saved."""
    return next(name for name in STEADY if name in list_engines()), ""
