"""JAX's devices by Dovetail's names.

JAX computes on the device on which its caller put the arguments, and refuses arguments on several devices.  An array
that was not put on a device goes along.  Devices among which arrays are divided have one name together: "cpu:0,1,2,3".
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from dovetail.core.engines.devices import device_for
from dovetail.engines.jax.tables import rules

_GPUS = ("gpu", "cuda", "rocm")
DISAGREEING = "compiled for input shardings that disagree"
_SAID = {  # errors about several devices: JAX's words → words to put before them
    "incompatible devices": "",
    DISAGREEING: "incompatible devices: ",
}


def devices() -> list[Any]:
    """The devices of JAX's default platform, then the CPUs."""
    default = jax.devices()
    return default if default[0].platform == "cpu" else [*default, *jax.devices("cpu")]


def name_of(device: Any) -> str:
    return f"{'gpu' if device.platform in _GPUS else device.platform}:{device.id}"


def name_of_all(value: Any) -> str:
    """The name of an array's device, or of the devices among which it is divided, in the order of their mesh."""
    among = value.devices()
    return name_of(next(iter(among))) if len(among) == 1 else _name(value.sharding)


@functools.lru_cache(1000)
def _name(sharding: Any) -> str:
    mesh = getattr(sharding, "mesh", None)
    members = sorted(sharding.device_set, key=lambda device: device.id) if mesh is None else list(mesh.devices.flat)
    return ",".join([name_of(members[0]), *(str(device.id) for device in members[1:])])


def all_named(name: str) -> list[Any]:
    """The devices of a name."""
    kind, _, numbers = name.partition(":")
    known = {name_of(device): device for device in devices()}
    return [known[f"{kind}:{number}"] for number in numbers.split(",")]


@functools.lru_cache(1000)
def named(name: str) -> Any:
    """The device of a name; of several, the sharding that gives each of them the whole array."""
    members = all_named(name)
    if len(members) == 1:
        return members[0]
    mesh = jax.sharding.Mesh(np.array(members), ("devices",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def placed(array: Any, device: str | None = None) -> Any:
    """A new array, moved to the device that `device_for` gives."""
    name = device_for("jax", device)
    return array if name is None or isinstance(array, jax.core.Tracer) else jax.device_put(array, named(name))


def is_of_host(array: Any) -> bool:
    """Whether an array is in the memory of a CPU while JAX computes on other devices."""
    return jax.default_backend() != "cpu" and all(device.platform == "cpu" for device in array.devices())


def require_whole(value: Any) -> None:
    """Raise ValueError for an array that is divided among devices."""
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_fully_replicated:
        problem = f"an array of shape {value.shape} is divided among {name_of_all(value)}, and stays there"
        raise ValueError(f"{problem}: compute on jax, or gather it by .numpy().")


def told(error: ValueError) -> ValueError:
    """JAX's error about arguments on several devices, with advice; any other error itself."""
    said = str(error)
    for words, first in _SAID.items():
        if words in said:
            return ValueError(f"{first}{said.rstrip('.')}. Move one of them, as in ops.convert(x, device=...).")
    return error


@functools.lru_cache(1000)
def sharding(axes: Any, shape: Any, names: Any, devices: Any) -> jax.sharding.NamedSharding:
    """JAX's object for a layout; the arguments are those of the op `Distribute`."""
    mesh = jax.sharding.Mesh(np.array(list(map(named, devices))).reshape(shape), names)
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))


@rules("Distribute")
def _(x: Any, *layout: Any) -> Any:
    wanted = sharding(*layout)
    if isinstance(x, jax.core.Tracer):
        return jax.lax.with_sharding_constraint(x, wanted)
    return jax.device_put(x, wanted)
