"""Wish: a device that an operation is computed on if it is there."""

from __future__ import annotations

from collections.abc import Iterable


class Wish(str):
    """The text of a device that need not exist, with what a plan needs to know of it.

    A device that is plain text, as "gpu:1", must exist.

    Args:
        text: the text, for people and for other libraries.
        kind: "cpu" or "gpu"; None if the wish names no kind of device.
        number: its number among the devices of this kind; None for the first one.
        is_here: whether it may be in this process.

    Example:
        >>> wish = Wish("/device:GPU:*", "gpu")
        >>> wish.granted(["cpu:0", "gpu:0"]), wish.granted(["cpu:0"])
        ('gpu:0', None)
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
