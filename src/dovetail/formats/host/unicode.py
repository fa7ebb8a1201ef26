"""Code points of strings, in the encodings that Python knows."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.formats.host.arrays import packed, splits_of
from dovetail.formats.nodes.opaque import Unreadable

MARK = 0xD800  # one more than this marks a byte that is no text, two more two bytes; such code points are no text


def _marked(error: UnicodeError) -> tuple[str, int]:
    """A mark for bytes that are no text."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(MARK + error.end - error.start), error.end


codecs.register_error("dovetail.marks", _marked)


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise Unreadable(f"Python has no encoding {name!r}") from None


def decode(
    texts: np.ndarray,
    *,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    Tsplits: Any = None,
) -> list[np.ndarray]:
    """The code points of strings, and where they begin.

    Args:
        texts: the strings.
        input_encoding: their encoding, as "UTF-8".
        errors: "replace", "ignore" or "strict", for bytes that are no text.
        replacement_char: the code point in place of such bytes.
        replace_control_characters: whether it stands for control characters, too.
        Tsplits: the dtype of the splits; int64, if not given.

    Returns:
        The splits of the strings' rows, the code points, int32, and the numbers of their first bytes, int64.

    Raises:
        ValueError: with "strict", some bytes are no text.
        Unreadable: Python does not have the encoding.

    Example:
        >>> [part.tolist() for part in decode(packed(["aé".encode()]), input_encoding="UTF-8")]
        [[0, 2], [97, 233], [0, 1]]
    """
    encoding = _codec(input_encoding)

    def points(data: bytes) -> Iterator[tuple[int, int]]:
        """Pairs of a code point and the number of its first byte."""
        at = 0
        for char in data.decode(encoding, "dovetail.marks"):
            number = ord(char)
            is_mark = MARK < number <= MARK + 8
            if is_mark and errors == "strict":
                raise ValueError(f"{data!r} is no {encoding}.")
            if not is_mark or errors == "replace":
                is_other = is_mark or (replace_control_characters and (number < 32 or number == 127))
                yield replacement_char if is_other else number, at
            at += number - MARK if is_mark else len(char.encode(encoding))

    rows = [list(points(data)) for data in texts.reshape(-1).tolist()]
    pairs = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    return [splits_of(rows, Tsplits), pairs[:, 0].astype(np.int32), pairs[:, 1]]


def encode(
    points: np.ndarray,
    splits: np.ndarray,
    *,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
) -> np.ndarray:
    """The strings of rows of code points; those that are none are replaced, left out or refused.

    Args:
        points: the code points of all rows.
        splits: where the rows begin and end.
        output_encoding, errors, replacement_char: as for `decode`.

    Example:
        >>> encode(np.array([97, 233]), np.array([0, 1, 2]), output_encoding="UTF-8")
        array([b'a', b'\\xc3\\xa9'], dtype=object)
    """
    encoding, instead = _codec(output_encoding), [replacement_char] if errors == "replace" else []

    def encoded(row: list[int]) -> bytes:
        wrong = {point for point in row if not 0 <= point < 0x110000 or 0xD800 <= point < 0xE000}
        if wrong and errors == "strict":
            raise ValueError(f"{min(wrong)} is no code point.")
        known = [new for point in row for new in (instead if point in wrong else [point])]
        return "".join(map(chr, known)).encode(encoding)

    return packed([encoded(points[first:last].tolist()) for first, last in pairwise(splits)])


def transcode(
    texts: np.ndarray,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
) -> np.ndarray:
    """Strings in another encoding; see `decode` and `encode`."""
    how: Any = {"errors": errors, "replacement_char": replacement_char}
    controls = replace_control_characters
    splits, points, _ = decode(texts, input_encoding=input_encoding, replace_control_characters=controls, **how)
    return encode(points, splits, output_encoding=output_encoding, **how).reshape(texts.shape)
