"""How a failure is told: which op, on which line of the user's, what it got, what it needs, what to do."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_inside: dict[CodeType, bool] = {}

Where = tuple[str, int] | None


class EngineNotInstalled(ImportError):
    """An engine was asked for whose library is not installed."""


class UnknownEngine(ValueError):
    """An engine was asked for whose name nothing has."""


class RetracingWarning(UserWarning):
    """A `function` is traced again and again; the message says what differs from call to call."""


class StaleValueError(RuntimeError):
    """A buffer was read that is gone: donated to a compiled step, or deleted."""


def user_line() -> Where:
    """The file and line, outside Dovetail, that is calling now; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_inside(code):
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def is_inside(code: CodeType) -> bool:
    """Whether a piece of code is Dovetail's own, not its user's."""
    inside = _inside.get(code)
    if inside is None:
        inside = _inside[code] = os.path.abspath(code.co_filename).startswith(_PACKAGE) or (
            code.co_filename.startswith("<dovetail")
        )
    return inside


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
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        dims = ",".join("?" if dim is None else str(dim) for dim in shape)
        return f"{str(dtype).removeprefix('torch.')}[{dims}]"
    if isinstance(value, (list, tuple)) and any(hasattr(item, "dtype") for item in value):
        return "[" + ", ".join(describe(item) for item in value) + "]"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def op_error(kind: type[Exception], op_name: str, problem: str, given: str = "", where: Where = None) -> Exception:
    """The exception to raise for a failed op call.

    Args:
        kind: the conventional exception type (ValueError, TypeError, IndexError, …).
        op_name: the op, as users know it ("MatMul").
        problem: what is needed and what to do, as full sentences.
        given: the arguments as text, from `describe_call`.
        where: the user's line; found on the stack if not given.
    """
    text = f"{op_name} at {place(where or user_line())}: {problem}"
    error = kind(f"{text} Given: {given}." if given else text)
    error.dovetail = True  # type: ignore[attr-defined]  # told once is enough: outer ops pass it on
    return error


CONVENTIONAL = (ValueError, TypeError, IndexError, NotImplementedError, LookupError)


def conventional(error: Exception) -> type[Exception]:
    """The type to raise for a library's error: the conventional one that it is, else ValueError."""
    return next((kind for kind in CONVENTIONAL if isinstance(error, kind)), ValueError)


def describe_call(names: list[str], values: list[Any]) -> str:
    """The arguments of a call as text: `x=float32[2,3], axis=1`."""
    return ", ".join(f"{name}={describe(value)}" for name, value in zip(names, values, strict=True))
