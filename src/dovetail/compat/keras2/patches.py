"""Changes of Keras 3 as rows: one place applies them, and one table lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Patch(NamedTuple):
    """An attribute and its new value.

    Attributes:
        owner: the module or class.
        name: the attribute's name.
        value: the new value; a function may call the one that it replaces.
    """

    owner: Any
    name: str
    value: Any

    def apply(self) -> None:
        """Set the attribute."""
        setattr(self.owner, self.name, self.value)


def methods(owner: Any, **values: Any) -> Iterable[Patch]:
    """Make the patches of one class or module."""
    return [Patch(owner, name, value) for name, value in values.items()]
