"""The names of TensorFlow and Keras that a program uses and that are not offered, each with what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from dovetail.compat.run.imports import Imports
from dovetail.compat.source.sources import Place
from dovetail.compat.source.uses import Use


class Missing(NamedTuple):
    """A name that is not offered, the places that use it, and the message of the error."""

    name: str
    places: list[Place]
    message: str


def missing(uses: Iterable[Use], imports: Imports) -> list[Missing]:
    """Find the names that are not offered, in the order of their first use.

    Args:
        uses: the dotted names of the program.
        imports: the mapping of its imports, by which the names are looked up.
    """
    found: dict[str, Missing] = {}
    told: dict[str, str | None] = {}
    for use in uses:
        if use.how == "replaced" or imports.target(use.name) is None:
            continue
        if use.name not in told:
            told[use.name] = problem_of(use.name, imports)
        problem = told[use.name]
        if problem is not None:
            name = re.sub(r"^tensorflow(_core)?\b", "tf", use.name)
            found.setdefault(name, Missing(name, [], problem)).places.append(use.place)
    return [*found.values()]


def problem_of(name: str, imports: Imports) -> str | None:
    """The message of the error for a dotted name; None if it is there."""
    root, *parts = name.removesuffix(".*").split(".")
    try:
        place: Any = imports.import_module(root)
    except ImportError as problem:
        return str(problem)
    for count, part in enumerate(parts, 1):
        if not isinstance(place, ModuleType):
            return None  # an attribute of a class or of a function
        try:
            place = getattr(place, part)
        except (AttributeError, ImportError) as problem:
            paths = f"{place.__name__}.{part}", ".".join([root, *parts[:count]])
            found = next(filter(None, map(_module, (import_module, imports.import_module), paths)), None)
            if found is None:
                return str(problem)
            place = found
    return None


def _module(load: Callable[[str], Any], path: str) -> Any:
    """The module of a path; None if there is none."""
    try:
        return load(path)
    except ImportError:
        return None


def said(names: Iterable[Missing]) -> str:
    """The list for people to read."""
    lines = []
    for name, places, message in names:
        some = ", ".join(map(str, dict.fromkeys(places[:3]))) + (", …" if len(places) > 3 else "")
        lines += [f"  {name}  ({some})", f"    {message.partition(' is not offered. ')[2] or message}"]
    return "\n".join(lines)
