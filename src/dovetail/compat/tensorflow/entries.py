"""The entries of the table of TensorFlow's names: name → value, in the words of TensorFlow 1 and of TensorFlow 2.

A module of `names` declares its entries when it is imported: when a program first asks for one of them.  The file
`names/index.txt` says which module that is; `python docs/tf_index.py` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

NAMES = "dovetail.compat.tensorflow.names"
INDEX = "names/index.txt"


def words_of(file: str) -> list[list[str]]:
    """The words of each line of a file beside this module."""
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as opened:
        return [line.split() for line in opened]


class Place(NamedTuple):
    """An entry in the index: the kind of its value, and the module that declares it.

    The kinds are "class", "function", "module", "value", and "later" for a value from an optional library.
    """

    kind: str
    module: str


class Second(NamedTuple):
    """The value of a second name: that of the first one, in a view."""

    first: str
    view: str


class Lazy:
    """A value that is made when a program asks for its name.

    Args:
        make: a function that returns the value.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class Entries(Mapping[str, Any]):
    """The entries of one view of the table; nobody changes an entry after its module declared it.

    Args:
        view: "v1" or "v2".

    Attributes:
        declared: the entries of the modules that are imported.
    """

    def __init__(self, view: str) -> None:
        self.view = view
        self.declared: dict[str, Any] = {}

    @cached_property
    def index(self) -> dict[str, Place]:
        """Name → its place, from the file, without an import of any module of names."""
        lines = words_of(INDEX)
        return {name: Place(kind, module) for name, views, kind, module in lines if self.view in views.split("+")}

    def __getitem__(self, name: str) -> Any:
        if name not in self.declared:
            import_module(f"{NAMES}.{self.index[name].module}")
        value = self.declared[name]
        return VIEWS[value.view][value.first] if type(value) is Second else value

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)


V1, V2 = Entries("v1"), Entries("v2")
VIEWS = {"v1": V1, "v2": V2}


def value(names: str, value: Any, views: str = "v1 v2") -> None:
    """Add names of a class, a constant, or another value that needs no other parameter names.

    Args:
        names: with spaces between.
        value: the value of the names.
        views: the views that get the names.
    """
    for view in views.split():
        for name in names.split():
            if name in VIEWS[view].declared:
                raise ValueError(f"tf.{name} stands in the table twice.")
            VIEWS[view].declared[name] = value


def lazy(names: str, make: Callable[[], Any], views: str = "v1 v2") -> None:
    """Add names with values from an optional library, which is imported when a program asks for one of them."""
    value(names, Lazy(make), views)


def second(names: str, first: str, views: str = "v1", of: str = "v1") -> None:
    """Add second names of a name.

    Args:
        names: with spaces between.
        first: the name whose value they have.
        views: the views that get the names.
        of: the view of the first name.
    """
    value(names, Second(first, of), views)


def named(name: str, view: str = "v1") -> Any:
    """The value of a name that a program, or a table, gives as a text.

    Raises:
        KeyError: there is no such name.
    """
    return VIEWS[view][name]


def import_all() -> None:
    """Import all modules that declare names."""
    for module in {place.module for view in VIEWS.values() for place in view.index.values()}:
        import_module(f"{NAMES}.{module}")
