"""Automatic names of layers and models, as Keras 2 gave them: `dense_1`, `input_1`, `model_1`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from dovetail import backend as K
from dovetail.compat.keras2 import words
from dovetail.compat.keras2.patches import Patch
from dovetail.interop.privates import naming, operation

PREFIXES = {"functional": "model", "input_layer": "input"}  # Keras 3's → Keras 2's
_is_inside: ContextVar[bool] = ContextVar("is_inside", default=False)  # whether a Sequential makes its inner model


def patches() -> Iterable[Patch]:
    """Yield the change of the function that makes names."""
    yield Patch(operation, "auto_name", automatic_name)


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
