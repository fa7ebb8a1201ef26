"""Saves that are killed at each line of Python, and at each system call.

    python -m tests.formats.kills WAY FOLDER [--calls]

A process for each kill saves a new value over an old one, and is killed before the line, or as the call begins.  Then
the file must be the old one or the new one, whole, and the next save must work.  The program prints a row for each kind
of call: its number, and how often the old value and the new one were found.  `strace` counts and kills at system calls.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import dovetail as dt
from dovetail.formats.wire.bundle import Bundle, write_bundle

WATCHED = tuple(
    os.sep.join(("dovetail", *name.split("/")))
    for name in ("core/base/files.py", "formats/safetensors.py", "formats/wire/bundle.py")
)
VALUES = [{"w": np.full((300, 300), number), "n": np.array(number)} for number in (1.0, 2.0)]


class Way(NamedTuple):
    """A format: the functions that write values by name to a path, and read them."""

    write: Callable[[Any, Path], None]
    read: Callable[[Path], Any]


WAYS = {
    "file": Way(dt.save, dt.load),
    "bundle": Way(lambda values, path: write_bundle(str(path), values), lambda path: Bundle(str(path))),
}


WAITING = ("select", "pselect6", "restart_syscall")  # calls of a process that waits for its tracer


class NotTraced(Exception):
    """The error of a system where no process can be traced."""


def begin(way: Way, path: Path) -> None:
    """Make the old value the only one."""
    for file in path.parent.iterdir():
        file.unlink()
    way.write(VALUES[0], path)


def found(way: Way, path: Path) -> str:
    """The value in the files: "old" or "new".

    Raises:
        AssertionError: it is neither.
        Exception: the files cannot be read.
    """
    read = way.read(path)
    w, n = np.asarray(read["w"]), float(read["n"])
    assert (w == n).all() and w.shape == (300, 300)
    return {1.0: "old", 2.0: "new"}[n]


def save_again(way: Way, path: Path) -> None:
    """Check that the next save works."""
    way.write(VALUES[1], path)
    assert found(way, path) == "new"


# -- lines of Python --------------------------------------------------------------------------------------------------


def save_until(line: int, way: Way, path: Path) -> None:
    """Save the new value, and kill this process before a line of the modules that write files."""
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
    way.write(VALUES[1], path)
    os._exit(0)


def at_lines(way: Way, path: Path) -> Counter[tuple[str, str]]:
    """Kill a save at each line; count what was found."""
    counts, line, is_killed = Counter[tuple[str, str]](), 0, True
    while is_killed:
        line += 1
        begin(way, path)
        if (child := os.fork()) == 0:
            save_until(line, way, path)
        is_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        counts["line", found(way, path)] += is_killed
        save_again(way, path)
    return counts


# -- system calls -----------------------------------------------------------------------------------------------------


def traced(way: Way, path: Path, log: Path, *options: str) -> bool:
    """Save the new value under `strace` with these options; return whether the process was killed.

    Raises:
        NotTraced: `strace` is not installed, or no process can be traced.
    """
    ready, go = os.pipe()
    if (child := os.fork()) == 0:
        select.select([ready], [], [])
        way.write(VALUES[1], path)
        os._exit(0)
    command = ["strace", "-o", str(log), *options, "-p", str(child)]
    try:
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            first = tracer.stderr.readline()
            if "attached" not in first:
                raise NotTraced(first.strip())
            os.write(go, b"x")
            return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    except (NotTraced, FileNotFoundError) as error:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise NotTraced(str(error)) from None
    finally:
        os.close(ready)
        os.close(go)


def at_calls(way: Way, path: Path) -> Counter[tuple[str, str]]:
    """Kill a save at each system call; count what was found by the names of calls."""
    log = path.parent.parent / "log"
    begin(way, path)
    traced(way, path, log)
    assert found(way, path) == "new"
    names = [name for name in re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE) if name not in WAITING]
    counts, numbers = Counter[tuple[str, str]](), Counter[str]()
    for name in names:
        numbers[name] += 1
        begin(way, path)
        assert traced(way, path, log, "-e", f"inject={name}:signal=KILL:when={numbers[name]}"), name
        counts[name, found(way, path)] += 1
        save_again(way, path)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", action="store_true", help="kill at system calls")
    given = parser.parse_args()
    way, path = WAYS[given.way], given.folder / "saved" / "x"
    path.parent.mkdir()
    try:
        counts = at_calls(way, path) if given.calls else at_lines(way, path)
    except NotTraced as error:
        sys.exit(f"no process can be traced here: {error}")
    for name in sorted({name for name, _ in counts}):
        old, new = counts[name, "old"], counts[name, "new"]
        print(f"{name:20} {old + new:5} {old:5} {new:5}")


if __name__ == "__main__":
    main()
