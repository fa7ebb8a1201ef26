"""TensorFlow's names for devices: scopes, specifications, lists of devices, and the placement of operations."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tensorflow.unused import warn_once
from dovetail.compat.tf_graph.device_scopes import colocation_scope, device_text, is_function
from dovetail.compat.tf_graph.device_spec import DeviceSpec, wish_of, written
from dovetail.core.base.errors import op_error
from dovetail.core.base.probe import Probe
from dovetail.core.base.scopes import change, scopes, within
from dovetail.core.engine import Engine
from dovetail.core.engines.devices import found_device, missing_device, placed_on, set_soft_placement, soft_placement
from dovetail.core.engines.engine_registry import current_engine, device_owner, get_engine
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values.places import place
from dovetail.edit.graph import Graph, Operation
from dovetail.execute.placement import placed
from dovetail.trace.trace import current_graph

value("DeviceSpec", DeviceSpec)

# -- scopes -----------------------------------------------------------------------------------------------------------


def _recording() -> Any:
    """The graph that is being built, also by a function; None if values are computed."""
    return current_graph() or graph_mode.graph()


@function("device", "v2")
def device(device_name: Any) -> AbstractContextManager[Any]:
    """A scope whose operations are computed on a device, if it exists.

    If the current engine has no such device, the nearest one computes, with one line in the log for each device.  A
    type of devices that a registered engine owns, as "/device:FPGA:0", means that engine.

    Source: `tf.device`.
    """
    if is_function(device_name):
        raise op_error(RuntimeError, "tf.device", "functions are for graphs of TensorFlow 1: tf.compat.v1.device.")
    return _at(device_name)


@function("device", "v1")
def device_v1(device_name_or_function: Any) -> AbstractContextManager[Any]:
    """A scope whose operations are computed on a device, if it exists.

    If the current engine has no such device, the nearest one computes, with one line in the log for each device.

    Source: `tf.compat.v1.device`.
    """
    return _at(device_name_or_function)


@contextmanager
def _at(device: Any) -> Iterator[None]:
    """Put the recorded operations and the computed values of the `with` block on a device, if it exists."""
    graph = _recording()
    with graph_mode.at_device(graph, device), nullcontext() if graph is not None else _computed_on(device):
        yield


def _computed_on(device: Any) -> AbstractContextManager[Any]:
    """A scope in which values are computed on a device: the engine's that owns it, else the current engine's."""
    if device is None or is_function(device):
        return nullcontext()
    wish = wish_of(device_text(device))
    if (owner := device_owner(wish.kind)) is not None:
        if get_engine(owner).eager is not None:
            warn_once(f"tf.device({str(wish)!r})", f"{owner} computes graphs, as of tf.function; not single calls.")
        return place(device=wish)
    engine = current_engine()
    nearest = found_device(engine, wish, lambda: missing_device(engine, wish))
    return nullcontext() if nearest is None else placed_on(engine, nearest)


@function("colocate_with", "v1")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[Any]:
    """Put the operations that are recorded in the `with` block on the device of an operation.

    Source: `tf.compat.v1.colocate_with`.
    """
    graph = _recording()
    return nullcontext() if graph is None else colocation_scope(graph, op, ignore_existing)


# -- lists of devices -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Device:
    """A device of the current engine.

    Source: `tf.config.PhysicalDevice`.
    """

    name: str
    device_type: str


def _devices(kind: str, device_type: str | None) -> list[Device]:
    parts = [name.partition(":") for name in current_engine().devices()]
    return [
        Device(f"/{kind}device:{sort.upper()}:{number or 0}", sort.upper())
        for sort, _, number in parts
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


@function("config.get_visible_devices config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[Device]:
    """The devices of the current engine, which are all visible.

    Source: `tf.config.get_visible_devices`.
    """
    return _devices("physical_", device_type)


@function("config.set_visible_devices config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Check that all devices of the current engine stay visible.

    Raises:
        RuntimeError: a device would be hidden.  Only the engine's own library can hide one, before it starts.

    Source: `tf.config.set_visible_devices`.
    """
    given = set(devices if isinstance(devices, (list, tuple)) else [devices])
    hidden = [device for device in _devices("physical_", device_type) if device not in given]
    if hidden:
        names = ", ".join(device.name for device in hidden)
        problem = f"{names} cannot be hidden: say CUDA_VISIBLE_DEVICES in the environment, or dovetail.device(name)."
        raise op_error(RuntimeError, "tf.config.set_visible_devices", problem)


@dataclass(frozen=True)
class DeviceAttributes:
    """A device of a session.

    Attributes:
        name: as TensorFlow writes it in full, "/job:localhost/replica:0/task:0/device:CPU:0".
        device_type: "CPU" or "GPU".
        memory_limit_bytes: 0, since engines do not report it.
        incarnation: 0, since devices are not started again.
    """

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 0


def full_name(device: str) -> str:
    """An engine's name of a device, "gpu:1", as TensorFlow writes it in full."""
    return f"/job:localhost/replica:0/task:0{written(device)}"


def attributes_of(engine: Engine) -> list[DeviceAttributes]:
    """The devices of an engine."""
    return [DeviceAttributes(full_name(name), name.partition(":")[0].upper()) for name in engine.devices()]


# -- placement --------------------------------------------------------------------------------------------------------

_logs = False


@function("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Set whether the nearest device stands in for one that does not exist.

    Source: `tf.config.set_soft_device_placement`.
    """
    set_soft_placement(bool(enabled))


@function("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Whether the nearest device stands in for one that does not exist; true by default.

    Source: `tf.config.get_soft_device_placement`.
    """
    return soft_placement()


def allows_soft_placement(config: Any) -> bool:
    """Whether a session with this `ConfigProto`, or None, may compute elsewhere; by default, as in this process."""
    said = getattr(config, "allow_soft_placement", None)
    return soft_placement() if said is None else bool(said)


@function("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Set whether new sessions, and calls outside of graphs, print the device of each operation to stderr.

    Operations of a compiled function are printed when its program first runs.

    Source: `tf.debugging.set_log_device_placement`.
    """
    global _logs
    _logs = bool(enabled)
    others = _other_probes()
    change({"probes": (*(others or ()), _PLACEMENT) if enabled else others})


def _other_probes() -> tuple[Probe, ...] | None:
    return tuple(probe for probe in scopes().probes or () if probe is not _PLACEMENT) or None


def without_printing() -> AbstractContextManager[Any]:
    """A scope in which no device is printed, for sessions, which print those of their operations themselves."""
    return within(probes=_other_probes())


class _Placement(Probe):
    """A probe that prints the device of each call that is computed at once, and of each operation of a program."""

    def __init__(self) -> None:
        self._printed: WeakSet[Graph] = WeakSet()  # graphs of programs

    def see(self, op: Op, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Print a call's op and device."""
        device = next((result.device for result in results if type(result) is Tensor), "")
        print(f"Executing op {op.name} in device {full_name(device)}", file=sys.stderr)

    def add(self, graph: Any, ends: int) -> Sequence[Any]:
        """Add no outputs to a graph."""
        return ()

    def saw(self, run: Any, notes: Sequence[Any], found: Sequence[Any]) -> None:
        """Print the devices of the operations of a program, after its first run."""
        if run.graph not in self._printed:
            self._printed.add(run.graph)
            for graph in run.graph.everywhere():
                for operation, device in placed(graph.operations, run.engine):
                    print_placement(operation, full_name(device))


def print_placement(operation: Operation, device: str) -> None:
    """Print the name, the type and the device of an operation of a graph, as TensorFlow does."""
    print(f"{operation.name}: ({operation.type}): {device}", file=sys.stderr)


_PLACEMENT = _Placement()


@function("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Whether new sessions, and calls outside of graphs, print the device of each operation.

    Source: `tf.debugging.get_log_device_placement`.
    """
    return _logs


def logs_placement(config: Any) -> bool:
    """Whether a session with this `ConfigProto`, or None, prints the devices of operations."""
    return bool(getattr(config, "log_device_placement", False)) or _logs
