"""Changes of Keras 3 as rows: one place applies them, undoes them, and lists them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

MISSING = object()  # the value of an attribute that its owner does not have


class Patch(NamedTuple):
    """An attribute and its new value.

    Attributes:
        owner: the module or class; or a dict, whose item is set.
        name: the attribute's name.
        value: the new value, `MISSING` if it is deleted; a function may call the one that it replaces.
    """

    owner: Any
    name: str
    value: Any

    def apply(self) -> Patch:
        """Set the attribute; return the patch that undoes it."""
        owner: Any = self.owner
        if isinstance(owner, dict):
            names, put, take = owner, owner.__setitem__, owner.__delitem__
        else:
            names, put, take = vars(owner), partial(setattr, owner), partial(delattr, owner)
        before = names.get(self.name, MISSING)
        if self.value is not MISSING:
            put(self.name, self.value)
        elif before is not MISSING:
            take(self.name)
        return self._replace(value=before)


class Own:
    """An attribute that a function computes, unless the object has its own value."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else self.function(owner)


def held(owner: Any, name: str) -> Any:
    """The value that an owner has now, or `MISSING`."""
    return (owner if isinstance(owner, dict) else vars(owner)).get(name, MISSING)


def methods(owner: Any, **values: Any) -> Iterable[Patch]:
    """Make the patches of one class or module."""
    return [Patch(owner, name, value) for name, value in values.items()]
