"""Errors and their messages: the op, the user's line, the arguments, the requirement and the advice."""

from __future__ import annotations

import difflib
import functools
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from dovetail.core.base.hooks import hooks

_PACKAGE = str(Path(__file__).parents[2]) + os.sep
_is_of_user: dict[str, bool] = {}  # file → whether its code is the user's
_LIBRARIES = {  # frames of these libraries are no user's: root of a module's name → name in messages
    "contextlib": "contextlib",
    "functools": "functools",
    "jax": "JAX",
    "keras": "Keras",
    "keras_dovetail": "Keras",
    "numpy": "NumPy",
    "optree": "optree",
    "tensorflow": "TensorFlow",
    "tf_keras": "tf_keras",
    "torch": "torch",
}

Where = tuple[str, int] | None
_remembering: dict[str, Callable[[FrameType], Where]] = {}  # module → the line that a frame of it remembers


class EngineNotInstalled(ImportError):
    """A request for an engine whose library is not installed."""


class UnknownEngine(ValueError):
    """A request for an engine by a name that no engine has."""


class RetracingWarning(UserWarning):
    """Repeated tracing of one `function`; the message names the differences between the calls."""


class GradientLostWarning(UserWarning):
    """A computation of another library on a tensor that a gradient tape follows; the message names the op to use."""


class StaleValueError(RuntimeError):
    """A read of a buffer that was donated to a compiled step, or deleted."""


class UnknownRank(ValueError):
    """A request for the rank or the dimensions of a tensor whose rank is not known."""


class FormatError(ValueError):
    """A file that cannot be read, since it is damaged, of another format, or of a later version.

    Attributes:
        file: its path.
        place: the part of the file.
        found: the contents of this part.
        needed: the contents that a reader needs there.
    """

    def __init__(self, file: str | os.PathLike[str], place: str, found: str, needed: str) -> None:
        super().__init__(os.fspath(file), place, found, needed)
        self.file, self.place, self.found, self.needed = self.args

    def __str__(self) -> str:
        return f"{self.file!r} cannot be read: {self.place}: found {self.found}; needed: {self.needed}."


class CollectiveError(RuntimeError):
    """A collective that some ranks did not reach in time, or reached with another op, shape or dtype."""


class CutError(FormatError):
    """A file that ends too early: it was cut off, or a program still writes it."""

    def __init__(
        self, file: str | os.PathLike[str], place: str, found: str, needed: str = "a file that is not cut off"
    ):
        super().__init__(file, place, found, needed)


def user_line() -> Where:
    """The innermost file and line outside of Dovetail and other libraries that calls now; None if there is none.

    A frame that runs what was recorded before remembers the line that recorded it, and that line counts.
    """
    frame: FrameType | None = sys._getframe(1)
    known = _is_of_user.get
    while frame is not None:
        is_users = known(frame.f_code.co_filename)  # each operation asks for its line, so this loop is hot
        if is_users is None:
            line = _remembering.get(frame.f_globals.get("__name__", ""), _nothing)(frame)
            if line is not None:
                return line
            is_users = is_of_user(frame)
        if is_users:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def remember(module: str, line_of: Callable[[FrameType], Where]) -> None:
    """Let frames of a module stand for lines that ran before.

    Args:
        module: its name.
        line_of: gives the line for a frame, or None.
    """
    _remembering[module] = line_of


def _nothing(frame: FrameType) -> Where:
    return None


def warn(kind: type[Warning], name: str, text: str) -> None:
    """Warn about a function that the user's line called; Python's filters show the warning once per line."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and not is_of_user(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{name} at {place(user_line())}: {text}", kind, stacklevel=level)


def called_library() -> str:
    """The library that the user's line calls and that calls Dovetail; if none is seen, NumPy, whose calls are not."""
    frame: FrameType | None = sys._getframe(1)
    library = "NumPy"
    while frame is not None and not is_of_user(frame):
        library, frame = _library(frame) or library, frame.f_back
    return library


def is_of_user(frame: FrameType) -> bool:
    """Whether a frame belongs neither to Dovetail nor to another library."""
    file = frame.f_code.co_filename
    known = _is_of_user.get(file)
    if known is None:
        known = not file.startswith("<frozen ") and not is_inside(frame.f_code) and _library(frame) is None
        is_shared = file.startswith("<")  # many modules may have executed text under this name
        if not is_shared and frame.f_globals.get("__name__") not in _remembering:
            _is_of_user[file] = known
    return known


def _library(frame: FrameType) -> str | None:
    """The library of a frame; None for the user's."""
    return _LIBRARIES.get(frame.f_globals.get("__name__", "").partition(".")[0])


def is_inside(code: CodeType) -> bool:
    """Whether a piece of code belongs to Dovetail, not to its user."""
    return _is_inside(code.co_filename)


@functools.cache
def _is_inside(file: str) -> bool:
    return file.startswith("<dovetail") or os.path.abspath(file).startswith(_PACKAGE)


def place(where: Where) -> str:
    """`where` as text: `train.py:12`."""
    return f"{os.path.basename(where[0])}:{where[1]}" if where else "an unknown line"


def describe(value: Any) -> str:
    """A value as error messages show it: `float32[2,3]` for tensors, the repr for the rest.

    Example:
        >>> import numpy as np
        >>> describe(np.zeros((2, 3), "float32")), describe("same")
        ('float32[2,3]', "'same'")
    """
    try:
        return _described(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply to be shown"
    except RuntimeError:  # torch's nested tensors have no shape
        return f"a {type(value).__name__}"


def _described(value: Any) -> str:
    value = hooks.seen(value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None and not isinstance(value, type):
        known = ["..."] if getattr(shape, "rank", 0) is None else shape
        dims = ",".join("?" if dim is None else str(dim) for dim in known)
        return f"{str(dtype).removeprefix('torch.')}[{dims}]"
    if isinstance(value, (list, tuple)) and any(hasattr(hooks.seen(item), "dtype") for item in value):
        return "[" + ", ".join(map(_described, value)) + "]"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def op_error(kind: type[Exception], op_name: str, problem: str, given: str = "", where: Where = None) -> Exception:
    """The exception to raise for a failed op call.

    Args:
        kind: the conventional exception type (ValueError, TypeError, IndexError, …).
        op_name: the op's name for users ("MatMul").
        problem: the requirement and the advice, as full sentences.
        given: the arguments as text, from `describe_call`.
        where: the user's line; found on the stack if not given.
    """
    text = _format(op_name, problem, given, where)
    error = kind(text)
    error.dovetail = text  # type: ignore[attr-defined]  # outer functions only add their names
    return error


def _format(name: str, problem: str, given: str, where: Where = None) -> str:
    return with_given(f"{name} at {place(where or user_line())}: {problem}", lambda: given)


def with_given(text: str, given: Callable[[], str]) -> str:
    """The text of an error, with the arguments of the call added if it has none."""
    if "Given: " in text or not (arguments := given()):
        return text
    return f"{text.removesuffix('.')}. Given: {arguments}."


CONVENTIONAL = (
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    LookupError,
    OverflowError,
    AttributeError,
    CollectiveError,
)
_NO_MEMORY = (  # names of types and words of errors about memory: of torch, of TensorFlow, of XLA, of torch's processor
    "OutOfMemoryError",
    "ResourceExhaustedError",
    "RESOURCE_EXHAUSTED",
    "can't allocate memory",
    "OOM when allocating",
)
LIBRARIES = (*CONVENTIONAL, RuntimeError, ArithmeticError, AssertionError)


def annotate(error: Exception, name: str, given: Callable[[], str]) -> None:
    """Annotate an error that leaves a function of Dovetail with the function's name, which its user knows.

    An error that is annotated already keeps its words, behind the name of the outermost function.  Errors of the user's
    own functions and of other libraries stay as they are.

    Args:
        error: the error that was raised; its text changes.
        name: the function.
        given: gives the arguments as text.
    """
    known = getattr(error, "dovetail", None)
    if known is not None:
        text = known if known.startswith((f"{name} at ", f"{name}: ")) else f"{name}: {known}"
        text = with_given(text, given)
        error.dovetail = text.removeprefix(f"{name}: ")  # type: ignore[attr-defined]
    elif is_inside(code := _raised_in(error)):
        error.raised_in = code.co_filename  # type: ignore[attr-defined]
        said = error.args[0] if isinstance(error, KeyError) and error.args else error  # its str has quotes around it
        text = error.dovetail = _format(name, str(said), given())  # type: ignore[attr-defined]
    else:
        return
    error.args = (text,)


def is_of_op(error: Exception, callers: str) -> bool:
    """Whether an op raised an error, or a rule of one, and not a function of some package that calls ops.

    Args:
        error: the error.
        callers: the folder of this package.  A function in it says by `op_error` that an error is meant.
    """
    is_marked = isinstance(error, CONVENTIONAL) and hasattr(error, "dovetail")
    return is_marked and not getattr(error, "raised_in", "").startswith(callers)


def is_raised_inside(error: Exception) -> bool:
    """Whether Dovetail's code raised an error, not its user's or another library's."""
    return is_inside(_raised_in(error))


def _raised_in(error: Exception) -> CodeType:
    traceback: TracebackType | None = error.__traceback__
    assert traceback is not None, "it was raised"
    code = traceback.tb_frame.f_code
    while traceback is not None:
        if not traceback.tb_frame.f_globals.get("__name__", "").startswith("numpy."):  # NumPy counts as Python itself
            code = traceback.tb_frame.f_code
        traceback = traceback.tb_next
    return code


REPEATED = 10  # nested calls of one function from which an error says that the function calls itself


def repeats(error: RecursionError) -> bool:
    """Whether a function of the user's calls itself without end, directly or through others."""
    calls: Counter[CodeType] = Counter()
    traceback = error.__traceback__
    while traceback is not None:
        if is_of_user(traceback.tb_frame):
            calls[traceback.tb_frame.f_code] += 1
        traceback = traceback.tb_next
    return max(calls.values(), default=0) >= REPEATED


def conventional(error: Exception) -> type[Exception]:
    """The type to raise for a library's error: MemoryError, its own type if that is conventional, or ValueError."""
    if type(error).__name__ in _NO_MEMORY or any(words in str(error) for words in _NO_MEMORY):
        return MemoryError
    return next((kind for kind in CONVENTIONAL if isinstance(error, kind)), ValueError)


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """The start of an advice: the known name that is most like an unknown one, in any case; else empty."""
    by_small = {each.lower(): each for each in known}
    similar = difflib.get_close_matches(name.lower(), by_small, 1) if isinstance(name, str) else []
    return f"Did you mean {by_small[similar[0]]!r}? " if similar else ""


def check_path(name: str, path: Any) -> None:
    """Check the place of a file that a function is to write.

    Raises:
        TypeError: it is no path; perhaps the arguments are in the wrong order.
    """
    if not isinstance(path, (str, os.PathLike)):
        problem = f"the path must be a text or a path, not {describe(path)}: give the value first, then the path."
        raise op_error(TypeError, name, problem)


def describe_call(names: list[str], values: list[Any]) -> str:
    """The arguments of a call as text: `x=float32[2,3], axis=1`."""
    return ", ".join(f"{name}={describe(value)}" for name, value in zip(names, values, strict=True))


def check_callable(name: str, value: Any) -> None:
    """Check the argument of a decorator.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(value):
        raise op_error(TypeError, name, f"needs a function, or what can be called like one, not {describe(value)}.")


def check_bool(name: str, value: Any) -> None:
    """Check the argument of a setting.

    Raises:
        TypeError: it is no bool.
    """
    if not isinstance(value, bool):
        raise op_error(TypeError, name, f"it must be True or False, not {describe(value)}.")


def describe_arguments(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The arguments of any call as text, also of one that does not fit the function's parameters."""
    named = [f"{name}={describe(value)}" for name, value in (*zip(names, args, strict=False), *kwargs.items())]
    return ", ".join([*named, *map(describe, args[len(names) :])])
