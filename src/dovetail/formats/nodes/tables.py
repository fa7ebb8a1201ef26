"""Tables of a format's types, and the functions and decorators by which the families of its ops fill them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from dovetail.formats.nodes.bodies import add_common
from dovetail.formats.nodes.rows import Row, rows_of
from dovetail.formats.nodes.writing import Table, adder

Added = TypeVar("Added", bound=Callable[..., Any])


def setter(table: dict[str, Any]) -> Callable[[str], Callable[[Added], Added]]:
    """Make a decorator, (types), that sets the function of some types in a table."""

    def decorator(types: str) -> Callable[[Added], Added]:
        def add(function: Added) -> Added:
            table.update(dict.fromkeys(types.split(), function))
            return function

        return add

    return decorator


class Tables:
    """The tables of a format, but for that of rows, in which each format looks rows up in its own way.

    Args:
        add: adds a row to the format's own table.
        unused: attributes that change nothing in Dovetail's ops.

    Attributes:
        functions: Dovetail's type → functions, (place, *arguments of the op, with values for tensors) → results.
        bodies: Dovetail's type → bodies, (op, *its arguments) → results, by other ops.
        refused: Dovetail's type → the reason why the format cannot compute it.
        writes, body: decorators, (types, when), that add to `functions` and `bodies`.
    """

    def __init__(self, add: Callable[[Row], None], unused: Collection[str] = ()) -> None:
        self._add, self._unused = add, unused
        self.functions: Table = {}
        self.bodies: Table = {}
        self.refused: dict[str, str] = {}
        self.writes, self.body = adder(self.functions), adder(self.bodies)
        add_common(self.body)

    def rows(self, text: str) -> None:
        """Add the rows of types that one op computes; a function in `row` may read a type of them."""
        for one in rows_of(text.strip(), self._unused):
            self._add(one)

    def row(self, *texts: str) -> Callable[[Added], Added]:
        """Decorator of a function of tensors and static values that computes some types.

        Args:
            texts: rows, without an op.
        """

        def add(function: Added) -> Added:
            for text in texts:
                for one in rows_of(text, self._unused, function):
                    self._add(one)
            return function

        return add

    def no_way(self, types: Iterable[str], reason: str) -> None:
        """Note the reason why the format cannot compute some types."""
        self.refused.update(dict.fromkeys(types, reason))
