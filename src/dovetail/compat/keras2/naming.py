"""Automatic names of layers and models, as Keras 2 gave them: `dense_1`, `input_1`, `model_1`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from dovetail import backend as K
from dovetail.compat.keras2 import words
from dovetail.compat.keras2.patches import Patch
from dovetail.interop.privates import KerasVariable, name_scope, naming, operation

PREFIXES = {"functional": "model", "input_layer": "input"}  # Keras 3's → Keras 2's
_is_inside: ContextVar[bool] = ContextVar("is_inside", default=False)  # whether a Sequential makes its inner model


def patches() -> Iterable[Patch]:
    """Yield the changes of the function that makes names, and of the classes that check them."""
    yield Patch(operation, "auto_name", automatic_name)
    for cls in (name_scope, KerasVariable):
        yield Patch(cls, "__init__", with_slashes(cls.__init__))


class _Name(str):
    """A name of several parts, as `conv1/7x7`, that passes Keras' check for a slash."""

    def __contains__(self, part: Any) -> bool:
        return part != "/" and super().__contains__(part)


def with_slashes(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `__init__`: the name of a layer, a variable or a scope may have slashes, as in Keras 2."""
    parameters = inspect.signature(init)

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        given = parameters.bind(self, *args, **kwargs)
        name = given.arguments.get("name")
        if not isinstance(name, str) or "/" not in name:
            init(self, *args, **kwargs)
            return
        given.arguments["name"] = _Name(name)
        init(*given.args, **given.kwargs)
        vars(self).update({attribute: name for attribute, value in vars(self).items() if type(value) is _Name})

    return call


def automatic_name(cls: str) -> str:
    """The name of the next layer or model of a class, with a number of `K.get_uid`.

    `tf.keras` gives the first one of a class no number, unless it is an input.
    """
    prefix = naming.to_snake_case(cls)
    prefix = PREFIXES.get(prefix, prefix)
    if prefix == "model" and _is_inside.get():
        return prefix
    number = K.get_uid(prefix) - (words.of_tensorflow and prefix != "input")
    return f"{prefix}_{number}" if number else prefix


def that_numbers_no_model(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Sequential.build`: the functional model inside takes no number from the program's models."""

    @functools.wraps(build)
    def call(self: Any, input_shape: Any = None) -> None:
        token = _is_inside.set(True)
        try:
            build(self, input_shape)
        finally:
            _is_inside.reset(token)

    return call
