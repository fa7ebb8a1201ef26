"""Whether the function that is traced was asked to be converted, and whether layers are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from dovetail.core.base.scopes import Scoped

# Converts the functions that a converted function gives to `tf.map_fn` and the like; None in other functions.
CONVERTER: Scoped[Callable[[Any], Any] | None] = Scoped(None)
_settings = {"layers": False}


def as_caller(function: Any) -> Any:
    """A function of the program, converted if the function that is traced is."""
    convert = CONVERTER.get()
    return function if convert is None else convert(function)


def scoped(convert: Callable[[Any], Any] | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is converted when it is called, as are the functions that it calls; with None, none is.

    Args:
        convert: converts a function.
        function: the function.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        with CONVERTER.scope(convert):
            return as_caller(function)(*args, **kwargs)

    # The attributes of another callable, such as a model, are its own.
    updated = functools.WRAPPER_UPDATES if isinstance(function, FunctionType) else ()
    return functools.update_wrapper(call, function, updated=updated)


def convert_layers() -> None:
    """Convert the methods of the layers and models that programs define from now on."""
    _settings["layers"] = True


def converts_layers() -> bool:
    """Whether the methods of layers are converted."""
    return _settings["layers"]
