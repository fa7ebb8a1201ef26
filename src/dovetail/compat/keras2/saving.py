"""Files of models: HDF5 under any name, operations that are not layers, groups of weights, and YAML."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch, methods
from dovetail.interop.privates import Operation, h5_groups, operations, saving_utils


def patches() -> Iterable[Patch]:
    """Yield the changes of the functions that write models and make the layers of a file, and the functions of YAML."""
    yield Patch(keras.Model, "save", _save)
    yield from (Patch(module, "save_model", _save) for module in (keras.models, keras.saving))
    yield Patch(saving_utils, "model_metadata", _that_keeps_the_optimizer(saving_utils.model_metadata))
    yield Patch(saving_utils, "model_from_config", _that_knows_operations(saving_utils.model_from_config))
    yield from methods(keras.Model, to_yaml=lambda self, **kwargs: self.to_json(**kwargs))  # JSON is YAML, too
    yield from methods(keras.models, model_from_yaml=_model_from_yaml)


_own_save = keras.Model.save


def _save(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    **options: Any,
) -> None:
    """Write a model as HDF5 under any name, or as an archive of Keras 3 if the name ends with `.keras`.

    Args:
        model: the model.
        filepath: the file, or an open one of h5py.
        overwrite: whether an old file is replaced without a question.
        include_optimizer: whether the state of training is written.
        save_format: ignored, as the name decides.
        options: arguments for Keras 3's archives.

    Source: `keras.models.save_model` of Keras 2.2.
    """
    if str(filepath).endswith(".keras") or options:
        _own_save(model, filepath, overwrite, **options)
    else:
        h5_groups.save_model_to_hdf5(model, filepath, overwrite, include_optimizer)


def _model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """A model of the configuration in a text that is YAML; PyYAML reads what is not JSON.

    Source: `keras.models.model_from_yaml` of Keras 2.3.
    """
    if not yaml_string.lstrip().startswith("{"):
        yaml_string = json.dumps(import_module("yaml").safe_load(yaml_string))
    return keras.models.model_from_json(yaml_string, custom_objects)


def _that_keeps_the_optimizer(model_metadata: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what HDF5 files say of a model: Keras 3 takes the optimizer out of the model's own configuration."""

    @functools.wraps(model_metadata)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        compiled = getattr(model, "_compile_config", None)
        before = {} if compiled is None else dict(compiled.config)
        try:
            return model_metadata(model, *args, **kwargs)
        finally:
            if compiled is not None:
                compiled.config = before

    return call


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


def _of_layers(name: str) -> Callable[..., None]:
    """Make a function of an HDF5 group and a list of layers of Keras 3's function of a group and a model."""

    def call(f: Any, layers: Sequence[Any], **options: Any) -> None:
        model = SimpleNamespace(layers=layers, weights=[], _trainable_variables=[], _non_trainable_variables=[])
        getattr(h5_groups, name)(f, model, **options)

    return call


GROUPS = SimpleNamespace(
    **{
        name: _of_layers(name)
        for name in (
            "save_weights_to_hdf5_group",
            "load_weights_from_hdf5_group",
            "load_weights_from_hdf5_group_by_name",
        )
    }
)
