"""Models of Keras 3, built of the configurations of Keras 1, 2 and 3 in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import keras

from dovetail.core.base.errors import FormatError
from dovetail.core.base.read_limits import PastLimit
from dovetail.core.op import Op
from dovetail.formats.keras.configs import Configs
from dovetail.interop.keras_files import op_layers
from dovetail.interop.keras_files.lambdas import with_functions
from dovetail.interop.privates import Functional, Operation, ThresholdedReLU, global_state, operations

# Classes of layers that `keras.layers` does not name.
MORE = {cls.__name__: cls for cls in (Functional, ThresholdedReLU, keras.Sequential)} | op_layers.CLASSES


def built(
    config: Any, file: Path, custom_objects: Mapping[str, Any], *, old: bool = True, kind: type = keras.Model
) -> Any:
    """The model of a configuration, uncompiled and with new weights.

    Args:
        config: `{"class_name", "config"}`, as the file has it.
        file: its path, for errors.
        custom_objects: classes and functions of the program, by name.
        old: whether Keras 1 or 2 wrote it.
        kind: the class of what may be there; a layer, too, if the program asks for one.

    Raises:
        FormatError: it is no configuration, or has a class that is not known; the error names the layer.
    """
    in_scope = global_state.get_global_attribute("custom_objects_scope_dict") or {}
    kinds: list[type] = [Op, *Op.__subclasses__()]
    ops = {kind.__name__: kind for kind in kinds}
    objects = {**ops, **keras.saving.get_custom_objects(), **in_scope, **custom_objects}
    config, functions = with_functions(config)
    objects |= functions
    renamed = Configs(file, objects, old=old).model(config)
    try:
        classes = {
            **op_layers.FUNCTIONS,
            **MORE,
            **ops,
            **objects,
            **dict(_classes(renamed, objects, file, old, is_model=True)),
        }
        with keras.saving.CustomObjectScope(classes):  # a scope, for layers of the program that make layers
            model = keras.saving.deserialize_keras_object(renamed)
    except (FormatError, PastLimit):
        raise
    except Exception as error:  # Keras' constructors raise any error for arguments that they do not take
        reason = str(error).rpartition("Exception encountered: ")[2].strip()[:500]
        needed = "a model that Keras 3 makes; a layer of your own takes its arguments by custom_objects={class: …}"
        raise FormatError(file, "model_config", f"{type(error).__name__}: {reason}", needed) from error
    if not isinstance(model, kind):
        raise FormatError(file, "model_config", f"a {type(model).__name__}", "the configuration of a model")
    return model


def _classes(
    config: Any, objects: Mapping[str, Any], file: Path, old: bool, is_model: bool = False
) -> Iterator[tuple[str, Any]]:
    """The classes of all layers of a converted configuration, by their names in it; that of a model may have no name.

    A file's own words for modules are not followed.
    """
    if isinstance(config, dict):
        if "module" in config and config.get("class_name") != "function":
            del config["module"]
        inner = config.get("config")
        is_layer = is_model or (isinstance(inner, dict) and _is_layer(config["class_name"], inner))
        if "registered_name" in config and isinstance(inner, dict) and not is_layer:
            del config["registered_name"]  # an initializer, or the like, among the arguments of a program's layer
        elif "registered_name" in config and isinstance(inner, dict):
            cls = _class(config["class_name"], inner, objects, file, old)
            config["module"] = None  # Keras 3 takes a configuration with this key for its own
            config["registered_name"] = f"{cls.__module__}>{config['class_name']}"  # layers and operations share names
            yield config["registered_name"], cls
    inner = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    for each in inner:
        yield from _classes(each, objects, file, old)


def _is_layer(name: str, config: dict[str, Any]) -> bool:
    """Whether a configuration is that of a layer or an operation, which have names."""
    return "name" in config or name in MORE


def _class(name: str, config: dict[str, Any], objects: Mapping[str, Any], file: Path, old: bool) -> Any:
    """The class of a layer.

    Raises:
        FormatError: there is none.
    """
    base = name.rpartition(">")[2]
    known = objects.get(name, objects.get(base))
    if known is None and not old and "dtype" not in config:  # operations and layers share names; layers have a dtype
        known = _operations().get(name)
    if known is None:
        known = MORE.get(name) or getattr(keras.layers, base, None)
    if known is None:
        title = f"the layer {config.get('name')!r}"
        needed = f"a class of Keras 3, or your own: pass custom_objects={{{base!r}: {base}}}"
        raise FormatError(file, f"model_config, {title}", f"the class {name!r}", needed)
    return known


@cache
def _operations() -> dict[str, type]:
    """Keras' operations that are not layers, by name; files of Keras 3 have them for masks."""
    classes = [cls for cls in Operation.__subclasses__() if not issubclass(cls, keras.layers.Layer)]
    return {cls.__name__: cls for cls in classes if cls.__module__.startswith(f"{operations.__name__}.")}
