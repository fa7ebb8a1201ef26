"""TensorFlow's names of devices: scopes, specifications, which there are, and the settings of sessions."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.device_spec import DeviceSpec
from dovetail.core.engine_registry import current_engine
from dovetail.core.errors import op_error
from dovetail.graph.trace import current_graph

value("DeviceSpec", DeviceSpec)

# -- scopes -----------------------------------------------------------------------------------------------------------


def _recording() -> Any:
    """The graph that is built, a function's among them; None where values are computed."""
    return current_graph() or graph_mode.graph()


@function("device", "v2")
def device(device_name: Any) -> AbstractContextManager[Any]:
    """What is recorded in the `with` block is computed on a device, if it is there; what is computed now, anywhere.

    Source: `tf.device`.
    """
    if callable(device_name) and not isinstance(device_name, DeviceSpec):
        raise op_error(RuntimeError, "tf.device", "functions are for graphs of TensorFlow 1: tf.compat.v1.device.")
    return graph_mode.at_device(_recording(), device_name)


@function("device", "v1")
def device_v1(device_name_or_function: Any) -> AbstractContextManager[Any]:
    """What is recorded in the `with` block is computed on a device, if it is there; what is computed now, anywhere.

    Source: `tf.compat.v1.device`.
    """
    return graph_mode.at_device(_recording(), device_name_or_function)


@function("colocate_with", "v1")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[Any]:
    """What is recorded in the `with` block is for the device of an operation.

    Source: `tf.compat.v1.colocate_with`.
    """
    graph = _recording()
    return nullcontext() if graph is None else graph.colocate_with(op, ignore_existing)


# -- which there are --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Device:
    """A device of the current engine.

    Source: `tf.config.PhysicalDevice`.
    """

    name: str
    device_type: str


def _devices(kind: str, device_type: str | None) -> list[Device]:
    found = [name.partition(":") for name in current_engine().devices()]
    return [
        Device(f"/{kind}device:{sort.upper()}:{number or 0}", sort.upper())
        for sort, _, number in found
        if device_type in (None, sort.upper())
    ]


@function("config.list_physical_devices config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[Device]:
    """The devices of the current engine.

    Source: `tf.config.list_physical_devices`.
    """
    return _devices("physical_", device_type)


@function("config.list_logical_devices config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[Device]:
    """The devices of the current engine.

    Source: `tf.config.list_logical_devices`.
    """
    return _devices("", device_type)


def _accepted(names: str, why: str) -> None:
    def accept(*args: Any, **kwargs: Any) -> None:
        return None

    accept.__doc__ = why
    function(names)(accept)


_accepted("config.experimental.set_memory_growth", "Nothing is done: engines take memory as they need it.")
_accepted("debugging.set_log_device_placement", "Nothing is done.")


@function("config.get_visible_devices config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[Device]:
    """The devices of the current engine: all of them are.

    Source: `tf.config.get_visible_devices`.
    """
    return _devices("physical_", device_type)


@function("config.set_visible_devices config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Says which devices there are: those that there are, or none of a type of which there is none.

    Raises:
        RuntimeError: one would be hidden, which only the engine's own library can do, before it starts.

    Source: `tf.config.set_visible_devices`.
    """
    given = set(devices if isinstance(devices, (list, tuple)) else [devices])
    hidden = [device for device in _devices("physical_", device_type) if device not in given]
    if hidden:
        names = ", ".join(device.name for device in hidden)
        problem = f"{names} cannot be hidden: say CUDA_VISIBLE_DEVICES in the environment, or dovetail.device(name)."
        raise op_error(RuntimeError, "tf.config.set_visible_devices", problem)


# -- settings ---------------------------------------------------------------------------------------------------------


class Settings:
    """Settings that TensorFlow 1's sessions were given: any attribute can be set, and none is needed here.

    Source: `tf.compat.v1.ConfigProto`.
    """

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, Settings())


value("ConfigProto GPUOptions OptimizerOptions GraphOptions RunOptions RunMetadata", Settings)


_placement = {"soft": True}


@function("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Whether sessions that are made from now on may compute elsewhere what is for a device that is not there.

    Source: `tf.config.set_soft_device_placement`.
    """
    _placement["soft"] = bool(enabled)


@function("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Whether that is so, as it is at first.

    Source: `tf.config.get_soft_device_placement`.
    """
    return _placement["soft"]


def allows_soft_placement(config: Any) -> bool:
    """Whether a session with this `ConfigProto`, or None, may do so; where that does not say it, as is set."""
    said = getattr(config, "allow_soft_placement", None)
    return said if isinstance(said, bool) else _placement["soft"]
