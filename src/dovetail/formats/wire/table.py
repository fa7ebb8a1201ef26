"""Tables of sorted keys and values in the format of LevelDB, as the index of a checkpoint is one.

A block has entries, each with the length that its key shares with the key before; then the places of the keys that are
whole, one byte for the compression, and a checksum.  The index block has a handle of each block, its offset and size.
The last 48 bytes have the handle of the index block.

Source: https://github.com/google/leveldb/blob/main/doc/table_format.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.crc import masked_bytes

MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER, TRAILER = 48, 5  # bytes
BLOCK, INTERVAL = 2**18, 16  # bytes of a block from which another begins; entries between two whole keys


def varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first.

    Example:
        >>> varint(300)
        b'\\xac\\x02'
    """
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


class Cursor:
    """A place in bytes, from which numbers and further bytes are read.

    Args:
        data: the bytes.
        file, place: for errors.
    """

    def __init__(self, data: bytes, file: str | os.PathLike[str], place: str) -> None:
        self.data, self.at, self._file, self._place = data, 0, file, place

    def varint(self) -> int:
        """The number that follows.

        Raises:
            FormatError: there is none, or it has more than 64 bits.
        """
        number = shift = 0
        while self.at < len(self.data) and shift < 64:
            byte = self.data[self.at]
            self.at, number, shift = self.at + 1, number | (byte & 127) << shift, shift + 7
            if byte < 128:
                return number
        raise FormatError(self._file, self._place, "no whole number", "an undamaged file")

    def bytes(self, count: int) -> bytes:
        """The bytes that follow.

        Raises:
            FormatError: there are fewer.
        """
        if count > len(self.data) - self.at:
            left = len(self.data) - self.at
            raise FormatError(self._file, self._place, f"{left} of {count} bytes", "an undamaged file")
        self.at += count
        return self.data[self.at - count : self.at]


# -- reading ----------------------------------------------------------------------------------------------------------


def read_table(data: bytes, file: str | os.PathLike[str]) -> dict[bytes, bytes]:
    """The keys and values of a table, in order.

    Args:
        data: the bytes of the file.
        file: its path, for errors.

    Raises:
        FormatError: it is no table, is damaged, or is compressed.
    """
    if len(data) < FOOTER or data[-len(MAGIC) :] != MAGIC:
        raise FormatError(file, "the end", "another magic number", "the index of a checkpoint, whole")
    footer = Cursor(data[-FOOTER:], file, "the footer")
    handles = [(footer.varint(), footer.varint()) for _ in range(2)]
    entries: dict[bytes, bytes] = {}
    left = len(data)  # bytes of blocks: each is read once, so handles that repeat cost no time
    for _, handle in _entries(_block(data, handles[1], file, "the index block"), file, "the index block"):
        cursor = Cursor(handle, file, "a handle of a block")
        offset, size = cursor.varint(), cursor.varint()
        place, left = f"the block at {offset}", left - size - TRAILER
        if left < 0:
            raise FormatError(file, place, "blocks that lie over each other", "an undamaged file")
        entries |= _entries(_block(data, (offset, size), file, place), file, place)
    if [*entries] != sorted(entries):
        raise FormatError(file, "the keys", "keys that are not in order", "an undamaged file")
    return entries


def _block(data: bytes, handle: tuple[int, int], file: str | os.PathLike[str], place: str) -> bytes:
    offset, size = handle
    if offset + size + TRAILER > len(data) - FOOTER:
        raise FormatError(file, place, f"{size} bytes at {offset}", f"a place in the file's {len(data)} bytes")
    block, trailer = data[offset : offset + size], data[offset + size : offset + size + TRAILER]
    if trailer[1:] != masked_bytes(block, trailer[:1]):
        raise FormatError(file, place, "bytes of another checksum", "an undamaged file")
    if trailer[0]:
        raise FormatError(file, place, f"the compression {trailer[0]}", "a block that is not compressed")
    return block


def _entries(block: bytes, file: str | os.PathLike[str], place: str) -> Iterator[tuple[bytes, bytes]]:
    count = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * count
    if end < 0:
        raise FormatError(file, place, f"{count} whole keys in {len(block)} bytes", "an undamaged file")
    cursor, key, left = Cursor(block[:end], file, place), b"", 64 * len(block)
    while cursor.at < end:
        shared, rest, size = cursor.varint(), cursor.varint(), cursor.varint()
        left -= shared
        if shared > len(key) or left < 0:
            raise FormatError(file, place, f"{shared} bytes of the key before", f"at most {len(key)}")
        key = key[:shared] + cursor.bytes(rest)
        yield key, cursor.bytes(size)


# -- writing ----------------------------------------------------------------------------------------------------------


def table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bytes of a table.

    Args:
        entries: keys and values, in order.

    Example:
        >>> read_table(table([(b"a", b"1"), (b"ab", b"2")]), "x")
        {b'a': b'1', b'ab': b'2'}
    """
    data, handles = bytearray(), []
    waiting: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in entries:
        waiting.append((key, value))
        size += len(key) + len(value)
        if size >= BLOCK:
            handles.append((key, _add(data, waiting)))
            waiting, size = [], 0
    if waiting or not handles:
        handles.append((waiting[-1][0] if waiting else b"", _add(data, waiting)))
    others = _add(data, []) + _add(data, handles)  # the first would have further blocks
    return bytes(data) + others.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC


def _add(data: bytearray, entries: list[tuple[bytes, bytes]]) -> bytes:
    """Add a block, and return its handle."""
    block, places, before = bytearray(), [], b""
    for number, (key, value) in enumerate(entries):
        shared = 0 if number % INTERVAL == 0 else _shared(before, key)
        if number % INTERVAL == 0:
            places.append(len(block))
        block += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    for place in places or [0]:
        block += place.to_bytes(4, "little")
    block += len(places or [0]).to_bytes(4, "little")
    handle = varint(len(data)) + varint(len(block))
    data += block + b"\0" + masked_bytes(bytes(block), b"\0")
    return handle


def _shared(a: bytes, b: bytes) -> int:
    """The length of the beginning that two keys share."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
