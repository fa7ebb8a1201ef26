"""The memory that a file takes to be read: `python -m tests.formats.memory FILE` prints the bytes, and the error."""

from __future__ import annotations

import sys
from pathlib import Path

import dovetail as dt
from dovetail.core.errors import FormatError


def memory(name: str) -> int:
    """Bytes of memory of this process: of `VmRSS`, now, or `VmHWM`, at most since `forget`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def forget() -> None:
    """Let the most memory be the present one."""
    Path("/proc/self/clear_refs").write_text("5")


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
