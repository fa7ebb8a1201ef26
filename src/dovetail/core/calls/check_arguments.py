"""Checks for public functions that are no ops: of their arguments, as for ops, with errors that name the function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dovetail.core.base.errors import CONVENTIONAL, annotate, describe_arguments
from dovetail.core.base.hooks import hooks
from dovetail.core.calls.static_types import Static, static_of
from dovetail.core.values.structure import refuse_nesting
from dovetail.core.values.value_kinds import is_tensor

P = ParamSpec("P")
R = TypeVar("R")

_BY_NAME = 1_000_000  # the position of parameters that are given by name only


class Arguments:
    """The parameters of a function, and the checks of their arguments.

    Args:
        function: the function.
        words: whether parameters that take words are checked; if not, the function checks them itself.

    Attributes:
        names: the parameters, in order.
        checks: (position, name, static type, types whose values all fit), for parameters with a static type.
    """

    def __init__(self, function: Callable[..., Any], words: bool = True) -> None:
        self._function = function
        self._words = words

    @functools.cached_property
    def names(self) -> list[str]:
        return list(inspect.signature(self._function).parameters)

    @functools.cached_property
    def checks(self) -> list[tuple[int, str, Static, frozenset[type]]]:  # read at the first call, not on import
        checks = []
        for index, p in enumerate(inspect.signature(self._function, eval_str=True).parameters.values()):
            static = static_of(p.annotation)
            if static != Static() and (self._words or str not in static.plain):
                position = index if p.kind is p.POSITIONAL_OR_KEYWORD else _BY_NAME
                checks.append((position, p.name, static, static.plain))
        return checks

    def normalize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, each in the one form of its static type; see `static_types`.

        Raises:
            TypeError, ValueError: an argument does not fit its annotation.
        """
        for position, name, static, plain in self.checks:
            if position < len(args):
                value = args[position]
            elif name in kwargs:
                value = kwargs[name]
            else:
                continue
            if type(value) in plain or is_tensor(value) or (normal := static.normalize(name, value)) is value:
                continue
            if position < len(args):
                args = (*args[:position], normal, *args[position + 1 :])
            else:
                kwargs = {**kwargs, name: normal}
        return args, kwargs

    def describe(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The arguments of a call as text."""
        return describe_arguments(self.names, args, kwargs)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator that checks a call's arguments and converts them; an error names the function that was called."""
    arguments = Arguments(function)
    title = f"random.{function.__name__}" if ".ops.random." in function.__module__ else function.__name__

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            held, named = arguments.normalize(args, kwargs)
            if hooks.has_unknown_rank(held) or (named and hooks.has_unknown_rank(named.values())):
                return hooks.with_unknown_rank(function, title, held, named)
            return function(*held, **named)
        except CONVENTIONAL as error:
            annotate(error, title, lambda: arguments.describe(args, kwargs))
            raise
        except RecursionError:
            refuse_nesting(title, (*args, *kwargs.values()))
            raise

    return call
