"""The table of K's functions, which are plain functions in the modules of K.

    __all__ = ["square"]

    def square(x: TensorLike) -> Any:
        '''The square, elementwise.'''
        return ops.square(x)

`add_functions` wraps all functions that K exports.  Errors that leave a function of the table begin with its name.  For
an axis or a position that is out of range, ops and engines raise IndexError; K raises ValueError, as Keras did.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dovetail.backend.docstring import BEFORE_SECTION, completed
from dovetail.core.base.errors import CONVENTIONAL, annotate, op_error, with_given
from dovetail.core.base.hooks import hooks
from dovetail.core.calls.check_arguments import Arguments
from dovetail.core.values.structure import refuse_nesting

P = ParamSpec("P")
R = TypeVar("R")

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # name → function, in the order of the modules


def add_functions(exported: dict[str, Any]) -> None:
    """Put the public functions among a module's variables into the table, and their wrappers in their place.

    The module that defines a function has its wrapper, too.  Sections of the module's docstring, such as `Args:`, are
    those that the function's own docstring leaves out.
    """
    for name, function in list(exported.items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            module = sys.modules[function.__module__]
            if function.__doc__ and BEFORE_SECTION.search(module.__doc__ or ""):
                function.__doc__ = completed(function.__doc__, module.__doc__ or "", name)
            exported[name] = vars(module)[name] = FUNCTIONS[name] = named(name)(function)


def named(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check arguments, and make errors that leave a function begin with `K.` and this name; a decorator."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        arguments = Arguments(function, words=False)  # the functions check words themselves, as Keras did

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                # This only raises errors: functions also take an int for a float, as Keras did.
                arguments.normalize(args, kwargs)
                if hooks.has_unknown_rank(args) or (kwargs and hooks.has_unknown_rank(kwargs.values())):
                    return hooks.with_unknown_rank(function, f"K.{name}", args, kwargs)
                return function(*args, **kwargs)
            except CONVENTIONAL as error:
                told = hasattr(error, "k_name")  # an inner K function raised it, and chose the type
                _name(error, name, lambda: arguments.describe(args, kwargs))
                if isinstance(error, IndexError) and not told and hasattr(error, "k_name"):
                    raise as_value_error(error) from error.__cause__
                raise
            except RecursionError:
                refuse_nesting(f"K.{name}", (*args, *kwargs.values()))
                raise

        return call

    return decorate


def _name(error: Exception, name: str, given: Callable[[], str]) -> None:
    """Make an error begin with the name of the K function that the user called, which is the outermost one."""
    inner = getattr(error, "k_name", None)
    if inner is None:
        annotate(error, f"K.{name}", given)
    else:
        error.args = (with_given(str(error.args[0]).replace(f"K.{inner}", f"K.{name}", 1), given),)
    if hasattr(error, "dovetail"):
        error.dovetail, error.k_name = error.args[0], name  # type: ignore[attr-defined]


def as_value_error(error: Exception) -> Exception:
    wanted = ValueError(*error.args).with_traceback(error.__traceback__)
    vars(wanted).update(vars(error))
    return wanted


def k_error(kind: type[Exception], name: str, problem: str, given: str = "") -> Exception:
    """An exception of K's function `name` that keeps its type, or whose type the wrapper does not catch."""
    error = op_error(kind, f"K.{name}", problem, given)
    error.k_name = name  # type: ignore[attr-defined]
    return error
