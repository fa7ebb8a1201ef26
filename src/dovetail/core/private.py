"""What engines use of their libraries that is not public: looked up by name, since another version may not have it.

An engine declares a rule only where what the rule needs is there; else the op's body computes it, or a rule of public
functions.  `FOUND` and `GONE` tell what the versions that are installed have, which a test asks.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

FOUND: set[str] = set()
GONE: set[str] = set()


def private(library: Any, name: str) -> Any:
    """Something of a library by its name, with dots; None if this version does not have it."""
    try:
        found = reduce(getattr, name.split("."), library)
    except (AttributeError, RuntimeError):
        found = None
    (GONE if found is None else FOUND).add(f"{library.__name__}.{name}")
    return found
