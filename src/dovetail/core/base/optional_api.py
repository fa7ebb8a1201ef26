"""Libraries that may not be installed, and their non-public parts, which other versions may lack.

An engine declares a rule only if its library has the parts that the rule needs.  Otherwise the op's body computes it,
or a rule of public functions.  `FOUND` and `GONE` list the parts that the installed versions have and lack, for a test.
"""

from __future__ import annotations

from functools import reduce
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

FOUND: set[str] = set()
GONE: set[str] = set()


def optional_api(library: Any, name: str) -> Any:
    """The part of a library that a dotted name names; None if this version does not have it."""
    try:
        part = reduce(getattr, name.split("."), library)
    except (AttributeError, RuntimeError):
        part = None
    (GONE if part is None else FOUND).add(f"{library.__name__}.{name}")
    return part


def spec_of(library: str) -> ModuleSpec | None:
    """The spec of a library, which is not imported; None if it is not installed.

    A finder of a program may refuse a library by any error.  A program may also put a module without a spec in its
    place.  Such a library counts as not installed.

    Args:
        library: the name of its module.

    Example:
        >>> spec_of("numpy").name, spec_of("no_such_library")
        ('numpy', None)
    """
    try:
        return find_spec(library)
    except Exception:
        return None
