"""TensorFlow's names for memory: figures, limits, growth, and the fields of `GPUOptions` that set them.

A setting acts on the current engine if its library has it, else it warns once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tensorflow.unused import warn_once
from dovetail.compat.tf_graph.device_spec import wish_of
from dovetail.core.base.errors import describe, op_error
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.values.accounting import memory_info, reset_peak, set_memory_limit


def _device(title: str, device: Any) -> str:
    """The current engine's name of a device, which TensorFlow's program gives by its name or as a `Device`.

    Raises:
        ValueError: the current engine has no such device.
    """
    text = getattr(device, "name", device)
    known = current_engine().devices()
    granted = wish_of(text.replace("physical_", "")).granted(known) if isinstance(text, str) else None
    if granted is None:
        problem = f"the engine {current_engine().name} has the devices {', '.join(known)} here, not {describe(text)}."
        raise op_error(ValueError, title, problem)
    return granted


# -- figures ----------------------------------------------------------------------------------------------------------

# The names of torch, jax and TensorFlow for the bytes in use, and the most that were.
_REPORTED = ("memory_allocated", "max_memory_allocated"), ("bytes_in_use", "peak_bytes_in_use"), ("current", "peak")
_seen: dict[tuple[str, str], int] = {}  # (engine, device) → the most bytes that `get_memory_info` has seen


@function("config.experimental.get_memory_info")
def get_memory_info(device: str) -> dict[str, int]:
    """The bytes in use on a device: `{"current": …, "peak": …}`.

    They are the library's figures, if it reports some for the device.  Else the current bytes are those of
    `dovetail.memory_info`, and the peak is exact under a limit; without one, it is the most that calls of this function
    have seen.

    Source: `tf.config.experimental.get_memory_info`.
    """
    name = _device("tf.config.experimental.get_memory_info", device)
    engine = current_engine().name
    (info,) = (row for row in memory_info(name) if row.engine == engine)
    for names in _REPORTED:
        if info.reported.keys() >= {*names}:
            return {ours: info.reported[theirs] for ours, theirs in zip(("current", "peak"), names, strict=True)}
    current = info.in_use
    _seen[engine, name] = peak = max(current, info.peak or 0, _seen.get((engine, name), 0))
    return {"current": current, "peak": peak}


@function("config.experimental.reset_memory_stats")
def reset_memory_stats(device: str) -> None:
    """Let the peak of a device begin at the bytes that are in use now.

    Source: `tf.config.experimental.reset_memory_stats`.
    """
    name = _device("tf.config.experimental.reset_memory_stats", device)
    _seen.pop((current_engine().name, name), None)
    reset_peak(current_engine(), name)


# -- limits and growth ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogicalDeviceConfiguration:
    """A limit of the memory of a device, in MiB.

    Source: `tf.config.LogicalDeviceConfiguration`.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


value(
    "config.LogicalDeviceConfiguration config.experimental.VirtualDeviceConfiguration",
    LogicalDeviceConfiguration,
)
_configured: dict[tuple[str, str], list[LogicalDeviceConfiguration]] = {}


@function("config.set_logical_device_configuration config.experimental.set_virtual_device_configuration")
def set_logical_device_configuration(device: Any, logical_devices: Sequence[LogicalDeviceConfiguration]) -> None:
    """Limit the memory of a device, as `dovetail.set_memory_limit`; warn if the engine's library has no limit.

    Raises:
        NotImplementedError: the device would be divided into several.

    Source: `tf.config.set_logical_device_configuration`.
    """
    title = "tf.config.set_logical_device_configuration"
    name = _device(title, device)
    if len(logical_devices) != 1:
        problem = f"a device stays one, so it has one configuration, not {len(logical_devices)}."
        raise op_error(NotImplementedError, title, problem)
    (given,) = logical_devices
    limit = None if given.memory_limit is None else int(given.memory_limit * 2**20)
    if limit is not None or (current_engine().name, name) in _configured:
        _limit(title, limit, name)
    _configured[current_engine().name, name] = [given]


@function("config.get_logical_device_configuration config.experimental.get_virtual_device_configuration")
def get_logical_device_configuration(device: Any) -> list[LogicalDeviceConfiguration] | None:
    """The configuration that was set for a device, in a list; None if there is none.

    Source: `tf.config.get_logical_device_configuration`.
    """
    name = _device("tf.config.get_logical_device_configuration", device)
    return _configured.get((current_engine().name, name))


def _limit(title: str, limit: int | None, device: str) -> None:
    try:
        set_memory_limit(limit, current_engine().name, device)
    except NotImplementedError as error:
        warn_once(title, f"it does nothing: {error}")


_GROWTH = "engines take memory as they need it."
_grows: dict[tuple[str, str], bool] = {}


@function("config.experimental.set_memory_growth")
def set_memory_growth(device: Any, enable: bool) -> None:
    """Let TensorFlow take memory of a GPU as it needs it, or all at once; other engines warn that this does nothing.

    Source: `tf.config.experimental.set_memory_growth`.
    """
    title = "tf.config.experimental.set_memory_growth"
    name = _device(title, device)
    if not current_engine().grow_memory(bool(enable), name):
        warn_once(title, f"it does nothing for {device!r} (enable={enable}): {_GROWTH}")
    _grows[current_engine().name, name] = bool(enable)


@function("config.experimental.get_memory_growth")
def get_memory_growth(device: Any) -> bool:
    """The growth that was set for a device; True if none was, since engines take memory as they need it.

    Source: `tf.config.experimental.get_memory_growth`.
    """
    name = _device("tf.config.experimental.get_memory_growth", device)
    return _grows.get((current_engine().name, name), True)


# -- fields of GPUOptions ---------------------------------------------------------------------------------------------


def _gpus() -> list[str]:
    return [name for name in current_engine().devices() if name.startswith("gpu:")]


def _use_fraction(fraction: float) -> bool:
    """Limit each GPU of the current engine to a part of its memory; False if the library has no such limit."""
    sizes = {name: current_engine().total_memory(name) for name in _gpus()}
    if not sizes or None in sizes.values():
        return False
    try:
        for name, size in sizes.items():
            set_memory_limit(int(fraction * size), current_engine().name, name)  # type: ignore[operator]  # all are known
    except NotImplementedError:
        return False
    return True


def _use_growth(enable: bool) -> bool:
    acted = [current_engine().grow_memory(enable, name) for name in _gpus()]
    return bool(acted) and all(acted)


# A field of a `ConfigProto` → (its value) → whether it acts on the current engine.
ACTING: dict[str, Callable[[Any], bool]] = {
    "gpu_options.per_process_gpu_memory_fraction": _use_fraction,
    "gpu_options.allow_growth": _use_growth,
}
