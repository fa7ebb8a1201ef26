"""A file that is summarised: mapped into memory, so that what is not looked at is not read."""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError

INDEX = ".index"  # the end of the name of a checkpoint's first file


class Source(NamedTuple):
    """An open file.

    Attributes:
        path: the file.
        size: its bytes.
        data: its mapped bytes.
    """

    path: Path
    size: int
    data: Any


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open a file for a summary.

    Raises:
        FormatError: it is no regular file.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
        raise FormatError(path, "the file", "no regular file", "a file, or the folder of a SavedModel")
    with path.open("rb") as file:
        size = path.stat().st_size
        if not size:
            yield Source(path, 0, b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield Source(path, len(data), data)
