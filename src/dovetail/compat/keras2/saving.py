"""HDF5 files of models: operations that are not layers, such as operations of masks, load again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch
from dovetail.interop.privates import Operation, operations, saving_utils


def patches() -> Iterable[Patch]:
    """Yield the change of the function that makes the layers of a file."""
    yield Patch(saving_utils, "model_from_config", _that_knows_operations(saving_utils.model_from_config))


def _that_knows_operations(model_from_config: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that makes each layer of a file: it also makes Keras' operations, by class name.

    Some operations and layers share a name.  Only the configuration of a layer has a dtype.
    """

    @functools.wraps(model_from_config)
    def call(config: Any, custom_objects: Any = None) -> Any:
        name = config.get("class_name") if isinstance(config, dict) else None
        cls = _operations().get(name)
        if cls is not None and "dtype" not in config["config"] and name not in (custom_objects or {}):
            custom_objects = {**(custom_objects or {}), name: cls}
        return model_from_config(config, custom_objects)

    return call


@functools.cache
def _operations() -> dict[Any, type]:
    """Keras' operations that are not layers, by name."""
    classes = [cls for cls in Operation.__subclasses__() if not issubclass(cls, keras.layers.Layer)]
    return {cls.__name__: cls for cls in classes if cls.__module__.startswith(f"{operations.__name__}.")}
