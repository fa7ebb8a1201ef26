"""Training as Keras 2 did it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras
from keras.src import tree

from dovetail.compat.keras2.patches import Patch, methods


def patches() -> Iterable[Patch]:
    """Of models."""
    model: Any = keras.Model
    yield from methods(
        model,
        fit_generator=_generator_method("fit", "steps_per_epoch"),
        evaluate_generator=_generator_method("evaluate", "steps"),
        predict_generator=_generator_method("predict", "steps"),
        _compute_loss=_with_history(model._compute_loss),
    )


# -- what losses are given, and generators ----------------------------------------------------------------------------


def _with_history(compute_loss: Callable[..., Any]) -> Callable[..., Any]:
    """A model's loss, whose functions may ask predictions for the layer that they come from, by `_keras_history`."""

    @functools.wraps(compute_loss)
    def call(self: Any, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any) -> Any:
        outputs, predictions = tree.flatten(getattr(self, "outputs", [])), tree.flatten(y_pred)
        if len(outputs) == len(predictions):
            for output, prediction in zip(outputs, predictions, strict=True):
                prediction._keras_history = output._keras_history
        return compute_loss(self, x, y, y_pred, *args, **kwargs)

    return call


def _generator_method(name: str, steps: str) -> Callable[..., Any]:
    """`fit_generator` and its like: the method itself, which takes generators, without what it has no use for."""

    def call(self: Any, generator: Any, *args: Any, **kwargs: Any) -> Any:
        for unused in ("max_queue_size", "workers", "use_multiprocessing"):
            kwargs.pop(unused, None)
        if args:
            args, kwargs = args[1:], {**kwargs, steps: args[0]}
        if args:
            raise TypeError(f"{name}_generator takes what is behind the number of steps by name.")
        return getattr(self, name)(generator, **kwargs)

    return call
