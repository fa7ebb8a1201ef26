"""Configurations of layers as Keras 2 had them: names of dtypes, plain lists, and functions of this process."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch
from dovetail.formats.keras.config_rows import value_of
from dovetail.interop.keras_files.building import built
from dovetail.interop.keras_files.lambdas import remember, with_functions
from dovetail.interop.privates import Operation, TrackedDict, TrackedList, TrackedSet

FUNCTIONS = "function", "output_shape", "mask"  # the arguments of a `Lambda` layer that may be functions


def patches() -> Iterable[Patch]:
    """Yield the changes of `get_config`, and how a `Lambda` layer is made of its configuration."""
    layer: Any = keras.layers.Layer
    of_lambda: Any = keras.layers.Lambda
    yield Patch(layer, "get_config", _with_the_name_of_the_dtype(layer.get_config))
    yield Patch(Operation, "get_config", _without_arguments(Operation.get_config))
    yield Patch(keras.layers, "deserialize", _of_keras2_too(keras.layers.deserialize))
    yield Patch(layer, "build_from_config", _of_tuples(layer.build_from_config))
    for cls, plain in ((TrackedList, list), (TrackedDict, dict), (TrackedSet, set)):
        yield Patch(cls, "__deepcopy__", _as(plain))
    yield Patch(of_lambda, "get_config", _that_remembers(of_lambda.get_config))
    yield Patch(of_lambda, "from_config", classmethod(_that_recalls(of_lambda.from_config.__func__)))


def _with_the_name_of_the_dtype(get_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(get_config)
    def call(self: Any) -> dict[str, Any]:
        config = get_config(self)
        return config | {"dtype": value_of("dtype", config["dtype"])}

    return call


def _without_arguments(get_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Wrap the first `get_config`: a layer without its own, whose arguments cannot be written, has a name alone."""

    @functools.wraps(get_config)
    def call(self: Any) -> dict[str, Any]:
        try:
            return get_config(self)
        except NotImplementedError:
            if isinstance(self, keras.Model):
                raise
            return {"name": self.name}

    return call


def _of_keras2_too(deserialize: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `layers.deserialize`: it also takes `{"class_name", "config"}` alone, which names no module."""

    @functools.wraps(deserialize)
    def call(config: Any, custom_objects: Any = None) -> Any:
        if isinstance(config, dict) and not {"module", "registered_name"} & config.keys():
            return built(config, Path("config"), custom_objects or {}, kind=keras.layers.Layer)
        return deserialize(config, custom_objects=custom_objects)

    return call


def _of_tuples(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap `build_from_config`: shapes that were lists in JSON are tuples, and several of them a list."""

    def shape(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        members = map(shape, value)
        return list(members) if any(isinstance(each, (list, tuple)) for each in value) else tuple(members)

    return functools.wraps(build)(
        lambda self, config: build(self, config and {key: shape(value) for key, value in config.items()})
    )


def _as(plain: type) -> Callable[..., Any]:
    """Make `__deepcopy__` of a container that Keras 3 puts for a layer's list: a copy does not track layers."""
    return lambda self, memo: copy.deepcopy(plain(self), memo)


def _that_remembers(get_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(get_config)
    def call(self: Any) -> dict[str, Any]:
        config = get_config(self)
        for name, function in zip(FUNCTIONS, (self.function, self._output_shape, self.mask), strict=True):
            remember(config.get(name), function)
        return config

    return call


def _that_recalls(from_config: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(from_config)
    def call(cls: Any, config: Any, custom_objects: Any = None, **options: Any) -> Any:
        config, functions = with_functions(config)
        return from_config(cls, config, {**(custom_objects or {}), **functions}, **options)

    return call
