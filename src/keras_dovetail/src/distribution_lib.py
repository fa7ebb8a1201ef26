"""The devices that Keras' distribution API asks for.  Tensors are not distributed: a model has one device."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.core.engine_registry import current_engine


def list_devices(device_type: str | None = None) -> list[str]:
    """The devices of the current engine, as "cpu:0".

    Args:
        device_type: "cpu", "gpu" or "tpu": only devices of this kind.

    Example:
        >>> list_devices("cpu")
        ['cpu:0']
    """
    names = list(current_engine().devices())
    return [name for name in names if device_type is None or name.startswith(device_type.lower())]


def get_device_count(device_type: str | None = None) -> int:
    """The number of devices of the current engine, of a kind if one is given."""
    return len(list_devices(device_type))


def num_processes() -> int:
    """The number of processes that train a model together: one."""
    return 1


def process_id() -> int:
    """The number of this process: zero."""
    return 0


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("the dovetail backend does not distribute a model over devices or processes.")


initialize = initialize_rng = distribute_tensor = distribute_data_input = _refuse
_to_backend_mesh = _to_backend_layout = _refuse
