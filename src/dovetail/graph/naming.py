"""Names: the characters that names of scopes and variables may have, and names that nothing else in a graph has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import describe
from dovetail.core.base.scopes import scopes
from dovetail.graph.journal import note

if TYPE_CHECKING:
    from dovetail.graph.base import GraphBase
    from dovetail.graph.operation import Operation

_FIRST = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_INSIDE = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def is_name(name: str | None) -> bool:
    """Whether it can be a name outside of scopes."""
    return name is not None and _FIRST.fullmatch(name) is not None


def check_name(name: Any, scope: str = "") -> None:
    r"""Refuse a name that no scope and no variable can have.

    Args:
        name: letters, digits and any of `_ . \ / > -`.
        scope: the scope around; outside of scopes a name begins with a letter, a digit or a dot.

    Raises:
        TypeError: it is no string.
        ValueError: it has another character.

    Source: TensorFlow's rules for names of operations and scopes.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name is a string, not {describe(name)}.")
    if not (_INSIDE if scope else _FIRST).fullmatch(name):
        begin = "" if scope else " It begins with a letter, a digit or a dot."
        raise ValueError(rf"{name!r} cannot be a name. A name has letters, digits and any of _ . \ / > -.{begin}")


def new_scope(graph: GraphBase, name: str | None) -> str:
    """A full name scope inside the open one, with a number if the name is taken.

    Args:
        name: with a slash at its end, a full scope that was open before; empty or None for no scope at all.

    Raises:
        ValueError: the name has a character that no name may have.
    """
    if not name:
        return ""
    check_name(name, graph.scope)
    return name if name.endswith("/") else f"{unique_name(graph, name)}/"


def unique_name(graph: GraphBase, name: str, mark_as_used: bool = True) -> str:
    """A name in the scope of new operations, with a number behind if an operation or a new scope has it.

    Args:
        graph: the graph.
        name: with a slash at its end, a full name, which gets neither.
        mark_as_used: whether the name is taken from now on.

    Raises:
        ValueError: an operation has the full name.
    """
    return unique_in(graph, graph.scope, name, mark_as_used)


def unique_in(graph: GraphBase, scope: str, name: str, mark_as_used: bool = True) -> str:
    """The same in another scope, with its slash."""
    if name.endswith("/"):
        name = name.rstrip("/")
        if name in graph._operations:
            raise ValueError(f"there is an operation {name!r} in the graph {graph.name!r} already.")
        return name
    name = scope + name
    key_of = str.lower if graph.dialect.ignores_case else str  # names with one key get numbers
    key = key_of(name)
    count, unique = graph._counts.get(key), name
    if count is not None or name in graph._operations or key in graph._kept:
        count = count or 0
        while unique in graph._operations or key_of(unique) in graph._counts or key_of(unique) in graph._kept:
            count += 1
            unique = f"{name}_{count}"
    if mark_as_used:
        if key not in graph._kept:
            graph._use_name(key, count or 0)
        if unique != name:
            graph._use_name(key_of(unique), 0)
    return unique


@contextmanager
def keep_names(graph: GraphBase, names: Iterable[str]) -> Iterator[Callable[[str], None]]:
    """Keep names in the scope of new operations free inside the `with` block; the value gives one of them away."""
    scope, key_of = graph.scope, str.lower if graph.dialect.ignores_case else str
    kept = {key_of(scope + name) for name in names} - graph._kept
    graph._kept |= kept
    try:
        yield lambda name: graph._kept.discard(key_of(scope + name))
    finally:
        graph._kept -= kept


def name_new(graph: GraphBase, operation: Operation, name: str) -> None:
    """Give an operation that cannot have run yet another full name, if no operation has that."""
    before = operation.name
    if name not in graph._operations:
        graph._call(operation, name)
        if scopes().undo is not None:
            note(lambda: graph._call(operation, before))
