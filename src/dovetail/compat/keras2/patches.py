"""What is changed of Keras 3, as rows: so one place applies them, and one table says what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Patch(NamedTuple):
    """An attribute and what is put there.

    Attributes:
        owner: the module or class.
        name: the attribute's name.
        value: what it becomes; it may call what was there.
    """

    owner: Any
    name: str
    value: Any

    def apply(self) -> None:
        """Puts it there."""
        setattr(self.owner, self.name, self.value)


def methods(owner: Any, **values: Any) -> Iterable[Patch]:
    """Patches of one class or module, by name."""
    return [Patch(owner, name, value) for name, value in values.items()]


def wrapped(owner: Any, name: str, wrap: Callable[[Any], Any]) -> Patch:
    """A patch that is made of what stands there now."""
    return Patch(owner, name, wrap(getattr(owner, name)))
