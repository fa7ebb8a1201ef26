"""Tracebacks of uncaught errors: they show the user's frames, and the whole one goes to a file.

Between the user's line and the message lie frames of Dovetail, of Keras and of the engines.  `sys.excepthook` leaves
them out, and names the file at the end.  The latest ten files stay.  The error itself keeps all its frames, so
debuggers, IPython, pytest and `logging` show what they showed before.  A program's own hook stays in place.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from traceback import TracebackException, walk_tb
from types import FrameType, TracebackType

from dovetail.core.base.errors import check_bool, is_inside, is_of_user

VARIABLE = "DOVETAIL_WHOLE_TRACEBACKS"
TITLE = "Frames of libraries are left out; the whole traceback is in"
PREFIX, SUFFIX, MOST = "dovetail-traceback-", ".txt", 10  # of the files, and how many of a user stay
STANDARD = os.path.dirname(os.__file__) + os.sep  # Python's own library

_is_whole: bool | None = None  # None: as the environment says
_command = ""  # see `leave_out`
_machinery: tuple[str, ...] = ()


def whole_tracebacks() -> bool:
    """Whether tracebacks of uncaught errors show the frames of libraries, too.

    Example:
        >>> whole_tracebacks()
        False
    """
    return os.environ.get(VARIABLE, "") not in ("", "0") if _is_whole is None else _is_whole


def set_whole_tracebacks(value: bool) -> None:
    """Set whether tracebacks of uncaught errors show the frames of libraries, too.

    `DOVETAIL_WHOLE_TRACEBACKS=1` in the environment does the same.

    Raises:
        TypeError: the value is no bool.
    """
    global _is_whole
    check_bool("set_whole_tracebacks", value)
    _is_whole = value


def install() -> None:
    """Report uncaught errors of the process by `report`, unless the program has a hook of its own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = report


def leave_out(command: str, machinery: tuple[str, ...]) -> None:
    """Leave the frames of a command that runs programs out of whole tracebacks, too.

    Args:
        command: the start of its files' names; the frames up to its last one go.
        machinery: the starts of the names of files whose frames go wherever they are.
    """
    global _command, _machinery
    _command, _machinery = command, machinery


def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an uncaught error as Python does, without the frames of libraries if Dovetail's are among them."""
    whole = _text(error, trace, _of_program)
    place = None
    if isinstance(error, Exception) and not whole_tracebacks() and _passed_dovetail(error):
        short = _text(error, trace, _of_user)
        place = None if short == whole else _written(whole)
    if place is not None:
        sys.stderr.write(f"{short}{TITLE} {place}\n")
    elif not _passed_dovetail(error) and whole == _text(error, trace, lambda frames: [True] * len(frames)):
        sys.__excepthook__(kind, error, trace)  # only Python's own printing has "Did you mean" in 3.11
    else:
        sys.stderr.write(whole)


def _text(error: BaseException, trace: TracebackType | None, choose: Callable[[list[FrameType]], list[bool]]) -> str:
    """The traceback as Python prints it, with the chosen frames alone; with all, if none is chosen."""
    whole = told = TracebackException(type(error), error, trace)
    for each in _chain(error):
        chosen = choose(_frames(each))
        if any(chosen) and len(chosen) == len(told.stack):  # else sys.tracebacklimit has cut it already
            told.stack[:] = [line for line, is_chosen in zip(told.stack, chosen, strict=True) if is_chosen]
        told = told.__cause__ or told.__context__ or told
    return "".join(whole.format())


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and the errors before it, as `TracebackException` follows them."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _frames(error: BaseException) -> list[FrameType]:
    return [frame for frame, _ in walk_tb(error.__traceback__)]


def _passed_dovetail(error: BaseException) -> bool:
    """Whether an error, or one before it, went through a frame of Dovetail's own, or of Keras' backend on it."""
    return any(
        is_chosen and (is_inside(frame.f_code) or frame.f_globals.get("__name__", "").startswith("keras_dovetail."))
        for frames in map(_frames, _chain(error))
        for frame, is_chosen in zip(frames, _of_program(frames), strict=True)
    )


def _of_program(frames: list[FrameType]) -> list[bool]:
    """Whether each frame is of the program, or of what it calls, and not of the command that runs it."""
    files = [frame.f_code.co_filename for frame in frames]
    first = max((place + 1 for place, file in enumerate(files) if _command and file.startswith(_command)), default=0)
    return [place >= first and not file.startswith(_machinery) for place, file in enumerate(files)]


def _of_user(frames: list[FrameType]) -> list[bool]:
    """Whether each frame is the user's; one of Python's own library is not, if a frame that is left out calls it."""
    chosen: list[bool] = []
    for frame, is_of_program in zip(frames, _of_program(frames), strict=True):
        file = frame.f_code.co_filename
        is_called = chosen[-1:] == [False] and file.startswith(STANDARD) and "site-packages" not in file
        chosen.append(is_of_program and is_of_user(frame) and not is_called)
    return chosen


def _written(text: str) -> str | None:
    """The path of a new file with the text, beside the latest ones of before; None if none can be written."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix=PREFIX, suffix=SUFFIX, delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
        _remove_old(file.name)
    except OSError:
        return None
    return file.name


def _remove_old(newest: str) -> None:
    """Remove the user's files of tracebacks beside the newest one, except the latest."""
    owner = os.stat(newest).st_uid
    dated = []
    with os.scandir(os.path.dirname(newest)) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with suppress(OSError):  # another process has removed it
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_uid == owner:
                        dated.append((status.st_mtime_ns, entry.path))
    for _, path in sorted(dated)[:-MOST]:
        with suppress(OSError):
            os.unlink(path)
