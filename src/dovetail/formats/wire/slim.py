"""Messages without their long strings and arrays: a graph with gigabytes of weights needs little memory.

The fields of a message are found in its bytes, without a class.  A field of at most `SHORT` bytes is kept.  A longer
message is made slim itself, and a longer string or array of numbers is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError
from dovetail.formats.outside import outside
from dovetail.formats.wire.messages import parsed
from dovetail.formats.wire.table import varint

SHORT = 4096  # bytes
DEEPEST = 100  # messages in each other, as in protobuf
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5  # types of fields
SIZES = {EIGHT: 8, FOUR: 4}


class Span(NamedTuple):
    """A field of a message in bytes.

    Attributes:
        number, kind: of the field, and of its coding.
        begin, first, end: where the field begins, where its value begins, and where both end.
    """

    number: int
    kind: int
    begin: int
    first: int
    end: int


def spans(data: Any, at: int, end: int) -> Iterator[Span]:
    """The fields of a message.

    Args:
        data: bytes, which may be mapped.
        at, end: where the message begins and ends.

    Raises:
        ValueError: the bytes are no message.

    Example:
        >>> [tuple(span) for span in spans(b"\\x08\\x05\\x12\\x02hi", 0, 6)]
        [(1, 0, 0, 1, 2), (2, 2, 2, 4, 6)]
    """
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        kind, first = tag & 7, at
        if kind == BYTES:
            size, first = _varint(data, at, end)
            at = first + size
        elif kind == VARINT:
            _, at = _varint(data, at, end)
        elif kind in SIZES:
            at += SIZES[kind]
        else:
            raise ValueError(f"a field of the type {kind} at {begin}")
        if at > end or not tag >> 3:
            raise ValueError(f"a field at {begin} that is longer than its message")
        yield Span(tag >> 3, kind, begin, first, at)


def _varint(data: Any, at: int, end: int) -> tuple[int, int]:
    """A number, and where it ends."""
    number = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at, number, shift = at + 1, number | (byte & 127) << shift, shift + 7
        if byte < 128:
            return number, at
    raise ValueError(f"no whole number at {at}")


def slim(kind: Any, data: Any, file: str | os.PathLike[str], place: str = "the file") -> Any:
    """A message of a class from its bytes, without its long strings and arrays.

    Args:
        kind: the class.
        data: bytes, which may be mapped.
        file, place: for errors.

    Raises:
        FormatError: the bytes are no such message, or it is nested too deeply.
    """
    try:
        short = _slim(kind.DESCRIPTOR, data, 0, len(data), 0)
    except ValueError as error:
        raise FormatError(file, place, outside(file) or f"{error}", f"a {kind.DESCRIPTOR.name}, whole") from None
    return parsed(kind, short, file, place)


def _slim(descriptor: Any, data: Any, at: int, end: int, depth: int) -> bytes:
    if depth > DEEPEST:
        raise ValueError("messages that are nested too deeply")
    parts: list[bytes] = []
    kept = at  # the fields from here on are kept, and not yet in `parts`
    for span in spans(data, at, end):
        if span.kind != BYTES or span.end - span.first <= SHORT:
            continue
        parts.append(data[kept : span.begin])
        kept = span.end
        field = descriptor.fields_by_number.get(span.number)
        if field is not None and field.message_type is not None:
            inner = _slim(field.message_type, data, span.first, span.end, depth + 1)
            parts.append(varint(span.number << 3 | BYTES) + varint(len(inner)) + inner)
    return b"".join([*parts, data[kept:end]])
