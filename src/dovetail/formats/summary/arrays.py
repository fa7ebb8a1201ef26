"""Summaries of NumPy's archives `.npz`: the headers of the arrays are read, not their numbers."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

from numpy.lib import format as npy

from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.base import Summary, Value, elements, summary, values
from dovetail.formats.summary.source import Source

ZIP = b"PK\x03\x04", b"PK\x05\x06"
READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
ENDING = ".npy"


def names_in_zip(source: Source) -> list[str]:
    """The names in an archive; none if the file is no archive."""
    if source.data[:4] not in ZIP:
        return []
    try:
        with zipfile.ZipFile(source.path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return []


def is_npz(source: Source) -> bool:
    """Whether a file is an archive of arrays."""
    names = names_in_zip(source)
    return bool(names) and all(name.endswith(ENDING) for name in names)


def of_npz(source: Source) -> Summary:
    """The summary of an archive of arrays.

    Raises:
        FormatError: it is damaged.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            arrays = [_array(archive, entry) for entry in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise FormatError(source.path, "the archive", f"{error}", "an .npz file that NumPy wrote, whole") from None
    return summary(source.path, "NumPy's arrays (npz)", {}, [values("arrays", arrays)])


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Value:
    with archive.open(entry) as file:
        read: Any = READERS.get(npy.read_magic(file))
        if read is None:
            raise ValueError(f"{entry.filename!r} has a header of an unknown version")
        shape, _, dtype = read(file)
    name = entry.filename.removesuffix(ENDING)
    if dtype.hasobject:  # pickled, and not read
        return Value(name, "object", shape)
    return Value(name, dtype.name, shape, (elements(shape) or 0) * dtype.itemsize)
