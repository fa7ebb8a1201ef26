"""How many operations the nodes of a file become, which is counted before any of them is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from dovetail.core.base.read_limits import PastLimit, need_operations

TRACE = 10  # operations that take as long as the trace of a branch or a loop


class Part(NamedTuple):
    """Nodes inside of a node.

    Attributes:
        name: of the function that has them; None for a graph that is a part of its node.
        nodes: the messages.
        times: how often they are read for the node.
        cost: operations that take as long as their trace, apart from the nodes.
    """

    name: Hashable
    nodes: Iterable[Any]
    times: int = 1
    cost: int = 0


class Expansion:
    """The nodes of a file, where a node stands for those that it calls, and a loop's body for each time it is read.

    Args:
        file: the file, for errors.
        nodes: of the graph.
        parts: gives the nodes inside of a node.

    Attributes:
        listed: how many nodes the file has, of those that were counted.
    """

    def __init__(
        self, file: str | os.PathLike[str], nodes: Sequence[Any], parts: Callable[[Any], Iterable[Part]]
    ) -> None:
        self._file, self._nodes, self._parts = file, nodes, parts
        self._known: dict[Hashable, int] = {}
        self.listed = 0
        self._whole = self._of(nodes)

    def count(self, nodes: Sequence[Any] = ()) -> int:
        """How many operations some nodes become; all of the graph if none are given."""
        return self._of(nodes) if nodes else self._whole

    def need(self, count: int, nodes: Sequence[Any] = ()) -> None:
        """Check that this number of operations, which nodes become, is within the limit.

        Raises:
            FormatError: it is not; the error names the node that becomes most.
        """
        try:
            need_operations(count)
        except PastLimit as error:
            most = max(nodes or self._nodes, key=lambda node: self._of([node]))
            kind = most.op if hasattr(most, "op") else most.op_type
            raise error.at(self._file, f"{kind} {most.name or next(iter(most.output), kind)!r}") from None

    def _of(self, nodes: Iterable[Any]) -> int:
        total = 0
        for node in nodes:
            self.listed += 1
            total += 1 + sum(part.cost + part.times * self._part(part) for part in self._parts(node))
        return total

    def _part(self, part: Part) -> int:
        if part.name is None:
            return self._of(part.nodes)
        if part.name not in self._known:
            self._known[part.name] = 0  # if it calls itself, which is refused when it is read
            self._known[part.name] = self._of(part.nodes)
        return self._known[part.name]
