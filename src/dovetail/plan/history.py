"""History: what was measured of the graphs of a function: the engines that ran them, fastest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail.graph.ir import Graph

Ranking: TypeAlias = list[tuple[str, str]]  # engines and strategies, the fastest first


class History:
    """What is known of a function's graphs.

    Of shapes that were measured the fastest is taken.  Of others, the two fastest of the shapes measured last are
    compared.
    """

    def __init__(self) -> None:
        self._latest: Ranking = []

    def known(self, graph: Graph, shapes: Sequence[Any]) -> Ranking:
        """The candidates for a graph, the most likely first; none if nothing is known."""
        return self._latest[:2]

    def learn(self, graph: Graph, shapes: Sequence[Any], ranking: Ranking) -> None:
        """A choice was settled."""
        self._latest = ranking
