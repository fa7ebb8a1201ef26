"""The names of TensorFlow and Keras that a program uses and that are not offered, each with what to write."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

from dovetail.compat.run.imports import Imports
from dovetail.compat.source.sources import Place
from dovetail.compat.source.uses import OPEN, Use


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
    by_name: dict[str, Missing] = {}
    problem = functools.cache(problem_of)
    for use in uses:
        is_wanted = use.how not in (*OPEN, "replaced") and imports.target(use.name)
        said = problem(use.name, imports) if is_wanted else None
        if said is not None:
            name = re.sub(r"^tensorflow(_core)?\b", "tf", use.name)
            by_name.setdefault(name, Missing(name, [], said)).places.append(use.place)
    return [*by_name.values()]


def problem_of(name: str, imports: Imports) -> str | None:
    """The message of the error for a dotted name; None if it is there."""
    path, *parts = name.removesuffix(".*").split(".")
    try:
        place: Any = imports.import_module(path)
        for part in parts:
            if not isinstance(place, ModuleType):
                return None  # an attribute of a class or of a function
            place = imports.member(place, path, part)
            path = f"{path}.{part}"
    except (AttributeError, ImportError) as problem:
        return str(problem)
    return None


def said(names: Iterable[Missing]) -> str:
    """The list for people to read."""
    lines = []
    for name, places, message in names:
        some = ", ".join(map(str, dict.fromkeys(places[:3]))) + (", …" if len(places) > 3 else "")
        lines += [f"  {name}  ({some})", f"    {message.partition(' is not offered. ')[2] or message}"]
    return "\n".join(lines)
