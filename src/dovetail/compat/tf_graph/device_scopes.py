"""Device scopes: the devices that operations of a graph are recorded for, as with `tf.device`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dovetail.compat.tf_graph.device_spec import DeviceSpec, as_device, wish_of
from dovetail.graph.pins import scoped
from dovetail.graph.wish import Wish

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dovetail.edit.graph import Graph
    from dovetail.graph.operation import Operation

Scope: TypeAlias = "str | Callable[[Operation], Any]"


class DeviceScopes(NamedTuple):
    """The scopes that are open, and the device that they give.

    Attributes:
        scopes: devices in TensorFlow's form, and functions that give one for an operation; outermost first.
        near: the object whose device all operations get, if it has one, whatever the scopes say; or None.
        asks: whether a function is among the scopes, so that each operation must be passed to it.
        device: the device that is recorded for operations; None if there is none, or if a function decides.
    """

    scopes: tuple[Scope, ...] = ()
    near: Any = None
    asks: bool = False
    device: str | None = None

    def inside(self, device: Any) -> DeviceScopes:
        """The scopes with another one inside them; None closes them all.

        Args:
            device: a string, a `DeviceSpec`, a function of an operation that gives one of these, or None.

        Raises:
            TypeError, ValueError: it is not the name of a device.
        """
        if device is None:
            return _settled((), self.near)
        return _settled((*self.scopes, device if _is_function(device) else _read(device).to_string()), self.near)

    def beside(self, near: Any) -> DeviceScopes:
        """No scopes, with operations on the device of `near`; None leaves the device to the plan."""
        return _settled((), near)

    def record(self, operation: Any) -> None:
        """Record an operation's device: its own goes before the scopes' strings, but not before their functions."""
        near = getattr(self.near, "device", None)
        if near:
            operation.record_device(as_device(near))
            return
        for scope in reversed(self.scopes):
            if not isinstance(scope, str):
                said = scope(operation)
                operation.record_device(as_device(operation.device if said is None else _read(said).to_string()))
            elif not operation.device or isinstance(operation.device, Wish):
                operation.record_device(_merged(scope, operation.device) or None)


def _is_function(device: Any) -> bool:
    return callable(device) and not isinstance(device, DeviceSpec)


def _read(device: Any) -> DeviceSpec:
    return device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)


def _settled(scopes: tuple[Scope, ...], near: Any) -> DeviceScopes:
    if not all(isinstance(scope, str) for scope in scopes):
        return DeviceScopes(scopes, near, asks=True)
    device = getattr(near, "device", None) or functools.reduce(_merged, scopes, "")
    return DeviceScopes(scopes, near, device=as_device(device))


def _merged(outer: Any, inner: Any) -> Wish:
    """A device that takes from the outer scope the parts that the inner one leaves open."""
    return wish_of(_read(outer).make_merged_spec(_read(inner or "")).to_string())


def device_scope(graph: Graph, device: Any) -> AbstractContextManager[None]:
    """The scope of `TensorFlowGraph.device`, for any graph."""
    return _on(graph, scopes_of(graph).inside(device))


def colocation_scope(graph: Graph, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """The scope of `TensorFlowGraph.colocate_with`, for any graph."""
    has_device = bool(getattr(op, "device", None)) or ignore_existing
    scopes = scopes_of(graph)
    return _on(graph, scopes.beside(op if has_device else scopes.near))


def scopes_of(graph: Graph) -> DeviceScopes:
    """The scopes of devices that are open on a graph."""
    found = graph.here.devices
    return found if isinstance(found, DeviceScopes) else DeviceScopes()


def open_device_scopes(graph: Graph, devices: DeviceScopes) -> None:
    """Make these the scopes of devices outside all `with` blocks of a graph from now on."""
    own = graph._scopes.default
    graph._scopes.default = own._replace(pin=(own.pin[0], devices.device), devices=devices)


def _on(graph: Graph, devices: DeviceScopes) -> AbstractContextManager[None]:
    return scoped(graph, pin=(graph.here.pin[0], devices.device), devices=devices)
