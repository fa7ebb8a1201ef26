"""Patterns of RE2, TensorFlow's regular expressions, as patterns of Python's `re`.

RE2's classes `\\d`, `\\s` and `\\w` are of ASCII, `$` is the end of the text, and Python has no classes `\\pL` and
`[[:alpha:]]`.  All else is written alike; RE2 has neither references back nor looks around.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator

from dovetail.formats.opaque import Unreadable

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


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of RE2 as one of Python, for text.

    Raises:
        Unreadable: Python does not have it.

    Example:
        >>> compiled(r"[[:punct:]]+").sub("", "a,b!")
        'ab'
    """
    try:
        return re.compile("".join(_parts(pattern)), re.ASCII)
    except re.error as error:
        raise Unreadable(f"its pattern {pattern!r} is none of Python's re: {error}") from None


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
    found = [chr(number) for number in range(sys.maxunicode + 1) if unicodedata.category(chr(number)).startswith(name)]
    if not found:
        raise Unreadable(f"its pattern has the class {name!r}, which is no category of Unicode")
    ranges: list[list[str]] = []
    for char in found:
        if ranges and ord(ranges[-1][1]) + 1 == ord(char):
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)


def rewriting(rewrite: str) -> Callable[[re.Match[str]], str]:
    """A function of a match that fills in RE2's rewrite text, with `\\1` for a group and `\\0` for the match."""
    parts = re.split(r"\\([0-9\\])", rewrite)

    def filled(match: re.Match[str]) -> str:
        return "".join(
            part if number % 2 == 0 else "\\" if part == "\\" else match[int(part)] or ""
            for number, part in enumerate(parts)
        )

    return filled
