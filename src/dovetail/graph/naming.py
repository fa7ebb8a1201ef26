"""Names: the characters that names of scopes and variables may have."""

from __future__ import annotations

import re
from typing import Any

from dovetail.core.errors import describe

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
