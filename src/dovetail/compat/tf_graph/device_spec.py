"""Devices as TensorFlow writes them, "/job:worker/task:0/device:GPU:1": parsed, merged, and written.

Such a text is a `Wish`: it holds if there is such a device.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields, replace
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.wish import Wish

KINDS = ("CPU", "GPU", "TPU")  # allowed without the word "device"


@dataclass(frozen=True)
class DeviceSpec:
    """A device, described in full or in part.

    Attributes:
        job, replica, task: the process that has it; the word "localhost" and the number 0 mean this one.
        device_type: "CPU" or "GPU".
        device_index: its number among the devices of this type.

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
        """Parse the form that `to_string` writes, and the short forms "/gpu:0", "gpu:0", "/cpu:*", "GPU".

        Raises:
            TypeError: `spec` is no string.
            ValueError: a part has none of these forms, or there are several devices.
        """
        if not isinstance(spec, str):
            raise op_error(TypeError, "device", f'a device is a string, as "/gpu:0", not {spec!r}.')
        parts: dict[str, Any] = {}
        for part in filter(None, spec.split("/")):
            known = _part(part.split(":"))
            if known is None:
                problem = f"{part!r} in {spec!r} is no part of a device: write /job:worker/task:0/device:GPU:0."
                raise op_error(ValueError, "device", problem)
            if "device_type" in known and "device_type" in parts:
                raise op_error(ValueError, "device", f"{spec!r} names two devices.")
            parts |= known
        return cls(**parts)

    def to_string(self) -> str:
        """The text in TensorFlow's form, with each part that is given."""
        said = [(name, getattr(self, name)) for name in ("job", "replica", "task")]
        parts = [f"/{name}:{value}" for name, value in said if value is not None]
        if self.device_type is not None:
            parts.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """This spec with the parts of another one, which win over its own."""
        said = {f.name: getattr(dev, f.name) for f in fields(dev)}
        return replace(self, **{name: value for name, value in said.items() if value is not None})

    def replace(self, **parts: Any) -> DeviceSpec:
        """This spec with other parts."""
        return replace(self, **parts)

    @property
    def is_here(self) -> bool:
        """Whether the device may be in this process."""
        return self.job in (None, "localhost") and self.replica in (None, 0) and self.task in (None, 0)


def _part(words: list[str]) -> dict[str, Any] | None:
    """The fields that one part sets; None if the part is unknown."""
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


def written(device: str | None) -> str:
    """A device in TensorFlow's form; an empty text for none.

    Example:
        >>> written("gpu:1"), written("/job:ps"), written(None)
        ('/device:GPU:1', '/job:ps', '')
    """
    if not device or device.startswith("/"):
        return device or ""
    kind, _, number = device.partition(":")
    return f"/device:{kind.upper()}:{number or '*'}"


class SpecifiedWish(Wish):
    """A wish in TensorFlow's form, which gives one inside of it the parts that that one leaves open."""

    def around(self, inner: Wish) -> Wish:
        """The wish of a scope inside the scope of this one."""
        parts = DeviceSpec.from_string(self).make_merged_spec(DeviceSpec.from_string(inner))
        return wish_of(parts.to_string())


@functools.lru_cache(maxsize=1000)
def wish_of(text: str) -> Wish:
    """The wish that a text in TensorFlow's form means.

    Raises:
        TypeError, ValueError: as for `DeviceSpec.from_string`.

    Example:
        >>> wish = wish_of("/job:ps/gpu:1")
        >>> wish, wish.kind, wish.number, wish.is_here
        ('/job:ps/device:GPU:1', 'gpu', 1, False)
    """
    spec = DeviceSpec.from_string(text)
    kind = None if spec.device_type is None else spec.device_type.lower()
    return SpecifiedWish(spec.to_string(), kind, spec.device_index, spec.is_here)


def as_device(name: Any) -> Any:
    """The device of an operation: a wish if it is in TensorFlow's form, else the engine's own name."""
    return wish_of(name) if isinstance(name, str) and name.startswith("/") else name or None
