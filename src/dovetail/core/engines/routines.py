"""Routines: the functions of a library that an operation calls, and the routines that the library reports of them.

`Engine.routines` gives them, for `dovetail.explain`; nothing else imports this module.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.engine import FILE, OPERATIONS

NOT_REPORTED = "not reported"


class Routine(NamedTuple):
    """A call of a library's function by an operation.

    Attributes:
        call: the function or the instruction, by the library's name for it.
        routine: the code that it runs, as the library reports.

    Example:
        >>> print(Routine("numpy.matmul", "OpenBLAS 0.3.31"))
        numpy.matmul: OpenBLAS 0.3.31
        >>> print(Routine("aten.tanh.default"))
        aten.tanh.default: not reported
    """

    call: str
    routine: str = NOT_REPORTED

    def __str__(self) -> str:
        return f"{self.call}: {self.routine}"


class NotRun(Exception):
    """The answer to an engine that asks for arguments of a segment that must not run; its text says why."""


# operation, or the path of its scopes (`Engine.scoped`) → its calls, in order
Routines: TypeAlias = Mapping[Any, Sequence[Routine]]


def running_operation() -> Any:
    """The operation that this thread's program computes now, in loops the innermost one; None outside of programs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            return frame.f_globals[OPERATIONS].get(frame.f_lineno)
        frame = frame.f_back
    return None


@contextmanager
def native_output(*beginnings: str) -> Iterator[Callable[[], list[str]]]:
    """Catch the lines that libraries in C write to the standard output in a `with` block.

    Other lines are passed on at the end.  The block must not be entered by several threads at a time.

    Args:
        beginnings: how the lines begin.

    Returns:
        A function that returns the lines since its last call; always none on Windows, and if the process has no
        standard output.
    """
    if os.name != "posix":
        yield list
        return
    try:
        sys.stdout.flush()
        saved = os.dup(1)
    except (AttributeError, OSError, ValueError):
        yield list
        return
    with tempfile.TemporaryFile() as file:
        others: list[bytes] = []
        at = 0

        def written() -> list[str]:
            nonlocal at
            _flush_c()
            lines = os.pread(file.fileno(), os.fstat(file.fileno()).st_size - at, at).splitlines(keepends=True)
            at += sum(map(len, lines))
            own = [line.decode(errors="replace").rstrip() for line in lines]
            others.extend(raw for raw, line in zip(lines, own, strict=True) if not line.startswith(beginnings))
            return [line for line in own if line.startswith(beginnings)]

        os.dup2(file.fileno(), 1)
        try:
            yield written
        finally:
            sys.stdout.flush()
            written()
            os.dup2(saved, 1)
            os.close(saved)
            os.write(1, b"".join(others))


def _flush_c() -> None:
    """Flush the C library's standard output."""
    import ctypes  # takes 10 ms, which few programs need to spend

    ctypes.CDLL(None).fflush(None)
