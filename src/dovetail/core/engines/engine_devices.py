"""The devices of an engine, and how arrays come to them."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar


class Devices:
    """The part of an engine that knows its devices.

    Attributes:
        prefers_cpu: whether the library makes new values on the processor, though it has a GPU.
        device_types: the types of devices that this engine alone has, as "fpga"; a device of such a type means the
            engine.  "auto" never chooses such an engine.
    """

    prefers_cpu: ClassVar[bool] = False
    device_types: ClassVar[tuple[str, ...]] = ()

    def devices(self: Any) -> list[str]:
        """The devices it can compute on here, best first ("gpu:0", "cpu:0")."""
        return ["cpu:0"] if self.holder is self else self.holder.devices()

    def device_of(self, value: Any) -> str:
        return "cpu:0"

    def put_on(self, value: Any) -> str | None:
        """The device that an array was put on; None if it goes along with the arrays that it meets."""
        return self.device_of(value)

    @functools.cached_property
    def has_devices(self) -> bool:
        """Whether there are several devices."""
        return len(self.devices()) > 1

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        """The context of one call that makes new values on a device; `asarray` also asks `device_for`."""
        return nullcontext()

    def to_device(self, value: Any, device: str) -> Any:
        """Move a native array to one of the devices, where it stays."""
        return value

    def beside(self, value: Any, other: Any) -> Any:
        """Move a native array to the device of another one of its shape, or divide it in the same way."""
        return self.to_device(value, self.device_of(other))

    def _require_whole(self, value: Any) -> None:
        """Raise ValueError for an array that is divided among devices, so that nobody gathers it unasked."""
