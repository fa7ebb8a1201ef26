"""Compiling loaded models as they were compiled, with the state of the optimizer."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.formats.hdf5 import Group
from dovetail.formats.keras import training_rows
from dovetail.formats.keras.weights import named
from dovetail.interop.keras_files.checkpoint import SLOTS
from dovetail.interop.keras_files.layers import trained

logger = logging.getLogger("dovetail.keras")


def compile_as(model: Any, training: Any, file: Path, custom_objects: Mapping[str, Any]) -> bool:
    """Compile a model as a file says; a warning says if that cannot be, and the model is not compiled.

    Args:
        model: a Keras model.
        training: `training_config` of the file.
        file: its path, for the warning.
        custom_objects: losses, metrics and optimizers of the program, by name.

    Returns:
        whether it is compiled.
    """
    try:
        with keras.saving.custom_object_scope(dict(custom_objects)):
            model.compile(**_arguments(model, training, custom_objects))
    except Exception as error:  # Keras raises any error for configurations that it does not know
        advice = "compile it, or pass what it was compiled with in custom_objects"
        logger.warning("The model of %s is not compiled (%s): %s.", file, str(error).partition("\n")[0], advice)
        return False
    return True


def _arguments(model: Any, training: Any, custom_objects: Mapping[str, Any]) -> dict[str, Any]:
    losses = training_rows.function(training.get("loss"))
    found: dict[str, Any] = {
        "optimizer": _optimizer(training_rows.optimizer(training["optimizer_config"])),
        "loss": _each(losses, lambda loss: _loss(loss, custom_objects)),
        "loss_weights": training.get("loss_weights"),
    }
    for key in ("metrics", "weighted_metrics"):
        given = training_rows.function(training.get(key))
        found[key] = _metrics(model, given, custom_objects) if given else None
    return found


def _each(given: Any, make: Callable[[Any], Any]) -> Any:
    """Make each of a structure of configurations."""
    if isinstance(given, list):
        return [_each(item, make) for item in given]
    if isinstance(given, dict) and "class_name" not in given:
        return {key: _each(item, make) for key, item in given.items()}
    return None if given is None else make(given)


def _optimizer(config: dict[str, Any]) -> Any:
    inner = config["config"].get("inner_optimizer")
    if isinstance(inner, dict):
        config = {**config, "config": {**config["config"], "inner_optimizer": _optimizer(inner)}}
    name = config["class_name"]
    cls = keras.saving.get_registered_object(name) or getattr(keras.optimizers, name, None)
    if cls is None:
        raise ValueError(f"no optimizer {name!r}")
    rate = config["config"].get("learning_rate")
    if isinstance(rate, dict):
        config["config"]["learning_rate"] = keras.optimizers.schedules.deserialize(_plain(rate))
    return cls(**config["config"])


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    return {key: config[key] for key in ("class_name", "config")}


def _loss(given: Any, custom_objects: Mapping[str, Any]) -> Any:
    if isinstance(given, str):
        return custom_objects.get(given) or (keras.losses.get(given) and given)
    if given["class_name"] in training_rows.WRAPPERS:
        return custom_objects.get(given["config"]["fn"]) or keras.losses.get(given["config"]["fn"])
    return keras.losses.get(given)


def _metrics(model: Any, given: Any, custom_objects: Mapping[str, Any]) -> Any:
    """Metrics; their names lose the names of outputs, which Keras 3 puts before them itself."""
    outputs = [re.escape(name) for name in getattr(model, "output_names", [])]
    prefix = re.compile(f"^({'|'.join(outputs)})_") if len(outputs) > 1 else None

    def make(metric: Any) -> Any:
        if isinstance(metric, str):
            return custom_objects.get(metric, metric)
        config = metric["config"]
        if prefix and isinstance(config.get("name"), str):
            config["name"] = prefix.sub("", config["name"])
        if metric["class_name"] not in training_rows.WRAPPERS:
            return keras.metrics.deserialize(metric)
        found = custom_objects.get(config["fn"]) or keras.metrics.get(config["fn"])
        if isinstance(found, keras.metrics.Metric):
            return type(found)(name=config.get("name"))
        return keras.metrics.MeanMetricWrapper(found, name=config.get("name"))

    return _each(given, make)


# -- the state of an optimizer ----------------------------------------------------------------------------------------


def load_optimizer(model: Any, group: Group, file: Path, *, old: bool = True) -> None:
    """Give the optimizer of a compiled model its state in a file; a warning says if it does not fit.

    Args:
        model: the model, which has its weights.
        group: `optimizer_weights` of the file.
        file: its path, for the warning.
        old: whether Keras 1 or 2 wrote it; Keras 3 has all variables of an optimizer in order.
    """
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    variables = list(model.trainable_variables)
    model.optimizer.build(variables)
    stored = {name: array.read() for name, array in named(group).items()}
    pairs = _slots(optimizer, variables, model, stored) if old else _in_order(model.optimizer.variables, stored)
    if pairs is None or any(tuple(variable.shape) != np.shape(value) for variable, value in pairs):
        logger.warning("%s has no whole state of the optimizer for this model, so it starts again.", file)
        return
    for variable, array in pairs:
        variable.assign(array)


def _slots(optimizer: Any, variables: list[Any], model: Any, stored: Mapping[str, Any]) -> list[tuple[Any, Any]] | None:
    """The variables of an optimizer with their values; None if they do not fit."""
    order = {id(weight): number for number, weight in enumerate(variables)}
    weights = list(dict.fromkeys(order[id(w)] for _, inside in trained(model) for w in inside if id(w) in order))
    lists = {a: slots for a, slots in vars(optimizer).items() if a in SLOTS and isinstance(slots, list) and slots}
    counts = [value for name, value in stored.items() if _is_counter(name, value)]
    arrays = {name: value for name, value in stored.items() if not _is_counter(name, value)}
    found: dict[str, list[Any]] = {}
    for name, value in arrays.items():
        found.setdefault(_attribute(name, lists), []).append(value)
    if found.keys() == {""}:  # names without meaning, in Keras 2.0 to 2.2
        values = found[""]
        found = {a: values[n * len(weights) : (n + 1) * len(weights)] for n, a in enumerate(lists)}
    pairs = []
    for attribute, slots in lists.items():
        values = found.get(attribute, [])
        if len(values) != len(weights):
            return None
        pairs += [(slots[number], value) for number, value in zip(weights, values, strict=True)]
    if counts:
        pairs.append((optimizer._iterations, counts[0]))
        if hasattr(optimizer, "_u_product"):
            steps = np.arange(1, int(counts[0]) + 1)
            pairs.append((optimizer._u_product, np.prod(optimizer.beta_1 * (1 - 0.5 * 0.96**steps))))
    return pairs


def _in_order(variables: list[Any], stored: Mapping[str, Any]) -> list[tuple[Any, Any]] | None:
    return list(zip(variables, stored.values(), strict=True)) if len(variables) == len(stored) else None


def _is_counter(name: str, value: Any) -> bool:
    return np.ndim(value) == 0 and re.search(r"\biter(ation)?s?\b", name.replace("_", " ")) is not None


def _attribute(name: str, lists: Mapping[str, Any]) -> str:
    """The list of an optimizer for a value named "Adam/m/dense/kernel:0" or "Adam/dense/kernel/m:0"; "" if unknown."""
    parts = name.partition(":")[0].split("/")
    for word in (parts[-1], *parts[:2]):
        for attribute in lists:
            if word in SLOTS[attribute]:
                return attribute
    return ""
