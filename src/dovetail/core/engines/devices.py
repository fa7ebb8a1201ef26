"""Devices: where an engine makes new values, and the nearest one if a device is not there."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.core.base.context import note_change, register_context
from dovetail.core.base.errors import check_bool, describe, did_you_mean, op_error
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.scopes import Scoped, scopes, within
from dovetail.core.engines.engine_registry import LIBRARY_DEVICES, get_engine
from dovetail.core.wish import as_wish

if TYPE_CHECKING:
    from dovetail.core.engine import Engine

logger = logging.getLogger("dovetail.place")

register_context(lambda: ((around := scopes()).device, around.probes))  # one frame for both

_is_soft = True
_uses_gpus = False  # for new values outside of scopes
_of_run: Scoped[bool | None] = Scoped(None)  # a session's own rule, in its runs
_told: set[tuple[str, str]] = set()  # (engine, device) pairs that the log has a line of


def soft_placement() -> bool:
    """Whether the nearest device stands in for one that is not there; true by default.

    Example:
        >>> import dovetail as dt
        >>> dt.soft_placement()
        True
    """
    own = _of_run.get()
    return _is_soft if own is None else own


def set_soft_placement(enabled: bool) -> None:
    """Set for the process whether the nearest device stands in for one that is not there.

    If so, the log of `dovetail.place` has one line for each such device.  If not, an error names the devices that there
    are.

    Raises:
        TypeError: it is no bool.

    Source: `tf.config.set_soft_device_placement`.

    Example:
        >>> import dovetail as dt
        >>> dt.set_soft_placement(False)
        >>> try:
        ...     with dt.place("numpy", "gpu:0"):
        ...         pass
        ... except ValueError as error:
        ...     print(str(error).partition(": ")[2])
        the engine 'numpy' has the devices cpu:0 here, not 'gpu:0'. Did you mean 'cpu:0'?
        >>> dt.set_soft_placement(True)
    """
    global _is_soft
    check_bool("set_soft_placement", enabled)
    _is_soft = enabled
    note_change()


register_context(lambda: None if soft_placement() else True, _of_run)


def soft_placement_of_run(enabled: bool) -> AbstractContextManager[None]:
    """A scope with its own rule, whatever the process says."""
    return _of_run.scope(enabled)


def found_device(engine: Engine, name: Any, missing: Callable[[], Exception]) -> str | None:
    """The device of an engine that a name means, or the nearest one.

    Args:
        engine: the engine.
        name: a device in the engine's form, "gpu:1" or "gpu", or a `Wish`.
        missing: makes the error for a name that is no device's, or for a device that is not there and must be.

    Returns:
        One of `engine.devices()`; None if the name leaves the device open, or means another process.
    """
    known, wish = engine.devices(), as_wish(name)
    if wish is None:
        raise missing()
    granted = wish.granted(known)
    if granted is not None or not wish.names_device:
        return granted
    is_known = wish is name or wish.kind in LIBRARY_DEVICES or any(d.startswith(f"{wish.kind}:") for d in known)
    if not (is_known and soft_placement()):
        raise missing()
    near = wish.nearest(known) if wish.is_here else None
    if (engine.name, name) not in _told:
        _told.add((engine.name, name))
        logger.warning(
            "%s has no device %s here; it has %s. Its work is done %s.",
            engine.name,
            name,
            ", ".join(known),
            "where the rest is" if near is None else f"on {near}",
        )
    return near


@contextmanager
def placed_on(engine: Engine, name: str) -> Iterator[None]:
    """Put the values that an engine and its library make in a `with` block on a device; no task may wait in it."""
    with within(device=Pin(engine.name, name)), engine.on_device(name):
        yield


def device_for(engine_name: str, given: str | None = None) -> str | None:
    """The device for a new value of an engine: the one given, the scope's, or the first GPU; None for the library's."""
    if given is None and (scope := scopes().device) is not ANYWHERE and scope.engine == engine_name:
        return scope.device
    return _first_gpu(engine_name) if given is None and _uses_gpus else given


def use_gpus() -> None:
    """Make new values on the first GPU of each engine, unless a scope names a device; for the process.

    PyTorch alone would make them in the processor's memory.  Keras' and TensorFlow's programs expect the GPU.
    """
    global _uses_gpus
    _uses_gpus = True


@functools.cache
def _first_gpu(engine_name: str) -> str | None:
    """The first GPU of an engine whose library would not choose it."""
    engine = get_engine(engine_name)
    return next((d for d in engine.devices() if d.startswith("gpu")), None) if engine.prefers_cpu else None


def is_several(device: str | None) -> bool:
    """Whether a name means several devices, among which an engine divides arrays, as "cpu:0,1,2,3"."""
    return device is not None and "," in device


def nowhere() -> AbstractContextManager[None]:
    """A scope whose new values go along with the values that they meet, also inside a scope of a device."""
    return within(device=ANYWHERE)


def require_device(engine: Engine, name: str) -> None:
    """Raise ValueError if an engine does not have a device."""
    if name not in engine.devices():
        raise missing_device(engine, name)


def missing_device(engine: Engine, name: Any) -> Exception:
    """The error for a device that an engine does not have."""
    known = engine.devices()
    problem = f"the engine {engine.name!r} has the devices {', '.join(known)} here, not {describe(name)}."
    return op_error(ValueError, "device", f"{problem} {did_you_mean(str(name), known)}".rstrip())
