"""Scopes of pins: the scopes of Graph that say where new operations are computed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dovetail.core.scopes import Changes, Scoped, opened
from dovetail.graph.graph_scopes import GraphScopes
from dovetail.graph.operation import Operation
from dovetail.graph.pin import Pin
from dovetail.graph.places import Places

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class Pins:
    """The scopes of a graph, among them the places of new operations.

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


def scoped(graph: Pins, value: Any = None, **changes: Any) -> AbstractContextManager[Any]:
    """A scope that changes fields of `GraphScopes`; `value` is the target of `as`."""
    return opened(lambda _: {graph._scopes: graph.here._replace(**changes)}, value)


def made_for_operation(graph: Pins, operation: Operation) -> AbstractContextManager[None]:
    """A scope in which new operations, also in their subgraphs, have this operation's origin and pin."""
    return scoped(graph, made_for=operation, places=Places((operation.pin,), pin=operation.pin))


def made_for_gradient(graph: Pins, operation: Operation) -> AbstractContextManager[None]:
    """The same for gradients of this operation: they are a part of their own, which runs after the operation's part."""
    pin = operation.pin.of_gradient
    return scoped(graph, made_for=operation, places=Places((pin,), pin=pin))


def put_in_scope(graph: Pins, operation: Any) -> None:
    """Pin an operation, or an object like one, as the scopes say, as far as it is not pinned."""
    places = graph.here.places
    if places.scopes or places.near is not None:
        places.record(operation)


def open_places(graph: Pins, places: Places) -> None:
    """Make these the places outside all `with` blocks of a graph from now on."""
    graph._scopes.default = graph._scopes.default._replace(places=places)
