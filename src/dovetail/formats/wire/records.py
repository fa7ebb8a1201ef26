"""TFRecord files: records of bytes, each with its length and two checksums; event files are such files."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO

from dovetail.core.base.errors import CutError, FormatError
from dovetail.formats.wire.crc import masked_bytes

CHUNK = 2**20  # bytes that are read at once, so a length that is wrong costs no memory
COMPRESSIONS = ("", "GZIP", "ZLIB")


class RecordWriter:
    """A writer of records.

    Args:
        file: is written, and closed at the end.
        compression: "", "GZIP" or "ZLIB".
        level: of the compression, from 0 to 9; -1 is the library's own choice.

    Example:
        >>> file = io.BytesIO()
        >>> writer = RecordWriter(file)
        >>> writer.write(b"one")
        >>> len(file.getvalue())
        19
    """

    def __init__(self, file: BinaryIO, compression: str = "", level: int = -1) -> None:
        check_compression(compression)
        self._file = file
        bits = {"": 0, "GZIP": 31, "ZLIB": 15}[compression]
        self._packer = zlib.compressobj(level, zlib.DEFLATED, bits) if bits else None

    def write(self, record: bytes) -> None:
        """Write a record."""
        length = len(record).to_bytes(8, "little")
        data = b"".join([length, masked_bytes(length), record, masked_bytes(record)])
        self._file.write(data if self._packer is None else self._packer.compress(data))

    @property
    def closed(self) -> bool:
        """Whether the file is ended."""
        return self._file.closed

    def flush(self) -> None:
        """Give the records to the system."""
        if self._packer is not None:
            self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """End the file."""
        if not self._file.closed:
            if self._packer is not None:
                self._file.write(self._packer.flush())
            self._file.close()


def check_compression(compression: str) -> None:
    """Check the name of a compression.

    Raises:
        ValueError: there is no such one.
    """
    if compression not in COMPRESSIONS:
        raise ValueError(f"there is no compression {compression!r}: it is one of {', '.join(map(repr, COMPRESSIONS))}.")


def read_records(path: str | os.PathLike[str], compression: str = "") -> Iterator[bytes]:
    """The records of a file, read one after another.

    Raises:
        CutError: the file ends within a record.
        FormatError: it is damaged.
        OSError: it cannot be read.
    """
    yield from (record for _, record in scan_records(path, compression) if record is not None)


def scan_records(
    path: str | os.PathLike[str], compression: str = "", wanted: Callable[[int, int], bool] = lambda number, size: True
) -> Generator[tuple[int, bytes | None], None, None]:
    """The sizes of the records of a file, with the records that are wanted; the others are passed over.

    Args:
        path: the file.
        compression: as for `RecordWriter`.
        wanted: (number of a record, its size) → whether to read it.

    Raises:
        CutError: the file ends within a record.
        FormatError: it is damaged.
        OSError: it cannot be read.
    """
    check_compression(compression)
    with open(path, "rb") as opened:
        file: Any = {"": lambda x: x, "GZIP": lambda x: gzip.GzipFile(fileobj=x), "ZLIB": _Inflating}[compression](
            opened
        )
        total = os.fstat(opened.fileno()).st_size
        number = 0
        while head := _bytes(file, 12, path, f"record {number}", ends=True):
            place = f"record {number}"
            if masked_bytes(head[:8]) != head[8:]:
                raise FormatError(path, place, "a length of another checksum", "an undamaged TFRecord file")
            size = int.from_bytes(head[:8], "little")
            if not wanted(number, size):
                _pass_over(file, size + 4, path, place, None if compression else total)
                yield size, None
            else:
                record = _bytes(file, size, path, place)
                if _bytes(file, 4, path, place) != masked_bytes(record):
                    raise FormatError(path, place, "bytes of another checksum", "an undamaged TFRecord file")
                yield size, record
            number += 1


def _pass_over(file: Any, count: int, path: str | os.PathLike[str], place: str, total: int | None) -> None:
    """Pass over some bytes; of a file that is not compressed, whose size is given, they are not read."""
    if total is None:
        while count:
            count -= len(_bytes(file, min(count, CHUNK), path, place))
        return
    left = total - file.tell()
    if count > left:
        raise CutError(path, place, f"{left} of {count} bytes")
    file.seek(count, os.SEEK_CUR)


def _bytes(file: Any, count: int, path: str | os.PathLike[str], place: str, ends: bool = False) -> bytes:
    """Some bytes; none if the file may end and ends."""
    parts, left = [], count
    try:
        while left and (part := file.read(min(left, CHUNK))):
            parts.append(part)
            left -= len(part)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(path, place, f"bytes that cannot be decompressed ({error})", "a whole file") from None
    if left and not (ends and left == count):
        raise CutError(path, place, f"{count - left} of {count} bytes")
    return b"".join(parts)


class _Inflating(io.RawIOBase):
    """A file that is decompressed by zlib while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._inflater = file, zlib.decompressobj()

    def read(self, count: int = -1) -> bytes:
        content = b""
        while not content and not self._inflater.eof:
            data = self._inflater.unconsumed_tail or self._file.read(CHUNK)
            if not data:
                raise EOFError("it ends early")
            content = self._inflater.decompress(data, count)
        return content
