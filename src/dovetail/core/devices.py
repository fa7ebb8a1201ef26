"""Devices: the place of values that are made within a scope."""

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
    """Put the values that are made in a `with` block on a device of the current engine, in this thread or task.

    These are constants, converted arrays, variables, random numbers.  A value stays on its device, and so do the
    results computed from it, in the block and after it: results of ops and functions, gradients, new values of
    variables.  Values from outside of all such blocks go along with the values that they meet.  Values that were put on
    two devices do not mix: a call with both is an error, and `ops.convert(x, device=...)` moves one of them.

    If a graph is built in the block, `operation.device` of the recorded operations is the device: they are computed
    there, and their inputs are moved there.

    Args:
        name: a device that `dovetail engines` lists, as "cpu:0" or "gpu:1".

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
    with _scope(engine, name), nullcontext() if graph is None else graph.pinned(graph.here.pin[0], name):
        yield


def _scope(engine: Engine, name: str) -> AbstractContextManager[None]:
    return within(device=Device(engine.name, name))


@contextmanager
def placed_on(engine: Engine, name: str) -> Iterator[None]:
    """Put the values that an engine and its library make in a `with` block on a device; no task may wait in it."""
    with _scope(engine, name), engine.on_device(name):
        yield


def device_for(engine_name: str, given: str | None = None) -> str | None:
    """The device for a new value of an engine: the one given, or the scope's; None if there is neither."""
    if given is None and (found := scopes().device) is not NOWHERE and found.engine == engine_name:
        return found.name
    return given


def nowhere() -> AbstractContextManager[None]:
    """A scope whose new values go along with the values that they meet, also inside a scope of `device`."""
    return within(device=NOWHERE)


def require_device(engine: Engine, name: str) -> None:
    """Raise ValueError if an engine does not have a device."""
    known = engine.devices()
    if name not in known:
        problem = f"the engine {engine.name!r} has the devices {', '.join(known)} here, not {describe(name)}."
        raise op_error(ValueError, "device", f"{problem} {did_you_mean(str(name), known)}".rstrip())
