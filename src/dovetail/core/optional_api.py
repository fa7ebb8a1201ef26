"""Non-public parts of libraries, which engines look up by name, since other versions may lack them.

An engine declares a rule only if its library has the parts that the rule needs.  Otherwise the op's body computes it,
or a rule of public functions.  `FOUND` and `GONE` list the parts that the installed versions have and lack, for a test.
"""

from __future__ import annotations

from functools import reduce
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
