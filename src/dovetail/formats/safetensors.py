"""Safetensors: a file of named tensors, which can be mapped into memory, with a table of strings beside them.

The file begins with the length of its header, eight bytes.  The header is JSON: name → dtype, shape and the offsets of
the tensor's bytes, which follow the header in order and without holes.  `__metadata__` in it is the table of strings.

Dovetail pads the header, so that the bytes begin at a multiple of 64.  The tensors that fill multiples of 64 bytes come
first, then the others by the sizes of their elements.  So each tensor is aligned.  A complex tensor is stored as floats
with one more dimension of size 2, and the metadata `complex` lists the names of such tensors.

Source: https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import io
import json
import math
import mmap
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.files import replacing
from dovetail.core.dtypes import ALL, DType, as_dtype
from dovetail.formats.outside import outside
from dovetail.formats.strict_json import parse, room_of

METADATA, COMPLEX = "__metadata__", "complex"
ALIGNED = 64  # bytes
LONGEST = 100_000_000  # bytes of a header, as in the safetensors library
MOST = 100_000  # tensors of a file
BIGGEST, RANKS = 2**63, 64  # of a dimension and of a shape; the second is NumPy's limit

# the dtypes by their names in files; complex numbers are written as pairs of floats
DTYPES: dict[str, DType] = {
    "BOOL": ALL["bool"],
    "F8_E4M3": ALL["float8_e4m3fn"],
    "F8_E5M2": ALL["float8_e5m2"],
    "BF16": ALL["bfloat16"],
    "C64": ALL["complex64"],
} | {
    f"{letter}{bits}": ALL[f"{kind}{bits}"]
    for letter, kind, sizes in (
        ("U", "uint", (8, 16, 32, 64)),
        ("I", "int", (8, 16, 32, 64)),
        ("F", "float", (16, 32, 64)),
    )
    for bits in sizes
}
NAMES = {dtype: name for name, dtype in DTYPES.items() if not dtype.is_complex}
PART = {ALL["complex64"]: ALL["float32"], ALL["complex128"]: ALL["float64"]}  # complex dtype → dtype of its parts


class Contents(NamedTuple):
    """The contents of a file.

    Attributes:
        tensors: by name; the arrays share the mapped memory of the file, and writing to them changes a copy in memory.
        metadata: the table of strings.
    """

    tensors: dict[str, np.ndarray]
    metadata: dict[str, str]


# -- writing ----------------------------------------------------------------------------------------------------------


def write(path: str | Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write tensors to a file, which replaces an old one as a whole.

    Args:
        path: the file.
        tensors: arrays by name.
        metadata: strings by name.

    Raises:
        TypeError: the format has no dtype for an array.
        ValueError: the header is too long, or there are too many tensors; or a tensor or a string has a name that the
            format needs itself.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(Path(folder) / "two", {"a": np.ones(2), "b": np.zeros(3, bool)}, {"by": "hand"})
        ...     read(Path(folder) / "two")
        Contents(tensors={'a': array([1., 1.]), 'b': array([False, False, False])}, metadata={'by': 'hand'})
    """
    with replacing(Path(path)) as file:
        _write(file, tensors, metadata)


def to_bytes(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The file that `write` writes, as bytes.

    Raises:
        TypeError, ValueError: as in `write`.

    Example:
        >>> of_bytes(to_bytes({"a": np.ones(2)}, {"by": "hand"}), "a message")
        Contents(tensors={'a': array([1., 1.])}, metadata={'by': 'hand'})
    """
    file = io.BytesIO()
    _write(file, tensors, metadata)
    return file.getvalue()


def _write(file: BinaryIO, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    if METADATA in tensors or COMPLEX in metadata:
        raise ValueError(f"no tensor can be named {METADATA!r}, and no metadata {COMPLEX!r}: the format needs them.")
    if len(tensors) > MOST:
        raise ValueError(f"there are {len(tensors)} tensors, and a file has at most {MOST}: write several files.")
    stored = {name: _storable(name, array) for name, array in tensors.items()}
    order = sorted(stored, key=lambda name: _rank(name, stored[name]))
    pairs = [name for name in order if tensors[name].dtype.kind == "c"]
    header = _header({name: stored[name] for name in order}, dict(metadata), pairs)
    file.write(len(header).to_bytes(8, "little"))
    file.write(header)
    for name in order:
        _write_array(file, stored[name])


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    """The array, or a view of it, with a dtype of the format; its memory order may be any."""
    try:
        dtype = as_dtype(array.dtype)
    except TypeError as error:
        raise TypeError(f"the array {name!r} cannot be written: {error}") from None
    if dtype in PART:  # a view if the memory allows it
        array = np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
    return array


def _rank(name: str, array: np.ndarray) -> tuple[bool, int, str]:
    return array.nbytes % ALIGNED > 0, -array.itemsize, name


def _header(stored: Mapping[str, np.ndarray], metadata: dict[str, str], pairs: list[str]) -> bytes:
    table: dict[str, Any] = {METADATA: metadata | ({COMPLEX: json.dumps(pairs)} if pairs else {})}
    begin = 0
    for name, array in stored.items():
        end = begin + array.nbytes
        table[name] = {"dtype": NAMES[as_dtype(array.dtype)], "shape": array.shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(table, separators=(",", ":")).encode()
    if len(text) > LONGEST - ALIGNED:
        raise ValueError(f"the header has {len(text)} bytes, and the format allows {LONGEST}: write several files.")
    return text + b" " * (-(len(text) + 8) % ALIGNED)


def _write_array(file: BinaryIO, array: np.ndarray) -> None:
    if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big"):
        array = array.astype(array.dtype.newbyteorder("<"))
    file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


# -- reading ----------------------------------------------------------------------------------------------------------


def read(path: str | Path) -> Contents:
    """Map the tensors of a file into memory, and read its metadata.

    Raises:
        FormatError: the file is no safetensors file, or is damaged.
        OSError: the file cannot be read.
    """
    file = Path(path)
    if not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for its writer
        raise FormatError(file, "the file", "no regular file", "a safetensors file")
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        table, start = _read_table(opened, size, file)
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    return _contents(table, start, mapped, size, file)


def of_bytes(data: bytes, name: str) -> Contents:
    """The contents of a file that is in memory; the arrays share a copy of it.

    Args:
        data: the bytes.
        name: for errors.

    Raises:
        FormatError: the data are no safetensors file, or are damaged.
    """
    file = Path(name)
    return _contents(*_read_table(io.BytesIO(data), len(data), file), bytearray(data), len(data), file)


def _contents(table: dict[str, Any], start: int, buffer: mmap.mmap | bytearray, size: int, file: Path) -> Contents:
    metadata = _metadata(table.pop(METADATA, {}), file)
    if len(table) > MOST:
        raise FormatError(file, "the header", f"{len(table)} tensors", f"at most {MOST}")
    entries = [_entry(*table.popitem(), file) for _ in range(len(table))]
    entries.sort(key=lambda entry: (entry.begin, entry.end), reverse=True)
    _check_places(entries[::-1], size - start, file)
    tensors = {}
    while entries:
        entry = entries.pop()
        tensors[entry.name] = _tensor(entry, buffer, start, file)
    _join_pairs(tensors, metadata.pop(COMPLEX, "[]"), file)
    return Contents(tensors, metadata)


def _read_table(opened: BinaryIO, size: int, file: Path) -> tuple[dict[str, Any], int]:
    """The table of the header, and the place of the bytes of the tensors."""
    header = _read_header(opened, size, file)
    table = parse(header, file, "the header", room_of(size))
    if type(table) is not dict:
        raise FormatError(file, "the header", f"a {type(table).__name__}", "an object: name → tensor")
    return table, 8 + len(header)


def _read_header(opened: BinaryIO, size: int, file: Path) -> bytes:
    length = int.from_bytes(opened.read(8), "little")
    if size < 8 or length > size - 8:
        actual = f"a header of {length} bytes" if size >= 8 else "no length of a header"
        actual = outside(file) or f"{actual} in a file of {size}"
        raise FormatError(file, "the first 8 bytes", actual, "a safetensors file, not cut off")
    if length > LONGEST:
        raise FormatError(file, "the first 8 bytes", f"a header of {length} bytes", f"at most {LONGEST}")
    header = opened.read(length)
    if len(header) < length:
        raise FormatError(file, "the header", f"{len(header)} of its {length} bytes", "a file that nobody shortens")
    return header


def _metadata(given: Any, file: Path) -> dict[str, str]:
    if type(given) is not dict or not all(type(value) is str for value in given.values()):
        raise FormatError(file, METADATA, "something else", "an object of strings")
    return given


class Entry(NamedTuple):
    """A tensor in the header: its name, dtype and shape, and the offsets of its bytes behind the header."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


def _entry(name: str, given: Any, file: Path) -> Entry:
    place = f"the tensor {name[:80]!r}"
    if type(given) is not dict or given.keys() != {"dtype", "shape", "data_offsets"}:
        raise FormatError(file, place, _shown(given), "an object of dtype, shape and data_offsets")
    dtype, shape, offsets = given["dtype"], given["shape"], given["data_offsets"]
    if type(dtype) is not str or dtype not in DTYPES:
        raise FormatError(file, place, f"the dtype {_shown(dtype)}", f"one of {', '.join(DTYPES)}")
    if not _are_sizes(shape) or len(shape) > RANKS:
        raise FormatError(file, place, f"the shape {_shown(shape)}", f"at most {RANKS} ints from 0 to 2**63 - 1")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise FormatError(file, place, f"the offsets {_shown(offsets)}", "two ints from 0 to 2**63 - 1")
    needed = math.prod(shape) * DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != needed:
        actual = f"{offsets[1] - offsets[0]} bytes for {dtype} of the shape {_shown(shape)}"
        raise FormatError(file, place, actual, f"{needed} bytes")
    return Entry(name, DTYPES[dtype], tuple(shape), *offsets)


def _are_sizes(given: Any) -> bool:
    return type(given) is list and all(type(item) is int and 0 <= item < BIGGEST for item in given)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _check_places(entries: list[Entry], size: int, file: Path) -> None:
    """Check that the bytes of the tensors follow each other, and fill the rest of the file."""
    end = 0
    for entry in entries:
        if entry.begin != end:
            actual = f"bytes from {entry.begin} on, after the {end} of the tensors before it"
            raise FormatError(file, f"the tensor {entry.name[:80]!r}", actual, "tensors without overlaps and holes")
        end = entry.end
    if end != size:
        needed = "a whole file" if end > size else "a file that ends with its tensors"
        raise FormatError(file, "the end", f"{size} bytes behind the header, and tensors of {end}", needed)


def _tensor(entry: Entry, buffer: mmap.mmap | bytearray, start: int, file: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.ndarray(entry.shape, entry.dtype.numpy.newbyteorder("<"), buffer, start + entry.begin)
    except (ValueError, TypeError) as error:  # an empty array with dimensions that NumPy does not multiply
        place = f"the tensor {entry.name[:80]!r}"
        raise FormatError(file, place, f"the shape {_shown(entry.shape)}", f"a shape that NumPy has: {error}") from None
    if entry.dtype.is_bool and array.size and array.view(np.uint8).max() > 1:
        raise FormatError(file, f"the tensor {entry.name[:80]!r}", "a byte above 1", "bools, as 0 and 1")
    return array


def _join_pairs(tensors: dict[str, np.ndarray], listed: str, file: Path) -> None:
    """Make complex tensors of the listed tensors of pairs."""
    place = f"{METADATA} {COMPLEX!r}"
    names = parse(listed, file, place)
    if type(names) is not list or not all(type(name) is str and name in tensors for name in names):
        raise FormatError(file, place, _shown(names), "a list of names of tensors")
    for name in names:
        array = tensors[name]
        whole = next((w for w, part in PART.items() if part.numpy == array.dtype), None)
        if whole is None or array.shape[-1:] != (2,):
            actual = f"{array.dtype} of the shape {_shown(array.shape)}"
            raise FormatError(file, f"the tensor {name[:80]!r}", actual, "pairs of float32 or float64")
        tensors[name] = array.view(whole.numpy).reshape(array.shape[:-1])
