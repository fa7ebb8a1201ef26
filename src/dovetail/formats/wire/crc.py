"""The checksums of TensorFlow's files: CRC32C, rotated and shifted so that a checksum may lie beside its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dovetail.formats.wire.libraries import library

DELTA, ALL = 0xA282EAD8, 0xFFFFFFFF


def masked(*parts: Any) -> int:
    """The masked checksum of bytes.

    Args:
        parts: bytes, or arrays without gaps; they are taken as one text.

    Example:
        >>> hex(masked(b"123456789")), masked(b"1234", b"56789") == masked(b"123456789")
        ('0xc78ab0e5', True)
    """
    return masked_whole(parts)


def masked_whole(parts: Iterable[Any]) -> int:
    """The masked checksum of parts that need not exist at once; see `masked`."""
    extend, crc = library("google_crc32c").extend, 0
    for part in parts:
        if len(part):
            view = np.frombuffer(part, np.uint8)
            view.flags.writeable = False  # a view of its own; the library takes no memory that may change
            crc = extend(crc, view)
    return (((crc >> 15) | (crc << 17)) + DELTA) & ALL


def masked_bytes(*parts: Any) -> bytes:
    """The masked checksum of bytes, as files have it."""
    return masked(*parts).to_bytes(4, "little")
