"""Keys of the slices of a variable in a checkpoint, whose order as bytes is the order of the slices.

Source: `EncodeTensorNameSlice` and `OrderedCode` of TensorFlow.
"""

from __future__ import annotations

from typing import Any

WHOLE = 0, -1  # the start and the length of a dimension that is not cut


def slice_key(name: str, part: Any) -> bytes:
    """The key of a slice.

    Args:
        name: the variable.
        part: a message `TensorSliceProto`.
    """
    found = _number(0) + _string(name.encode()) + _number(len(part.extent))
    for extent in part.extent:
        for number in (extent.start, extent.length) if is_cut(extent) else WHOLE:
            found += _signed(number)
    return found


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
