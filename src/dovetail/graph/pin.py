"""Pin: the user's word where an operation is computed."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.core.engine_registry import device_owner
from dovetail.core.wish import Wish, as_wish


class Pin(NamedTuple):
    """An engine, a device and a part; None leaves one of them open.

    Example:
        >>> Pin(device="gpu:0").inside(Pin("torch", "cpu:0", part=1))
        Pin(engine='torch', device='gpu:0', part=1)
    """

    engine: str | None = None
    device: str | None = None
    part: int | str | None = None

    @property
    def of_gradient(self) -> Pin:
        """The pin of the gradient of an operation with this one: its part is another one, which runs later."""
        return self if self.part is None else self._replace(part=f"gradient of {self.part}")

    def inside(self, around: Pin) -> Pin:
        """This pin inside the scope of another one, which gives what it leaves open.

        A device that one engine alone has takes no engine from around it.
        """
        own, other = self.device, around.device
        wish = as_wish(own) if self.engine is None else None
        engine = None if wish is not None and device_owner(wish.kind) else around.engine
        if isinstance(own, Wish) and isinstance(other, Wish):
            own = other.around(own)
        return Pin(self.engine or engine, own or other, around.part if self.part is None else self.part)

    def over(self, other: Pin) -> Pin:
        """This pin in place of another one, of which it keeps what this one leaves open; an empty device has none."""
        device = other.device if self.device is None else self.device or None
        return Pin(self.engine or other.engine, device, other.part if self.part is None else self.part)
