"""Places: the open scopes that pin the new operations of a graph, and the pin that they give."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dovetail.core.base.pin import Pin
from dovetail.core.engines.engine_registry import device_owner
from dovetail.core.wish import Wish, as_wish

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

Scope: TypeAlias = "Pin | Callable[[Operation], Pin | None]"


class Places(NamedTuple):
    """The scopes that are open, and the pin that they give.

    Attributes:
        scopes: pins, and functions that give one for an operation; outermost first.
        near: the operation whose device all operations get, if it has one, whatever the scopes say; or None.
        asks: whether a function is among the scopes, so that each operation must be passed to it.
        pin: the pin of new operations, unless a function decides.
    """

    scopes: tuple[Scope, ...] = ()
    near: Any = None
    asks: bool = False
    pin: Pin = Pin()

    def inside(self, scope: Scope) -> Places:
        """The scopes with another one inside them."""
        return _settled((*self.scopes, scope), self.near)

    def beside(self, near: Any) -> Places:
        """The scopes without their devices, with operations on the device of `near`; None leaves it to the plan."""
        pins = [scope._replace(device=None) for scope in self.scopes if isinstance(scope, Pin)]
        return _settled(tuple(pins), near)

    def by_device(self) -> Places:
        """The scopes for graphs inside operations, which are computed with these: their devices alone."""
        scopes = [Pin(device=scope.device) if isinstance(scope, Pin) else scope for scope in self.scopes]
        return _settled(tuple(scopes), self.near)

    def record(self, operation: Any) -> None:
        """Record an operation's pin: its own goes before the scopes' pins, but not before their functions."""
        for scope in reversed(self.scopes):
            if isinstance(scope, Pin):
                operation.record_pin(inside(operation.pin, scope))
            elif (said := scope(operation)) is not None:
                operation.record_pin(said.over(operation.pin))
        if (near := _device_of(self.near)) is not None:
            operation.record_pin(operation.pin._replace(device=near))


def inside(pin: Pin, around: Pin) -> Pin:
    """A pin inside the scope of another one, which gives what it leaves open.

    A device that one engine alone has takes no engine from around it.

    Example:
        >>> inside(Pin(device="gpu:0"), Pin("torch", "cpu:0", part=1))
        Pin(engine='torch', device='gpu:0', part=1)
    """
    own, other = pin.device, around.device
    wish = as_wish(own) if pin.engine is None else None
    engine = None if wish is not None and device_owner(wish.kind) else around.engine
    if isinstance(own, Wish) and isinstance(other, Wish):
        own = other.around(own)
    return Pin(pin.engine or engine, own or other, around.part if pin.part is None else pin.part)


def _settled(scopes: tuple[Scope, ...], near: Any) -> Places:
    pins = [scope for scope in scopes if isinstance(scope, Pin)]
    if len(pins) < len(scopes):
        return Places(scopes, near, asks=True)
    pin = reduce(lambda outer, inner: inside(inner, outer), pins, Pin())
    return Places(scopes, near, pin=pin._replace(device=_device_of(near) or pin.device))


def _device_of(near: Any) -> str | None:
    return None if near is None else near.pin.device
