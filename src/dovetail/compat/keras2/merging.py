"""Keras 1's `merge` and `Merge`, also as the first layer of a Sequential."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail.compat.keras2.naming import that_numbers_no_model
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.sequentials import from_the_inner_model
from dovetail.formats.keras.config_rows import MERGES
from dovetail.interop import privates
from dovetail.interop.privates import Functional


def patches() -> Iterable[Patch]:
    """Yield the name of a layer, and the changes of `Sequential`; `merge` is also the name of a module."""
    yield Patch(keras.layers, "Merge", Merge)
    yield Patch(privates.Merge, "compute_mask", _of_the_given_masks)
    sequential: Any = keras.Sequential
    build = that_numbers_no_model(from_the_inner_model(_of_merged(sequential.build)))
    yield from methods(sequential, add=_after_given_inputs(sequential.add), build=build)


def merge(
    inputs: Any,
    mode: Any = "sum",
    concat_axis: int = -1,
    dot_axes: Any = -1,
    output_shape: Any = None,
    output_mask: Any = None,
    arguments: Any = None,
    name: str | None = None,
) -> Any:
    """The result of joining tensors.

    Args:
        inputs: a list of tensors.
        mode: "sum", "mul", "ave", "max", "concat", "dot" or "cos"; or a function of the list.
        concat_axis: the axis of "concat".
        dot_axes: the axis of "dot" and "cos", or one for each tensor.
        output_shape: the result's shape without the batch, or a function of shapes, if `mode` is a function.
        output_mask: the mask of a function's result, or a function of masks.
        arguments: named arguments of a function.
        name: of the layer.

    Source: `keras.layers.merge` of Keras 1.2.
    """
    return Merge(None, mode, concat_axis, dot_axes, output_shape, output_mask, arguments, name)(inputs)


def Merge(
    layers: Any = None,
    mode: Any = "sum",
    concat_axis: int = -1,
    dot_axes: Any = -1,
    output_shape: Any = None,
    output_mask: Any = None,
    arguments: Any = None,
    name: str | None = None,
) -> Any:
    """The layer that `merge` calls; with `layers`, models or layers that were called, it is the first of a Sequential.

    Raises:
        ValueError: `mode` is unknown.

    Source: `keras.layers.Merge` of Keras 1.2.
    """
    if callable(mode):
        made = keras.layers.Lambda(mode, output_shape, output_mask, arguments or {}, name=name)
    elif mode in MERGES:
        cls, options = MERGES[mode]
        if isinstance(dot_axes, (list, tuple)):  # Keras 1 also took a list for each tensor
            dot_axes = tuple(axis[0] if isinstance(axis, (list, tuple)) else axis for axis in dot_axes)
        elif dot_axes == 0:  # Keras 1 multiplied along the axis before the last, unless it was told the last
            dot_axes = -2
        more = {"Concatenate": {"axis": concat_axis}, "Dot": {"axes": dot_axes}}.get(cls, {})
        made = getattr(keras.layers, cls)(name=name, **options, **more)
    else:
        raise ValueError(f"merge has the modes {', '.join(MERGES)}, or takes a function; mode={mode!r} is none.")
    if layers:
        made._merged = list(layers)  # which Keras tracks
    return made


def _of_the_given_masks(self: Any, inputs: Any, mask: Any = None) -> Any:
    """The mask of a merged tensor: steps that all given masks keep; Keras 3 gives none unless all inputs have one.

    Source: `keras.layers.merge._Merge` of Keras 2.3.
    """
    given = [each for each in mask or () if each is not None]
    return functools.reduce(keras.ops.logical_and, given) if given else None


def _after_given_inputs(add: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Sequential.add`: a first layer may have the shape of a whole batch."""

    @functools.wraps(add)
    def call(self: Any, layer: Any, rebuild: bool = True) -> None:
        shape = vars(layer).get("_batch_input_shape") if isinstance(layer, keras.layers.Layer) else None
        if shape is not None and not self._layers:
            add(self, keras.layers.InputLayer(batch_shape=shape, name=f"{layer.name}_input"))
        add(self, layer, rebuild)
        if rebuild and "_merged" in vars(self._layers[0]):
            self.build()

    return call


def _of_merged(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Sequential.build`: the first layer may join the outputs of models, whose inputs are then the model's."""

    @functools.wraps(build)
    def call(self: Any, input_shape: Any = None) -> None:
        merged = vars(self._layers[0]).get("_merged") if self._layers else None
        if merged is None:
            build(self, input_shape)
            return
        x = [each.output for each in merged]
        for layer in self._layers:
            x = layer(x)
        inputs = [tensor for each in merged for tensor in getattr(each, "inputs", None) or [each.input]]
        self._functional = Functional(inputs, x)

    return call
