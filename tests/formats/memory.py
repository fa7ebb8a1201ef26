"""The memory that a file takes to be read: `python -m tests.formats.memory FILE` prints the bytes, and the error."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dovetail as dt
from dovetail.core.base.errors import FormatError


def memory(name: str) -> int:
    """Bytes of memory of this process: of `VmRSS`, now, or `VmHWM`, at most since `forget`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def forget() -> None:
    """Let the most memory be the present one."""
    Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def little(seconds: float = 2.0, size: int = 256 << 20) -> Iterator[None]:
    """Check that the block takes little time of a processor, and little memory of Python and NumPy."""
    start = time.process_time()
    tracemalloc.start()
    try:
        yield
        taken = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < (seconds, 0) and taken[1] < size, taken


def main() -> None:
    dt.set_engine("numpy")
    forget()
    before = memory("VmRSS")
    try:
        dt.load(sys.argv[1])
        problem = "read"
    except FormatError as error:
        problem = error.found
    print(memory("VmHWM") - before, problem[:200])


if __name__ == "__main__":
    main()
