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
from dovetail.interop.keras_files.checkpoint import SLOTS, set_product
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
    takes_decay = hasattr(keras.optimizers.Optimizer, "decay")  # as Keras 2's names give it
    arguments: dict[str, Any] = {
        "optimizer": _optimizer(training_rows.optimizer(training["optimizer_config"], takes_decay=takes_decay)),
        "loss": _each(losses, lambda loss: _loss(loss, custom_objects)),
        "loss_weights": training.get("loss_weights"),
    }
    for key in ("metrics", "weighted_metrics"):
        given = training_rows.function(training.get(key))
        arguments[key] = _metrics(model, given, custom_objects) if given else None
    return arguments


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
    """A schedule as Keras 3 takes it, which refuses None as its name."""
    given = {key: value for key, value in config["config"].items() if (key, value) != ("name", None)}
    return {"class_name": config["class_name"], "config": given}


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
        measure = custom_objects.get(config["fn"]) or keras.metrics.get(config["fn"])
        if isinstance(measure, keras.metrics.Metric):
            return type(measure)(name=config.get("name"))
        return keras.metrics.MeanMetricWrapper(measure, name=config.get("name"))

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
    stored = {name: array.read() for name, array in named(group).items()}
    _load(model, file, (lambda: _slots(model, stored)) if old else (lambda: _in_order(model.optimizer, stored)))
    if old:
        set_product(model.optimizer)


def load_numbered(model: Any, values: list[Any], file: Path) -> None:
    """Give the optimizer of a compiled model the values of an archive of Keras 2, which has them by number."""
    _load(model, file, lambda: _numbered(model.optimizer, values))
    set_product(model.optimizer)


def _load(model: Any, file: Path, pairs_of: Callable[[], list[tuple[Any, Any]]]) -> None:
    model.optimizer.build(model.trainable_variables)
    try:
        pairs = pairs_of()
        for variable, value in pairs:
            array = np.asarray(value)
            if tuple(variable.shape) != array.shape or array.dtype.kind in "OSU":  # a group, or texts
                raise _Unfit(
                    f"an array {array.shape} of {array.dtype} for {variable.path}, which is {tuple(variable.shape)}"
                )
    except _Unfit as error:
        logger.warning(
            "%s has no whole state of the optimizer %s for this model, so it starts again: the file has %s.",
            *(file, type(model.optimizer).__name__, error),
        )
    else:
        for variable, value in pairs:
            variable.assign(value)


class _Unfit(Exception):
    """The state in a file is not that of an optimizer; the text says what the file has."""


def _slots(model: Any, stored: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The variables of an optimizer with the values that Keras 1 or 2 wrote.

    Raises:
        _Unfit: there are more or fewer values.
    """
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    variables = list(model.trainable_variables)
    order = {id(weight): number for number, weight in enumerate(variables)}
    weights = list(dict.fromkeys(order[id(w)] for _, inside in trained(model) for w in inside if id(w) in order))
    lists = {a: slots for a, slots in vars(optimizer).items() if a in SLOTS and isinstance(slots, list) and slots}
    counts = [value for name, value in stored.items() if _is_counter(name, value)]
    alone = [name for name, value in stored.items() if _is_counter(name, value) or _is_product(name, value)]
    arrays = {name: value for name, value in stored.items() if name not in alone}
    lists_of_values: dict[str, list[Any]] = {}
    for name, value in arrays.items():
        lists_of_values.setdefault(_attribute(name, lists), []).append(value)
    if lists_of_values.keys() == {""}:  # names without meaning, in Keras 2.0 to 2.2
        values = lists_of_values[""]
        lists_of_values = {a: values[n * len(weights) : (n + 1) * len(weights)] for n, a in enumerate(lists)}
    if "" in lists_of_values:
        raise _Unfit(f"{len(lists_of_values[''])} values that are in none of its lists")
    pairs = []
    for attribute, slots in lists.items():
        values = lists_of_values.get(attribute, [])
        if len(values) != len(weights):
            raise _Unfit(f"{len(values)} values for the {len(weights)} variables of its list {attribute}")
        pairs += [(slots[number], value) for number, value in zip(weights, values, strict=True)]
    if counts:
        pairs.append((optimizer._iterations, counts[0]))
    return pairs


def _in_order(optimizer: Any, stored: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The variables of an optimizer with the values that Keras 3 wrote; a schedule takes none of the rate.

    Raises:
        _Unfit: there are more or fewer values.
    """
    has_rate = any(variable.path.endswith("/learning_rate") for variable in optimizer.variables)
    values = [value for name, value in stored.items() if has_rate or not name.endswith("/learning_rate")]
    return _paired(optimizer.variables, values)


def _numbered(optimizer: Any, values: list[Any]) -> list[tuple[Any, Any]]:
    """The variables of an optimizer with the values of Keras 2, which has no rate and no product among them.

    Raises:
        _Unfit: there are more or fewer values.
    """
    others = [getattr(optimizer, name, None) for name in ("_learning_rate", "_u_product")]
    variables = [variable for variable in optimizer.variables if not any(variable is each for each in others)]
    alone = len(variables) == 1  # an SGD without momentum, for which Keras 2 writes zeros
    return _paired(variables, values[:1] if alone else values)


def _paired(variables: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    if len(variables) != len(values):
        raise _Unfit(f"{len(values)} values for its {len(variables)} variables")
    return list(zip(variables, values, strict=True))


def _is_counter(name: str, value: Any) -> bool:
    return np.ndim(value) == 0 and re.search(r"\biter(ation)?s?\b", name.replace("_", " ")) is not None


def _is_product(name: str, value: Any) -> bool:
    return np.ndim(value) == 0 and re.search(r"\b(momentum_cache|m_schedule)\b", name) is not None


def _attribute(name: str, lists: Mapping[str, Any]) -> str:
    """The list of an optimizer for a value named "Adam/m/dense/kernel:0" or "Adam/dense/kernel/m:0"; "" if unknown."""
    parts = name.partition(":")[0].split("/")
    for word in (parts[-1], *parts[:2]):
        for attribute in lists:
            if word in SLOTS[attribute]:
                return attribute
    return ""
