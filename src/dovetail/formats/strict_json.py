"""JSON from files that may be damaged: each problem of the text is one `FormatError`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.core.errors import FormatError


def parse(text: str | bytes, file: Path, place: str) -> Any:
    """Parse a text as JSON.

    Args:
        text: as text, or as UTF-8.
        file: the file that holds it, for errors.
        place: the place in the file, for errors.

    Raises:
        FormatError: it is not JSON, is nested too deeply, has a number without end, or an object with a key twice.

    Example:
        >>> parse('{"a": [1, 2.5]}', Path("numbers"), "the header")
        {'a': [1, 2.5]}
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise FormatError(file, place, "JSON that is nested too deeply", "lists and objects of some levels") from None
    except ValueError as error:  # of JSON, of UTF-8, of numbers with thousands of digits, or one of ours
        raise FormatError(file, place, f"no JSON ({error})", "JSON in UTF-8") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
