"""Slices of a variable in a checkpoint: where they are in the whole, and their keys, whose bytes order them.

Source: `EncodeTensorNameSlice` and `OrderedCode` of TensorFlow.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from dovetail.formats.wire.messages import TENSORFLOW

WHOLE = 0, -1  # the start and the length of a dimension that is not cut
_SPEC = re.compile(r"((?:\d+ )+)((?:-|\d+,\d+)(?::(?:-|\d+,\d+))*)")


class Part(NamedTuple):
    """A slice of a variable.

    Attributes:
        whole: the shape of the variable.
        start: where the slice begins in each dimension.
        shape: of the slice.

    Example:
        >>> part = Part((7, 2), (3, 0), (2, 2))
        >>> part.spec, part_of(part.spec) == part, part_of("7 2 3,2:-") == part
        ('7 2 3,2:0,2', True, True)
    """

    whole: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def spec(self) -> str:
        """The text that stands for it in TensorFlow's graphs."""
        extents = ":".join(f"{start},{size}" for start, size in zip(self.start, self.shape, strict=True))
        return f"{' '.join(map(str, self.whole))} {extents}"

    @property
    def box(self) -> tuple[slice, ...]:
        """The index of the slice in the variable."""
        return tuple(slice(start, start + size) for start, size in zip(self.start, self.shape, strict=True))

    @property
    def proto(self) -> Any:
        """The message `TensorSliceProto`."""
        made = TENSORFLOW.TensorSliceProto()
        for start, size in zip(self.start, self.shape, strict=True):
            made.extent.add(start=start, length=size)
        return made


def part_of(spec: str) -> Part | None:
    """The slice of a text; None if the text is empty, for a whole variable.

    Raises:
        ValueError: it is of no slice.
    """
    if not spec:
        return None
    match = _SPEC.fullmatch(spec)
    whole = tuple(map(int, match[1].split())) if match else ()
    extents = match[2].split(":") if match else []
    if len(whole) != len(extents) or not match:
        raise ValueError(f"{spec!r} is no slice")
    pairs = [(0, n) if text == "-" else map(int, text.split(",")) for n, text in zip(whole, extents, strict=True)]
    start, shape = zip(*pairs, strict=True)
    if any(first + size > n for first, size, n in zip(start, shape, whole, strict=True)):
        raise ValueError(f"{spec!r} is outside of the variable")
    return Part(whole, start, shape)


def slice_key(name: str, part: Any) -> bytes:
    """The key of a slice.

    Args:
        name: the variable.
        part: a message `TensorSliceProto`.
    """
    key = _number(0) + _string(name.encode()) + _number(len(part.extent))
    for extent in part.extent:
        for number in (extent.start, extent.length) if is_cut(extent) else WHOLE:
            key += _signed(number)
    return key


def is_cut(extent: Any) -> bool:
    """Whether a slice has only a part of a dimension."""
    return extent.WhichOneof("has_length_hack") is not None


def _number(value: int) -> bytes:
    """A number that is not negative: how many bytes, then they, the highest first."""
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _string(text: bytes) -> bytes:
    """A text that ends by two bytes that it does not contain."""
    escaped = {0: b"\x00\xff", 255: b"\xff\x00"}
    return b"".join(escaped.get(byte, bytes([byte])) for byte in text) + b"\x00\x01"


def _signed(value: int) -> bytes:
    """A number with a sign: the one bits at its start say how many bytes it has; a negative one is inverted."""
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    data = (magnitude | ((1 << size) - 1) << 7 * size).to_bytes(size, "big")
    return bytes(byte ^ 255 for byte in data) if value < 0 else data
