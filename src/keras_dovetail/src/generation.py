"""Generation: a model's step that makes tokens or pictures, as keras-hub's models have it, is a program.

keras-hub compiles `generate_step` for the backends that it knows, in four classes' `make_generate_function`.  On others
this method returns the step as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dovetail.functions.function import Function, Options
from dovetail.interop.privates import tree
from keras_dovetail.src.scopes import at_once
from keras_dovetail.src.tensors import convert_to_tensor

STOP = "stop_token_ids"  # a parameter whose value the program contains


def compile_generation(cls: Any) -> None:
    """Make a class' own `make_generate_function` return a program, where it would return the step as it is."""
    make = vars(cls).get("make_generate_function")
    if make is None:
        return

    @functools.wraps(make)
    def make_generate_function(self: Any) -> Callable[..., Any]:
        function = make(self)
        if function == self.generate_step and not self.run_eagerly:
            self.generate_function = function = Generation(self)
        return function

    cls.make_generate_function = make_generate_function


class Generation:
    """A model's `generate_step` as a program, for each `stop_token_ids`.

    A program reads the model's weights in each call, so new values are seen.  Other weights, as LoRA makes them, need
    new programs.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._signature = inspect.signature(model.generate_step)
        self._programs: dict[Any, Function[..., Any]] = {}
        self._weights: list[Any] = []  # of the programs

    @at_once
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._signature.bind(*args, **kwargs).arguments
        stop = given.pop(STOP, None)
        tensors = tree.map_structure(lambda v: v if v is None else convert_to_tensor(v), given)
        return self._program(tuple(stop) if isinstance(stop, list) else stop)(tensors)

    def _program(self, stop: Any) -> Function[..., Any]:
        weights = self._model.variables
        if len(weights) != len(self._weights) or any(a is not b for a, b in zip(weights, self._weights, strict=True)):
            self._weights = weights
            self._programs.clear()
        if stop not in self._programs:
            name, options = f"generate of {self._model.name}", Options(stays=True, waits=True)
            self._programs[stop] = Function(functools.partial(self._step, stop), name=name, options=options)
        return self._programs[stop]

    def _step(self, stop: Any, given: dict[str, Any]) -> Any:
        static = {STOP: stop} if STOP in self._signature.parameters else {}
        bound = inspect.BoundArguments(self._signature, {**given, **static})
        return self._model.generate_step(*bound.args, **bound.kwargs)
