"""Pins: the scopes of Graph that say where new operations are computed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dovetail.core.scopes import Changes, Scoped, opened
from dovetail.graph.graph_scopes import GraphScopes
from dovetail.graph.operation import Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class Pins:
    """The scopes of a graph, among them the pins of new operations.

    Args:
        outer: the graph around; its open scopes of devices hold here, too.
    """

    def __init__(self, outer: Graph | None) -> None:
        around = GraphScopes() if outer is None else outer.here
        devices = around.devices
        device = None if devices is None else devices.device
        self._scopes: Scoped[GraphScopes] = Scoped(
            GraphScopes(pin=(None, device), devices=devices, made_for=around.made_for)
        )

    @property
    def here(self) -> GraphScopes:
        """The properties of new operations, by the scopes that are open."""
        return self._scopes.get()

    def pinned(self, engine: str | None = None, device: str | None = None) -> AbstractContextManager[None]:
        """Compute operations added to this graph inside the `with` block on an engine and a device.

        Args:
            engine, device: their names; None leaves it to the plan.

        Source: `tf.device`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.pinned("torch"):
            ...     y = dt.ops.tanh(x)
            >>> y.op.engine
            'torch'
        """
        return scoped(self, pin=(engine, device), devices=None)

    def on_engine(self, name: str) -> Changes:
        """The changes of a scope in which new operations are computed on an engine, as with `dovetail.engine`."""
        around = self.here
        return {self._scopes: around._replace(pin=(name, around.pin[1]))}


def scoped(graph: Pins, value: Any = None, **changes: Any) -> AbstractContextManager[Any]:
    """A scope that changes fields of `GraphScopes`; `value` is the target of `as`."""
    return opened(lambda _: {graph._scopes: graph.here._replace(**changes)}, value)


def made_for_operation(graph: Pins, operation: Operation) -> AbstractContextManager[None]:
    """A scope in which new operations, also in their subgraphs, have this operation's origin, engine and device."""
    return scoped(graph, made_for=operation, pin=operation.pin, devices=None)


def put_in_scope(graph: Pins, operation: Any) -> None:
    """Give an operation, or an object like one, the device of the scopes, as far as it has none."""
    devices = graph.here.devices
    if devices is not None and (devices.asks or devices.device):
        devices.record(operation)
