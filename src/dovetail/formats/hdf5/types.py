"""Types, shapes and filters of arrays and attributes."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import ml_dtypes
import numpy as np

from dovetail.formats.hdf5.blocks import Blocks

RANKS = 32  # HDF5's limit
INTEGER, FLOAT, STRING, OPAQUE, ENUM, VARIABLE = 0, 1, 3, 5, 8, 9
FLOATS = {2: (10, 5, 0, 10, 15), 4: (23, 8, 0, 23, 127), 8: (52, 11, 0, 52, 1023)}  # size → IEEE's fields
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DEFLATE, SHUFFLE, FLETCHER = 1, 2, 3
RATIO = 1032  # zlib's best


class Type(NamedTuple):
    """The type of an element: NumPy's, or None for strings, which are in a heap if they are of any length."""

    size: int
    numpy: np.dtype | None
    in_heap: bool = False
    is_bool: bool = False


class Filter(NamedTuple):
    """A filter of chunks, by its number."""

    number: int
    optional: bool


def type_at(blocks: Blocks, at: int, place: str) -> Type:
    """Read a type.

    Raises:
        FormatError: it is none of integers, IEEE's floats, bools and strings.
    """
    head, bits, size = blocks.number(at, 1, place), blocks.number(at + 1, 3, place), blocks.number(at + 4, 4, place)
    kind, order = head & 15, ">" if bits & 1 else "<"
    if kind == INTEGER and size in (1, 2, 4, 8) and blocks.number(at + 8, 4, place) == 8 * size << 16:
        return Type(size, np.dtype(f"{order}{'i' if bits & 8 else 'u'}{size}"))
    if kind == FLOAT and size in FLOATS and not bits & 64:
        fields = tuple(blocks.part(at + 12, 4, place)), blocks.number(at + 16, 4, place)
        if (*fields[0], fields[1]) == FLOATS[size]:
            return Type(size, np.dtype(f"{order}f{size}"))
    if kind == STRING and size:
        return Type(size, None)
    if kind == VARIABLE and bits & 15 == 1 and size == 16:
        return Type(size, None, in_heap=True)
    if kind == OPAQUE and size == 2:  # h5py's bfloat16
        return Type(size, BFLOAT16)
    if kind == ENUM and size == 1:  # h5py's bools
        return Type(1, np.dtype(np.uint8), is_bool=True)
    raise blocks.wrong(place, f"a type of class {kind} and {size} bytes", "integers, floats, bools or strings")


def shape_at(blocks: Blocks, at: int, place: str) -> tuple[int, ...] | None:
    """Read a shape; None if there are no elements at all."""
    version, rank = tuple(blocks.part(at, 2, place))
    if version not in (1, 2) or rank > RANKS:
        raise blocks.wrong(place, f"a shape of version {version} and {rank} dimensions", f"at most {RANKS} dimensions")
    if version == 2 and blocks.number(at + 3, 1, place) == 2:
        return None
    at += 8 if version == 1 else 4
    return tuple(blocks.number(at + 8 * n, 8, place) for n in range(rank))


def filters_at(blocks: Blocks, at: int, place: str) -> list[Filter]:
    """Read the filters of chunks, in the order in which they were applied."""
    version, count = tuple(blocks.part(at, 2, place))
    at += 8 if version == 1 else 2
    filters = []
    for _ in range(count):
        number = blocks.number(at, 2, place)
        named = version == 1 or number >= 256
        length = blocks.number(at + 2, 2, place) if named else 0
        at += 4 if named else 2
        flags, values = blocks.number(at, 2, place), blocks.number(at + 2, 2, place)
        if number not in (DEFLATE, SHUFFLE, FLETCHER):
            raise blocks.wrong(place, f"chunks with the filter {number}", "deflate (gzip), shuffle or fletcher32")
        filters.append(Filter(number, bool(flags & 1)))
        at += 4 + (length + -length % 8 if version == 1 else length) + 4 * (values + (version == 1 and values % 2))
    return filters


def unfiltered(blocks: Blocks, data: memoryview, size: int, item: int, filters: list[Filter], place: str) -> bytes:
    """The bytes of a chunk.

    Args:
        blocks: the file.
        data: the bytes as the file has them.
        size: the bytes of the chunk.
        item: the bytes of an element.
        filters: the applied ones, in order.
        place: the array, for errors.

    Raises:
        FormatError: they are damaged, or of another size.
    """
    content: bytes | memoryview = data
    for each in reversed(filters):
        if each.number == FLETCHER:
            content = content[:-4]
        elif each.number == DEFLATE:
            if size > RATIO * len(content) + 64:
                raise blocks.wrong(place, f"a chunk of {len(content)} bytes for {size}", "a chunk that zlib can make")
            try:
                content = zlib.decompressobj().decompress(content, size + 4)
            except zlib.error as error:
                raise blocks.wrong(place, f"a damaged chunk ({error})", "a whole file") from None
        else:
            whole = np.frombuffer(content, np.uint8)
            rest = len(whole) % item
            parts = whole[: len(whole) - rest].reshape(item, -1).T.tobytes()
            content = parts + whole[len(whole) - rest :].tobytes()
    if len(content) != size:
        raise blocks.wrong(place, f"a chunk of {len(content)} bytes", f"{size} bytes")
    return bytes(content)
