"""Devices: where the values are that are made within a scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from dovetail.core import config
from dovetail.core.engine_registry import current_engine
from dovetail.core.errors import describe, did_you_mean, op_error
from dovetail.core.recording import DEFAULT_GRAPH
from dovetail.core.scopes import NOWHERE, Device, scopes, within

if TYPE_CHECKING:
    from dovetail.core.engine import Engine

config.register_context(lambda: scopes().device)


@contextmanager
def device(name: str) -> Iterator[None]:
    """Puts the values that are made in a `with` block on a device of the current engine, in this thread or task.

    These are constants, converted arrays, variables, random numbers.  A value stays on its device, and so does what is
    computed of it, in the block and behind it: results of ops and functions, gradients, new values of variables.  What
    was made outside of all such blocks goes along with the values that it meets; but values that were put on two
    devices do not mix: a call with both is an error, and `ops.convert(x, device=...)` moves one of them.

    Where a graph is built in the block, `operation.device` of what is recorded is the device: it is computed there, and
    what it needs is moved there.

    Args:
        name: one of those that `dovetail engines` lists, as "cpu:0" or "gpu:1".

    Raises:
        ValueError: the current engine has no such device here.

    Example:
        >>> from dovetail import ops
        >>> with device("cpu:0"):
        ...     ops.constant([1., 2.]).device
        'cpu:0'
    """
    engine = current_engine()
    require_device(engine, name)
    built = scopes().graph
    graph = DEFAULT_GRAPH.get() if built is None else built
    with _scope(engine, name), nullcontext() if graph is None else graph.pinned(graph.pin[0], name):
        yield


def _scope(engine: Engine, name: str) -> AbstractContextManager[None]:
    return within(device=Device(engine.name, name))


@contextmanager
def placed_on(engine: Engine, name: str) -> Iterator[None]:
    """Puts the values that an engine and its library make in a `with` block on a device; no task may wait in it."""
    with _scope(engine, name), engine.on_device(name):
        yield


def device_for(engine_name: str, given: str | None = None) -> str | None:
    """The device on which a new value of an engine is to be: the one given, or the scope's; None if neither says."""
    if given is None and (found := scopes().device) is not NOWHERE and found.engine == engine_name:
        return found.name
    return given


def nowhere() -> AbstractContextManager[None]:
    """A scope whose new values go along with the values that they meet, whatever scope of `device` is around."""
    return within(device=NOWHERE)


def require_device(engine: Engine, name: str) -> None:
    """Raises ValueError where an engine does not have a device."""
    known = engine.devices()
    if name not in known:
        problem = f"the engine {engine.name!r} has the devices {', '.join(known)} here, not {describe(name)}."
        raise op_error(ValueError, "device", f"{problem} {did_you_mean(str(name), known)}".rstrip())
