"""Patterns of RE2, TensorFlow's regular expressions, as patterns of Python's `re`.

RE2's classes `\\d`, `\\s` and `\\w` are of ASCII, `$` is the end of the text, and Python has no classes `\\pL` and
`[[:alpha:]]`.  All else is written alike; RE2 has neither references back nor looks around.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from dovetail.core.base.read_limits import PastLimit, budget, read_limits, spending
from dovetail.formats.host import regex_search
from dovetail.formats.host.regex_search import is_short, search
from dovetail.formats.nodes.opaque import Unreadable

ASCII = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
PARTS = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\(?P<sign>[pP])(?:\{(?P<negated>\^?)(?P<name>\w+)\}|(?P<letter>\w))"
    r"|\[:(?P<no>\^?)(?P<posix>\w+):\]|\\(?P<escape>.)|(?P<other>.)",
    re.DOTALL,
)


def searched(pattern: str, texts: Sequence[str], rewrite: str | None = None, count: int = 0) -> list[Any]:
    """Whether a pattern of RE2 matches each text as a whole; with a rewrite, the texts with it in place of the matches.

    A pattern whose search may be long is searched for in another process, which ends when its time is over.

    Args:
        pattern, rewrite: of RE2.
        texts: the texts.
        count: how many matches of a text are replaced; 0 for all.

    Raises:
        Unreadable: Python's `re` does not have it, or no process starts.
        PastLimit: the searches of a file take longer than the limit, or this one of a call.

    Example:
        >>> searched(r"[[:punct:]]+", ["a,b!"], "")
        ['ab']
    """
    known, most = translated(pattern), read_limits().seconds
    with spending() as seconds:
        if seconds > 0 and is_short(known, ["".join(texts)] if budget() else texts):  # a file may have many texts
            return search(known, texts, rewrite, count)
        command = [sys.executable or "python3", "-I", "-S", regex_search.__file__]
        task = json.dumps([known, list(texts), rewrite, count])
        try:
            done = subprocess.run(command, input=task, capture_output=True, text=True, timeout=seconds, check=True)
        except subprocess.TimeoutExpired:
            raise PastLimit("seconds", f"searches, the last for {pattern[:80]!r}, of {most} s", most) from None
        except (OSError, subprocess.CalledProcessError) as error:
            problem = f"its pattern {pattern[:80]!r} needs a process of its own, which fails"
            raise Unreadable(f"{problem}: {getattr(error, 'stderr', error)!s:.200}") from None
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=256)
def translated(pattern: str) -> str:
    """A pattern of RE2 as one of Python, for text.

    Raises:
        Unreadable: Python does not have it.
    """
    known = "".join(_parts(pattern))
    try:
        re.compile(known, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise Unreadable(f"its pattern {pattern[:80]!r} is none of Python's re: {error}") from None
    return known


def _parts(pattern: str) -> Iterator[str]:
    is_class = False  # whether the place is between brackets
    for part in PARTS.finditer(pattern):
        if part["quoted"] is not None:
            yield re.escape(part["quoted"])
        elif part["sign"]:
            is_negated = (part["sign"] == "P") != bool(part["negated"])
            yield from _class(_category(part["name"] or part["letter"]), is_negated, is_class)
        elif part["posix"] and is_class:
            if part["posix"] not in ASCII:
                raise Unreadable(f"its pattern has a class [:{part['posix']}:] that RE2 does not have")
            yield from _class(ASCII[part["posix"]], bool(part["no"]), is_class)
        elif part["escape"]:
            yield {"z": r"\Z", "C": "."}.get(part["escape"], part[0])
        elif is_class:
            is_class = part[0] != "]" or pattern[: part.start()].endswith(("[", "[^"))
            yield re.escape(part[0]) if part[0] in "[&|~" else part[0]
        else:
            is_class = part[0] == "["
            yield r"\Z" if part[0] == "$" else part[0]


def _class(ranges: str, is_negated: bool, is_inside: bool) -> Iterator[str]:
    if is_negated and is_inside:
        raise Unreadable("its pattern has a negated class between brackets")
    yield ranges if is_inside else f"[{'^' if is_negated else ''}{ranges}]"


@functools.cache
def _category(name: str) -> str:
    """The characters of a category of Unicode, such as L or Lu, as ranges."""
    members = [number for kind, numbers in _categories().items() if kind.startswith(name) for number in numbers]
    if not members:
        raise Unreadable(f"its pattern has the class {name!r}, which is no category of Unicode")
    ranges: list[list[int]] = []
    for number in sorted(members):
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


@functools.cache
def _categories() -> dict[str, list[int]]:
    """Each category of Unicode with its characters."""
    categories: dict[str, list[int]] = {}
    for number in range(sys.maxunicode + 1):
        categories.setdefault(unicodedata.category(chr(number)), []).append(number)
    return categories
