"""Saves that are killed: `python -m tests.formats.kills FOLDER` forks a process for each line of Python of a save.

The process saves a new value over an old file, and kills itself before this line.  Then the file must be the old or the
new one, whole.  The program prints how many processes were killed, and how often the file was old and new.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dovetail as dt

WATCHED = tuple(os.sep.join(("dovetail", *name)) for name in (("core", "files.py"), ("formats", "safetensors.py")))


def save_until(line: int, value: Any, path: Path) -> None:
    """Save a value, and kill this process before a line of the modules that write files."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith(WATCHED):
            return None
        count += event == "line"
        if count == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    dt.save(value, path)
    os._exit(0)


def main() -> None:
    path = Path(sys.argv[1]) / "x"
    old, new = ({"w": np.full((300, 300), number), "n": number} for number in (1.0, 2.0))
    dt.save(old, path)
    found = {1.0: 0, 2.0: 0}
    is_killed, line = True, 0
    while is_killed:
        line += 1
        if (child := os.fork()) == 0:
            save_until(line, new, path)
        is_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        read = dt.load(path)
        assert (read["w"] == read["n"]).all() and read["w"].shape == (300, 300)
        found[read["n"]] += 1
        if read["n"] == 2.0:
            dt.save(old, path)
    print(line - 1, *found.values())


if __name__ == "__main__":
    main()
