"""Files of tensors' bytes, mapped into memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CHUNK = 2**22  # bytes that are resident while a checksum is computed


class Shard:
    """A file that is mapped into memory twice: for arrays, and for reading it through.

    Args:
        path: the file.

    Attributes:
        size: its bytes.

    Raises:
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.size = path.stat().st_size
        self._kept: Any = bytearray()
        self._passed: Any = b""
        if self.size:
            with path.open("rb") as file:
                self._kept = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_COPY)
                self._passed = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)

    def bytes(self, start: int, end: int) -> np.ndarray:
        """The mapped bytes of a range; writing to them changes a copy in memory."""
        return np.ndarray((end - start,), np.uint8, self._kept, start)

    def chunks(self, start: int, end: int) -> Iterator[np.ndarray]:
        """The bytes of a range, in parts; each leaves the memory of the process when the next one is read."""
        for at in range(start, end, CHUNK):
            size = min(CHUNK, end - at)
            yield np.ndarray((size,), np.uint8, self._passed, at)
            if hasattr(self._passed, "madvise"):  # which Windows lacks
                page = at - at % mmap.PAGESIZE
                self._passed.madvise(mmap.MADV_DONTNEED, page, at + size - page)
