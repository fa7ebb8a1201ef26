"""Graph scopes: the properties that new operations of a graph get from the `with` blocks that are open on it.

Each task that builds a graph has its own scopes; names belong to the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from dovetail.graph.cursor import Cursor, scope_of
from dovetail.graph.operation import Operation
from dovetail.graph.places import Places

if TYPE_CHECKING:
    from dovetail.graph.recompute_groups import RecomputeGroup


class GraphScopes(NamedTuple):
    """The scopes that are open on one graph, in this thread or task.

    Attributes:
        name: the name scope, with its slash; None for the name scope of `like`.
        control: the operations that new ones wait for.
        overrides: op type → name of the registered gradient of new operations.
        recompute_group: the group of new operations, which gradients compute again together.
        places: the scopes that pin new operations.
        made_for: the operation whose origin new ones get.
        cursor: the place of new operations; None for the end.
        in_order: the reads and assignments of the innermost update; None outside of updates; see `variables`.
    """

    name: str | None = ""
    control: tuple[Operation, ...] = ()
    overrides: Mapping[str, str] = MappingProxyType({})
    recompute_group: RecomputeGroup | None = None
    places: Places = Places()
    made_for: Operation | None = None
    cursor: Cursor | None = None
    in_order: list[Operation] | None = None

    @property
    def like(self) -> Operation | None:
        """The operation whose properties new ones copy."""
        return None if self.cursor is None else self.cursor.like

    @property
    def scope(self) -> str:
        """The name scope, with its slash."""
        if self.name is not None:
            return self.name
        return "" if self.like is None else scope_of(self.like)
