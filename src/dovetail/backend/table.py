"""The table of K's functions, and the decorator that puts one into it.

    @k_function
    def square(x: TensorLike) -> Any:
        '''The square, elementwise.'''
        return ops.square(x)

Errors that leave a function of the table begin with its name.  An axis or a position that is out of range, for which
ops and engines raise IndexError, is a ValueError of K's, as it was in Keras.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, ParamSpec, TypeVar

from dovetail.errors import CONVENTIONAL, is_inside, op_error, place, user_line
from dovetail.ops import calls

P = ParamSpec("P")
R = TypeVar("R")

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # name → function, in the order of the modules


class Replaceable(ModuleType):
    """A module whose functions programs may replace: what repeated calls came to with the former ones is forgotten."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        calls.forget()


def k_function(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: adds a function to K."""
    found = FUNCTIONS[function.__name__] = named(function.__name__)(function)
    return found


def named(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: errors that leave a function begin with this name, behind a `K.`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except CONVENTIONAL as error:
                told = hasattr(error, "k_name")  # by a function of K's, which chose the type
                _name(error, name)
                if isinstance(error, IndexError) and not told and hasattr(error, "k_name"):
                    raise _as_value_error(error) from error.__cause__
                raise

        return call

    return decorate


def _name(error: Exception, name: str) -> None:
    """Makes an error begin with the function that was called; errors of the user's own functions stay as they are."""
    said = str(error.args[0] if isinstance(error, KeyError) else error)  # a KeyError would put quotes around it
    inner = getattr(error, "k_name", None)
    if inner is not None:
        text = said.replace(f"K.{inner}", f"K.{name}", 1)
    elif getattr(error, "dovetail", False):
        text = f"K.{name}: {said}"
    elif is_inside(_raised_in(error)):
        text = f"K.{name} at {place(user_line())}: {said}"
    else:
        return
    error.args = (text,)
    error.dovetail, error.k_name = True, name  # type: ignore[attr-defined]


def _as_value_error(error: Exception) -> Exception:
    wanted = ValueError(*error.args).with_traceback(error.__traceback__)
    vars(wanted).update(vars(error))
    return wanted


def _raised_in(error: Exception) -> CodeType:
    traceback = error.__traceback__
    assert traceback is not None, "it was raised"
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code


def k_error(kind: type[Exception], name: str, problem: str, given: str = "") -> Exception:
    """The exception to raise for a failed call of K's function `name`; see `errors.op_error`."""
    error = op_error(kind, f"K.{name}", problem, given)
    error.k_name = name  # type: ignore[attr-defined]
    return error
