"""JAX's devices by Dovetail's names.

JAX computes where those of the arguments are that were put on a device, and refuses arguments that were put on several;
an array that was not put anywhere goes along.
"""

from __future__ import annotations

from typing import Any

import jax

from dovetail.core.devices import current_device

_GPUS = ("gpu", "cuda", "rocm")


def devices() -> list[Any]:
    """Those of JAX's default platform, then the processors."""
    found = jax.devices()
    return found if found[0].platform == "cpu" else [*found, *jax.devices("cpu")]


def name_of(device: Any) -> str:
    return f"{'gpu' if device.platform in _GPUS else device.platform}:{device.id}"


def named(name: str) -> Any:
    return next(device for device in devices() if name_of(device) == name)


def current() -> Any:
    """The device of the scope around, None if there is none."""
    name = current_device("jax")
    return None if name is None else named(name)


def placed(array: Any) -> Any:
    """A new array, put on the device of the scope around; asked for only where `scope.get() is not NOWHERE`."""
    device = current()
    return array if device is None or isinstance(array, jax.core.Tracer) else jax.device_put(array, device)


def told(error: ValueError) -> ValueError:
    """What JAX says of arguments on several devices, with what to do about it; any other error itself."""
    said = str(error)
    if "incompatible devices" not in said:
        return error
    return ValueError(f"{said.rstrip('.')}. Move one of them, as in ops.convert(x, device=...).")
