"""Wish: a device that a program asks for, which need not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Wish(str):
    """The text of a device, with what a plan needs to know of it.

    Args:
        text: the text, for people and for other libraries.
        kind: "cpu" or "gpu"; None if the wish names no kind of device.
        number: its number among the devices of this kind; None for the first one.
        is_here: whether it may be in this process.

    Example:
        >>> wish = Wish("/device:GPU:*", "gpu")
        >>> wish.granted(["cpu:0", "gpu:0"]), wish.granted(["cpu:0"])
        ('gpu:0', None)
        >>> Wish("gpu:7", "gpu", 7).nearest(["cpu:0", "gpu:0", "gpu:1"])
        'gpu:1'
    """

    kind: str | None
    number: int | None
    is_here: bool

    def __new__(cls, text: str, kind: str | None = None, number: int | None = None, is_here: bool = True) -> Wish:
        made = super().__new__(cls, text)
        made.kind, made.number, made.is_here = kind, number, is_here
        return made

    @property
    def facts(self) -> list[str | int | bool | None]:
        """The arguments besides the text."""
        return [self.kind, self.number, self.is_here]

    @property
    def names_device(self) -> bool:
        """Whether it names a kind of device, or another process than this one."""
        return self.kind is not None or not self.is_here

    def granted(self, devices: Iterable[str]) -> str | None:
        """The first of an engine's devices that it means; None if it means none, or names no kind of device."""
        if self.kind is None or not self.is_here:
            return None
        start = f"{self.kind}:"
        wanted = (d for d in devices if d == f"{start}{self.number}" or (self.number is None and d.startswith(start)))
        return next(wanted, None)

    def nearest(self, devices: Sequence[str]) -> str:
        """The device with the nearest number among those of its kind; if there is none of its kind, the first one."""
        alike = [device for device in devices if device.startswith(f"{self.kind}:")]
        return min(
            alike, key=lambda device: abs(int(device.partition(":")[2]) - (self.number or 0)), default=devices[0]
        )

    def around(self, inner: Wish) -> Wish:
        """The wish of a scope inside the scope of this one."""
        return inner


def as_wish(device: Any) -> Wish | None:
    """The wish for a device in an engine's form, "gpu:1" or "gpu"; None for what has no such form.

    Example:
        >>> as_wish("gpu:1").facts, as_wish("gpu").number, as_wish("/gpu:0")
        (['gpu', 1, True], None, None)
    """
    if isinstance(device, Wish):
        return device
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if not kind.isidentifier() or (colon and not number.isdecimal()):
        return None
    return Wish(device, kind, int(number) if colon else None)
