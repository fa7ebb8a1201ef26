"""Pin: where values are made and operations computed, by names."""

from __future__ import annotations

from typing import NamedTuple


class Pin(NamedTuple):
    """An engine, a device and a part; None leaves one of them open.

    Example:
        >>> Pin(device="gpu:0").over(Pin("torch", "cpu:0", part=1))
        Pin(engine='torch', device='gpu:0', part=1)
    """

    engine: str | None = None
    device: str | None = None
    part: int | str | None = None

    @property
    def of_gradient(self) -> Pin:
        """The pin of the gradient of an operation with this one: its part is another one, which runs later."""
        return self if self.part is None else self._replace(part=f"gradient of {self.part}")

    def over(self, other: Pin) -> Pin:
        """This pin in place of another one, of which it keeps what this one leaves open; an empty device has none."""
        device = other.device if self.device is None else self.device or None
        return Pin(self.engine or other.engine, device, other.part if self.part is None else self.part)


ANYWHERE = Pin()  # all is left open
