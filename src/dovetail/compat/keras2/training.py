"""Training as Keras 2 did it: what `compile` found trainable counts."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
from keras.src import tree

from dovetail.compat.keras2.patches import Patch, methods

DISCREPANCY = (
    "Discrepancy between trainable weights and collected trainable weights, did you set `model.trainable` without "
    "calling `model.compile` after ?"
)


def patches() -> Iterable[Patch]:
    """Of models."""
    model: Any = keras.Model
    yield from methods(
        model,
        fit=_as_compiled(model.fit),
        train_on_batch=_as_compiled(model.train_on_batch),
        fit_generator=_generator_method("fit", "steps_per_epoch"),
        evaluate_generator=_generator_method("evaluate", "steps"),
        predict_generator=_generator_method("predict", "steps"),
        _compute_loss=_with_history(model._compute_loss),
    )


# -- what trains ------------------------------------------------------------------------------------------------------


def _as_compiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that trains a model, whose layers train if they were to when it was compiled."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _compiled_state(self):
            return method(self, *args, **kwargs)

    return call


@contextmanager
def _compiled_state(model: Any) -> Iterator[None]:
    """Layers are trainable as they were when the model was compiled; afterwards they are as they were before."""
    compiled = getattr(model, "_compiled_trainable_state", {})
    present = {layer: layer._trainable for layer in model._flatten_layers()}
    if all(compiled.get(layer, trainable) == trainable for layer, trainable in present.items()):
        yield
        return
    count = len(model.trainable_weights)
    _set(present, compiled)
    if len(model.trainable_weights) != count:
        warnings.warn(DISCREPANCY, stacklevel=4)
    try:
        yield
    finally:
        _set(present, present)


def _set(layers: Iterable[Any], state: dict[Any, bool]) -> None:
    """Sets each layer by itself: Keras' own setter sets those inside, too, and which comes last would matter."""
    for layer in layers:
        if layer in state:
            layer._trainable = state[layer]
            for variable in layer._trainable_variables:
                variable.trainable = state[layer]


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
