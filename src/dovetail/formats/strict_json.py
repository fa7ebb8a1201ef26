"""JSON from files that may be damaged or hostile: each problem of the text is one `FormatError`.

A text of a few bytes can stand for many objects: `[[],[],[]]`.  So the memory of the objects is estimated before they
are made, and a text that would take more than its file allows is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError

ROOM = 48 << 20  # bytes of objects that any file may have
TIMES = 3  # further bytes of objects for each byte of the file
# bytes: a list with its first items, an object, a key of an object, a place in a list, a number, a string
LIST, OBJECT, KEY, PLACE, NUMBER, STRING = 104, 216, 24, 8, 32, 64
SIGNS = (b"[", b"{", b":", b",")
QUOTE = ord('"')
STEPS = np.zeros(256, np.int8)  # byte → the levels that it opens
STEPS[[ord("["), ord("{")]], STEPS[[ord("]"), ord("}")]] = 1, -1
DEEPEST = 600  # levels of lists and objects; Python's own limit differs by its version
LONG = 256  # bytes of a string whose signs are not counted
NEW_KEY, NEW_KEYS = 208, 100_000  # bytes of a key that is no other key; the most of them
STRING_AND_COLON = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)(\s*:)?', re.DOTALL)  # or a string without end


def parse(text: str | bytes, file: Path, place: str, room: int = ROOM, infinite: bool = False) -> Any:
    """Parse a text as JSON.

    Args:
        text: as text, or as UTF-8.
        file: the file that holds it, for errors.
        place: the place in the file, for errors.
        room: the bytes of memory that the objects may take.
        infinite: whether there may be Python's words `Infinity`, `-Infinity` and `NaN`.

    Raises:
        FormatError: it is not JSON, is nested too deeply, has a number without end, or an object with a key twice; or
            its objects would take too much memory.

    Example:
        >>> parse('{"a": [1, 2.5]}', Path("numbers"), "the header")
        {'a': [1, 2.5]}
    """
    try:
        if (needed := memory(text, room)) > room:
            actual = f"JSON whose objects would take {needed >> 20} MB of memory"
            raise FormatError(file, place, actual, f"at most {room >> 20} MB, for a file of this size")
        if _levels(text) > DEEPEST:
            raise RecursionError
        return json.loads(text, object_pairs_hook=_object, parse_constant=float if infinite else _no_number)
    except RecursionError:
        raise FormatError(file, place, "JSON that is nested too deeply", f"at most {DEEPEST} levels") from None
    except FormatError:
        raise
    except ValueError as error:  # of JSON, of UTF-8, of numbers with thousands of digits, or one of ours
        raise FormatError(file, place, f"no JSON ({error})", "JSON in UTF-8") from None


def room_of(size: int) -> int:
    """The bytes of memory that objects may take, for a file of this size."""
    return TIMES * size + ROOM


def size_with(room: int) -> int:
    """The smallest size of a file with this room."""
    return -((ROOM - room) // TIMES)


def memory(text: str | bytes, enough: int = ROOM) -> int:
    """An estimate of the bytes of memory that the objects of a text take.

    Args:
        text: as text, or as UTF-8.
        enough: an estimate of no more than these bytes may be too large.

    Raises:
        ValueError: it has too many different keys.

    Example:
        >>> memory("[[],[],[]]"), memory('{"a": "[[],[],[]]"}', 0)
        (538, 1027)
    """
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    width = 1 if raw.isascii() and b"\\u" not in raw else 4  # bytes of a character
    signs = [raw.count(sign) for sign in SIGNS]
    strings = raw.count(b'"') // 2
    most = _objects(signs, strings) + NEW_KEY * signs[2] + width * len(raw)
    if most <= enough:
        return most
    different: set[bytes] = set()
    strings = 0
    for match in STRING_AND_COLON.finditer(raw):
        strings += 1
        if match[1] is not None:
            different.add(match[0][:64])
        if len(different) > NEW_KEYS:
            raise ValueError(f"it has more than {NEW_KEYS} different keys")
        if match.end() - match.start() > LONG:
            signs = [count - match[0].count(sign) for sign, count in zip(SIGNS, signs, strict=True)]
    return _objects(signs, strings) + NEW_KEY * len(different) + width * len(raw)


def _levels(text: str | bytes) -> int:
    """The levels of lists and objects; a number of at most `DEEPEST` may be too large."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    openings = raw.count(b"[") + raw.count(b"{")
    if openings <= DEEPEST:
        return openings
    signs = np.frombuffer(
        raw.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8
    )  # quotes alone begin and end strings
    inside = np.cumsum(signs == QUOTE, dtype=np.uint8) & 1  # of a string
    return int(np.cumsum(STEPS[signs] * (1 - inside.view(np.int8)), dtype=np.int32).max(initial=0))


def _objects(signs: list[int], strings: int) -> int:
    lists, objects, keys, commas = signs
    words = max(0, strings - keys)
    numbers = max(0, commas + 1 - words)
    return LIST * lists + OBJECT * objects + KEY * keys + PLACE * commas + NUMBER * numbers + STRING * words


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return entries


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
