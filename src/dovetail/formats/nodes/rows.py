"""The language of rows: tables that say which op of Dovetail computes an op of another format.

    Sum Prod: x axis!; keep_dims:keepdims
    Squeeze 1-12: x; axes:axis
    And = LogicalAnd: x y

The types of the other format come first, then the versions that the row is for: `7-12`, or `13` for that and all later
ones.  `= Ours` is Dovetail's op if it has another name.  A row is read in both directions; one with `>` is only read
from a file, and one with `<` only written to it.  A row of a function has no op.

Then come the inputs, in the format's order: the parameter of Dovetail's op, and a mark.  `!` marks an input that is
static here, so a constant, `?` a shape, which may be known in part, and `*` a list.  `&` marks a variable, of which the
op takes the value, and `^` one that is then assigned the next result.  `#` marks a list of tensors that nodes pass on,
and `~` a tensor or what such a list may have in its place.

Behind the semicolon are the attributes: `theirs:ours` or one name for both, `@` with a converter, `=` with the only
value that the row takes, and `|` with the format's default if ours is another.  `>` is the number of a result whose
dtype the attribute says; without an attribute the result always has the dtype behind `|`.  `+ours=value` is an argument
that the type itself says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

WORDS = {"True": True, "False": False, "": ""}
WAYS = "!?*&^#~"
LATEST = 1 << 30  # behind all versions


@dataclass(frozen=True)
class Input:
    """An input of a row: the parameter of Dovetail's op, and how it is taken (`""` or a mark)."""

    param: str
    way: str


@dataclass(frozen=True)
class Attribute:
    """An attribute of a row.

    Attributes:
        theirs: the format's name; empty for an argument that the type says.
        ours: the parameter of Dovetail's op; empty if none has the value.
        converter: its name among the format's converters.
        only: the one value that the row takes, or None.
        default: the format's, if it is not the parameter's.
        result: the number of the result whose dtype it says, or None.
    """

    theirs: str
    ours: str
    converter: str
    only: Any
    default: Any
    result: int | None


@dataclass(frozen=True)
class Row:
    """An op of the format from one version to another, and the op or the function that computes it here."""

    type: str
    ours: str
    inputs: tuple[Input, ...]
    attributes: tuple[Attribute, ...]
    is_read: bool = True
    is_written: bool = True
    first: int = 0
    last: int = LATEST
    body: Callable[..., Any] | None = None


def rows_of(text: str, unused: Collection[str] = (), body: Callable[..., Any] | None = None) -> Iterator[Row]:
    """The rows in a text.

    Args:
        text: a row a line, or on several if the others are indented.
        unused: attributes that change nothing in Dovetail's ops.
        body: the function that computes the types, if no op does.
    """
    for line in text.replace("\n    ", " ").splitlines():
        head, _, rest = line.partition(":")
        inputs, _, attributes = rest.partition(";")
        sign = next((sign for sign in ("<", ">") if sign in head), "=")
        theirs, _, ours = head.partition(sign)
        types = theirs.split()
        first, last = _versions(types.pop()) if types and types[-1][0].isdecimal() else (0, LATEST)
        known = tuple(map(_input, inputs.split())), tuple(_attribute(one, unused) for one in attributes.split())
        is_written = body is None and sign != ">"
        for name in types:
            yield Row(name, "" if body else ours.strip() or name, *known, sign != "<", is_written, first, last, body)


def _versions(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    return int(first), int(last) if dash else LATEST


def _input(text: str) -> Input:
    return Input(text.rstrip(WAYS), text[-1] if text[-1] in WAYS else "")


def _attribute(text: str, unused: Collection[str]) -> Attribute:
    text, has_default, default = text.partition("|")
    text, is_result, result = text.partition(">")
    text, is_only, only = text.partition("=")
    text, _, converter = text.partition("@")
    theirs, _, ours = text.partition(":")
    if theirs.startswith("+"):
        return Attribute("", theirs[1:], converter, _word(only), None, None)
    return Attribute(
        theirs,
        "" if is_result or is_only else ours or ("" if theirs in unused else theirs),
        converter,
        _word(only) if is_only else None,
        _word(default) if has_default else None,
        int(result) if is_result else None,
    )


def _word(text: str) -> Any:
    """A number, truth value or word of a row."""
    if text in WORDS or text[0].isalpha():
        return WORDS.get(text, text)
    return int(text) if text.lstrip("-").isdecimal() else float(text)
