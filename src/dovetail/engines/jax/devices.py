"""JAX's devices by Dovetail's names.

JAX computes on the device on which its caller put the arguments, and refuses arguments on several devices.  An array
that was not put on a device goes along.
"""

from __future__ import annotations

from typing import Any

import jax

from dovetail.core.devices import device_for

_GPUS = ("gpu", "cuda", "rocm")
_SAID = {  # errors about several devices: JAX's words → words to put before them
    "incompatible devices": "",
    "compiled for input shardings that disagree": "incompatible devices: ",
}


def devices() -> list[Any]:
    """The devices of JAX's default platform, then the CPUs."""
    found = jax.devices()
    return found if found[0].platform == "cpu" else [*found, *jax.devices("cpu")]


def name_of(device: Any) -> str:
    return f"{'gpu' if device.platform in _GPUS else device.platform}:{device.id}"


def named(name: str) -> Any:
    return next(device for device in devices() if name_of(device) == name)


def placed(array: Any, device: str | None = None) -> Any:
    """A new array, moved to the device that `device_for` gives."""
    name = device_for("jax", device)
    return array if name is None or isinstance(array, jax.core.Tracer) else jax.device_put(array, named(name))


def is_of_host(array: Any) -> bool:
    """Whether an array is in the memory of a CPU while JAX computes on other devices."""
    return jax.default_backend() != "cpu" and all(device.platform == "cpu" for device in array.devices())


def told(error: ValueError) -> ValueError:
    """JAX's error about arguments on several devices, with advice; any other error itself."""
    said = str(error)
    for words, first in _SAID.items():
        if words in said:
            return ValueError(f"{first}{said.rstrip('.')}. Move one of them, as in ops.convert(x, device=...).")
    return error
