"""Graph scopes: the properties that new operations of a graph get from the `with` blocks that are open on it.

Each task that builds a graph has its own scopes; names belong to the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.core.base.pin import Pin
from dovetail.core.base.scopes import Changes, Scoped, opened
from dovetail.graph.cursor import Cursor, scope_of
from dovetail.graph.operation import Operation
from dovetail.graph.places import Places

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph
    from dovetail.graph.recompute_groups import RecomputeGroup

GRADIENTS = "gradients/"  # the name scope of gradients, with its slash


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


class HasScopes:
    """A graph with scopes that are open on it.

    Args:
        outer: the graph around; its open scopes of devices hold here, too.
    """

    def __init__(self, outer: Graph | None) -> None:
        first = GraphScopes()
        if outer is not None:
            first = GraphScopes(places=outer.here.places.by_device(), made_for=outer.here.made_for)
        self._scopes: Scoped[GraphScopes] = Scoped(first)

    @property
    def here(self) -> GraphScopes:
        """The properties of new operations, by the scopes that are open."""
        return self._scopes.get()

    def at_place(self, engine: str | None, device: str | None, part: int | str | None) -> Changes:
        """The changes of a scope of `dovetail.place`; without a place, it closes the scopes around it."""
        pin = Pin(engine, device, part)
        places = self.here.places.inside(pin) if any(field is not None for field in pin) else Places()
        return {self._scopes: self.here._replace(places=places)}


def scoped(graph: HasScopes, value: Any = None, **changes: Any) -> AbstractContextManager[Any]:
    """A scope that changes fields of `GraphScopes`; `value` is the target of `as`."""
    return opened(lambda _: {graph._scopes: graph.here._replace(**changes)}, value)


def made_for_operation(graph: HasScopes, operation: Operation) -> AbstractContextManager[None]:
    """A scope in which new operations, also in their subgraphs, have this operation's origin and pin."""
    return scoped(graph, made_for=operation, places=Places((operation.pin,), pin=operation.pin))


def made_for_gradient(graph: HasScopes, operation: Operation) -> AbstractContextManager[None]:
    """The same for gradients of this operation: they are a part of their own, which runs after the operation's part.

    They are in the name scope `gradients`, and there in the operation's own one.
    """
    pin, around = operation.pin.of_gradient, graph.here.scope
    inside = around if GRADIENTS in around else f"{around}{GRADIENTS}"
    return scoped(graph, made_for=operation, places=Places((pin,), pin=pin), name=f"{inside}{scope_of(operation)}")


def put_in_scope(graph: HasScopes, operation: Any) -> None:
    """Pin an operation, or an object like one, as the scopes say, as far as it is not pinned."""
    places = graph.here.places
    if places.scopes or places.near is not None:
        places.record(operation)


def open_places(graph: HasScopes, places: Places) -> None:
    """Make these the places outside all `with` blocks of a graph from now on."""
    graph._scopes.default = graph._scopes.default._replace(places=places)
