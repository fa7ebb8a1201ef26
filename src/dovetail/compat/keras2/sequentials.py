"""A Sequential that begins with a model, whose tensors it takes over.

Then `model.output` depends on the inner model's tensors, so that `K.gradients` and functions reach them, as in Keras 1
and up to Keras 2.1.  Later versions call the inner model once more, on a new input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras

from dovetail.interop.privates import Functional


def from_the_inner_model(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Sequential.build`: it goes on from the output of a first layer that is a model."""

    @functools.wraps(build)
    def call(self: Any, input_shape: Any = None) -> None:
        layers = self.layers  # without the input
        inner: Any = _graph_of(layers[0]) if layers else None
        if inner is None or not _is_free(self, inner, layers[0]):
            build(self, input_shape)
            return
        x = inner.outputs[0]
        for layer in layers[1:]:
            x = layer(x)
        self._layers = [inner.inputs[0]._keras_history.operation, *layers]
        self._functional = Functional(inner.inputs[0], x)
        self.built = True

    return call


def _graph_of(layer: Any) -> Any:
    """The functional model that computes a model of one input and one output; None for other layers."""
    graph: Any = getattr(layer, "_functional", None) if type(layer) is keras.Sequential else layer
    is_single = type(graph) is Functional and len(graph.inputs) == len(graph.outputs) == 1
    return graph if is_single else None


def _is_free(model: Any, inner: Any, layer: Any) -> bool:
    """Whether a model has no input of its own before an inner model."""
    source, first = inner.inputs[0]._keras_history.operation, model._layers[0]
    return first is layer or first.name == source.name
