"""Devices as TensorFlow writes them, "/job:worker/task:0/device:GPU:1": read, merged, and looked up among an engine's.

What is written so is a wish: it holds where there is such a device.  What an engine calls its devices, as "gpu:1", is
no wish, and must be there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields, replace
from typing import Any, TypeGuard

from dovetail.core.errors import op_error

KINDS = ("CPU", "GPU", "TPU")  # may stand without the word "device"


@dataclass(frozen=True)
class DeviceSpec:
    """A device, of which not everything must be said.

    Attributes:
        job, replica, task: of the process that has it; the word "localhost" and the number 0 stand for this one.
        device_type: "CPU" or "GPU".
        device_index: which one of them.

    Source: `tf.DeviceSpec`.

    Example:
        >>> DeviceSpec.from_string("/job:worker/task:0/gpu:1")
        DeviceSpec(job='worker', replica=None, task=0, device_type='GPU', device_index=1)
        >>> DeviceSpec.from_string("/cpu:0").make_merged_spec(DeviceSpec(job="worker")).to_string()
        '/job:worker/device:CPU:0'
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Reads what `to_string` writes, and the short forms "/gpu:0", "gpu:0", "/cpu:*", "GPU".

        Raises:
            TypeError: it is no string.
            ValueError: a part is none of these, or there are several devices.
        """
        if not isinstance(spec, str):
            raise op_error(TypeError, "device", f'a device is a string, as "/gpu:0", not {spec!r}.')
        found: dict[str, Any] = {}
        for part in filter(None, spec.split("/")):
            known = _part(part.split(":"))
            if known is None:
                problem = f"{part!r} in {spec!r} is no part of a device: write /job:worker/task:0/device:GPU:0."
                raise op_error(ValueError, "device", problem)
            if "device_type" in known and "device_type" in found:
                raise op_error(ValueError, "device", f"{spec!r} names two devices.")
            found |= known
        return cls(**found)

    def to_string(self) -> str:
        """As TensorFlow writes it, with each part that is said."""
        said = [(name, getattr(self, name)) for name in ("job", "replica", "task")]
        parts = [f"/{name}:{value}" for name, value in said if value is not None]
        if self.device_type is not None:
            parts.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """This one, with what another one says in front of what it says itself."""
        said = {f.name: getattr(dev, f.name) for f in fields(dev)}
        return replace(self, **{name: value for name, value in said.items() if value is not None})

    def replace(self, **parts: Any) -> DeviceSpec:
        """This one with other parts."""
        return replace(self, **parts)

    @property
    def is_here(self) -> bool:
        """Whether it is one of this process."""
        return self.job in (None, "localhost") and self.replica in (None, 0) and self.task in (None, 0)


def _part(words: list[str]) -> dict[str, Any] | None:
    """What one part says; None if it is not known."""
    match words:
        case ["job", name]:
            return {"job": name}
        case ["replica" | "task" as what, number] if number.isdecimal():
            return {what: int(number)}
        case ["device", kind, *number]:
            return _device(kind, number)
        case [kind, *number] if kind.upper() in KINDS:
            return _device(kind.upper(), number)
    return None


def _device(kind: str, number: list[str]) -> dict[str, Any] | None:
    match number:
        case [] | ["*"]:
            return {"device_type": kind, "device_index": None}
        case [digits] if digits.isdecimal():
            return {"device_type": kind, "device_index": int(digits)}
    return None


def is_wish(device: Any) -> TypeGuard[str]:
    """Whether a device is written as TensorFlow writes it, so that it need not be there."""
    return isinstance(device, str) and device.startswith("/")


def written(device: str | None) -> str:
    """A device as TensorFlow writes it; of none, nothing.

    Example:
        >>> written("gpu:1"), written("/job:ps"), written(None)
        ('/device:GPU:1', '/job:ps', '')
    """
    if not device or is_wish(device):
        return device or ""
    kind, _, number = device.partition(":")
    return f"/device:{kind.upper()}:{number or '*'}"


def names_device(wish: str) -> bool:
    """Whether it says a device, and not only a process."""
    spec = DeviceSpec.from_string(wish)
    return spec.device_type is not None or not spec.is_here


@functools.lru_cache(maxsize=1000)
def granted(wish: str, devices: tuple[str, ...]) -> str | None:
    """The first of an engine's devices that is meant; None if none is, or if nothing is said of the device.

    Example:
        >>> granted("/device:CPU:*", ("gpu:0", "cpu:0")), granted("/job:ps/device:CPU:0", ("cpu:0",))
        ('cpu:0', None)
    """
    spec = DeviceSpec.from_string(wish)
    if spec.device_type is None or not spec.is_here:
        return None
    kind, index = spec.device_type.lower(), spec.device_index
    return next((d for d in devices if d == f"{kind}:{index}" or (index is None and d.startswith(f"{kind}:"))), None)
