"""Methods and attributes of models in Keras 1 and 2, among them losses that are tensors of the model."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.compat.keras2.patches import Own, Patch, methods
from dovetail.core.base.scopes import scopes
from dovetail.core.values.variable import Variable
from dovetail.interop.keras.running import GIVEN
from dovetail.interop.keras_files.building import built
from dovetail.interop.privates import Functional, map_graph, tree

# Attributes of models in Keras 2 → their names in Keras 3.
RENAMED = {
    "_feed_input_names": "input_names",
    "_feed_output_names": "output_names",
    "_feed_outputs": "outputs",
    "_is_compiled": "compiled",
    "nodes_by_depth": "_nodes_by_depth",
    "layers_by_depth": "_operations_by_depth",
    "_layers_by_depth": "_operations_by_depth",
}
UNIQUE = "_unique_output_names"  # the attribute of a model


def patches() -> Iterable[Patch]:
    """Yield the changes of models, and the functions of `keras.models`."""
    model: Any = keras.Model
    yield from methods(
        model,
        predict_proba=lambda self, x, batch_size=None, verbose=0: self.predict(x, batch_size, verbose),
        predict_classes=_predict_classes,
        _make_train_function=_make_train_function,
        _make_test_function=lambda self: self.make_test_function(),
        _make_predict_function=lambda self: self.make_predict_function(),
        reset_states=_reset_states,
        stateful=property(lambda self: any(getattr(layer, "stateful", False) for layer in self.layers)),
        uses_learning_phase=property(lambda self: any(map(_is_other_in_training, self._flatten_layers()))),
        **dict.fromkeys(("input_layers", "_input_layers"), _places_of("inputs", "operation")),
        **dict.fromkeys(("output_layers", "_output_layers"), _places_of("outputs", "operation")),
        **{
            f"{end}_layers_{part}_indices": _places_of(f"{end}s", f"{part}_index")
            for end in ("input", "output")
            for part in ("node", "tensor")
        },
        **{old: Own(lambda self, new=new: getattr(self, new)) for old, new in RENAMED.items()},
        _feed_input_shapes=_shapes_of("inputs"),
        _feed_output_shapes=_shapes_of("outputs"),
        _is_graph_network=property(lambda self: isinstance(self, (Functional, keras.Sequential))),
        state_updates=property(lambda self: []),
        input_names=property(lambda self: _names(self.inputs)),
    )
    yield Patch(keras.Sequential, "output_names", property(lambda self: _names(self.outputs)))
    yield Patch(keras.layers.RNN, "reset_states", lambda self, states=None: _reset_layer(self, states))
    yield Patch(keras.metrics.Metric, "reset_states", lambda self: self.reset_state())
    yield Patch(Functional, "__call__", _call)
    yield Patch(Functional, "_standardize_inputs", _of_one(Functional._standardize_inputs))
    yield Patch(Functional, "output_names", property(lambda self: vars(self)[UNIQUE], _set_unique_names))
    yield Patch(Functional, "add_loss", _add_loss)
    yield Patch(Functional, "add_metric", _add_metric)
    yield Patch(Functional, "_losses", property(_get_losses, _set_losses))
    yield Patch(Functional, "losses", property(_losses))
    yield from methods(
        keras.models,
        Input=keras.Input,
        model_from_config=model_from_config,
        model_from_json=lambda text, custom_objects=None: model_from_config(json.loads(text), custom_objects),
    )


def _set_unique_names(self: Any, names: list[str]) -> None:
    """Set the names of outputs; a layer that gives several of them has a number in all but its first name.

    Source: `tf_keras.src.engine.functional.Functional._set_output_names`.
    """
    unique: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        unique.append(next(each for each in itertools.chain([name], numbered) if each not in unique))
    vars(self)[UNIQUE] = unique


def _names(tensors: Iterable[Any]) -> list[str]:
    """The names of the layers that tensors come from."""
    return [tensor._keras_history.operation.name for tensor in tensors]


def _call(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute a functional model; inputs that are made of variables, `Input(tensor=v)`, need not be given."""
    made = [vars(tensor).get(GIVEN) for tensor in self._inputs]
    values, count = tree.flatten(inputs), sum(isinstance(each, Variable) for each in made)
    if count and len(values) == len(made) - count:
        rest = iter(values)
        inputs = [v.read() if isinstance(v, Variable) else next(rest) for v in made]
    return super(Functional, self).__call__(inputs, *args, **kwargs)


def _of_one(standardize: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that checks the inputs of a call: those of a model with one input may be a list of one."""

    @functools.wraps(standardize)
    def call(self: Any, inputs: Any) -> Any:
        is_list = isinstance(inputs, (list, tuple)) and len(inputs) == len(self._inputs) == 1
        return standardize(self, inputs[0] if is_list else inputs)

    return call


# Layers that differ in training, besides recurrent ones with dropout, and those of programs with `training`.
IN_TRAINING = (
    keras.layers.Dropout,
    keras.layers.GaussianNoise,
    keras.layers.GaussianDropout,
    keras.layers.AlphaDropout,
    keras.layers.BatchNormalization,
)


def _is_other_in_training(layer: Any) -> bool:
    """Whether a layer's result depends on the learning phase."""
    is_own = not type(layer).__module__.startswith(("keras.", "dovetail."))
    drops = any(getattr(layer, name, None) for name in ("dropout", "recurrent_dropout"))
    return isinstance(layer, IN_TRAINING) or drops or (is_own and layer._call_has_training_arg and not layer._layers)


def _places_of(tensors: str, part: str) -> property:
    """Make a property for the layers whose results some tensors of a model are, or for their numbers there."""
    return property(lambda self: [getattr(each._keras_history, part) for each in getattr(self, tensors)])


def _shapes_of(tensors: str) -> property:
    """Make a property for the shapes of some tensors of a model."""
    return property(lambda self: [tuple(each.shape) for each in getattr(self, tensors)])


def _predict_classes(self: Any, x: Any, batch_size: int | None = None, verbose: int = 0) -> Any:
    """The classes of samples: the largest of several outputs, or whether a single one is over 0.5.

    Source: `keras.Sequential.predict_classes` of Keras 2.3.
    """
    scores = self.predict(x, batch_size, verbose)
    return scores.argmax(axis=-1) if scores.shape[-1] > 1 else (scores > 0.5).astype("int32")


def _make_train_function(self: Any) -> Any:
    """Make the function that trains, and the optimizer's state, which Keras 3 makes in the first step."""
    if self.built and self.optimizer is not None and not self.optimizer.built:
        self.optimizer.build(self.trainable_variables)
    return self.make_train_function()


def _reset_states(self: Any) -> None:
    """Forget the states of all layers that keep them between batches."""
    for layer in self.layers:
        if getattr(layer, "stateful", False):
            layer.reset_states()


def _reset_layer(self: Any, states: Any) -> None:
    """Set the states that a recurrent layer keeps between batches; they are zeros if not given."""
    self.reset_state()
    if states is not None:
        kept = tree.flatten(self.states)
        for variable, state in zip(kept, states if len(kept) > 1 else [states], strict=True):
            variable.assign(np.asarray(state))


# -- losses and metrics that are tensors of a model -------------------------------------------------------------------


def _same(self: Any, value: Any) -> Any:
    return keras.KerasTensor(value.shape, value.dtype)


class AddLoss(keras.layers.Layer):
    """A layer that adds its input to the losses of the model."""

    compute_output_spec = _same

    def call(self, loss: Any) -> Any:
        """The mean of the loss, which is added."""
        self.add_loss(keras.ops.mean(loss))
        return loss


class AddMetric(keras.layers.Layer):
    """A layer that keeps the mean of its input as a metric of the model."""

    def __init__(self, metric: str, **options: Any) -> None:
        super().__init__(**options)
        self.mean = keras.metrics.Mean(name=metric)

    compute_output_spec = _same

    def call(self, value: Any) -> Any:
        """The value, which is counted."""
        self.mean.update_state(value)
        return value


def _add_loss(self: Any, losses: Any, inputs: Any = None) -> None:
    """Add losses to those of a functional model: tensors that are made of its inputs, or numbers.

    Args:
        losses: one, or a list of them.
        inputs: ignored, as tensors know theirs.

    Source: `keras.Model.add_loss` of Keras 2.3.
    """
    for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
        if isinstance(loss, keras.KerasTensor):
            _insert(self, AddLoss(), loss)
        else:
            keras.layers.Layer.add_loss(self, loss)


def _losses(self: Any) -> list[Any]:
    """The losses; those that `add_loss` was given are tensors of the model, until a run computes them."""
    ends = [] if scopes().graphs else _ends(self)
    computed = super(Functional, self).losses
    return [*computed, *(end for end in ends if _is_loss(end) and not end._keras_history.operation.losses)]


def _is_loss(end: Any) -> bool:
    return isinstance(end._keras_history.operation, AddLoss)


def _get_losses(self: Any) -> list[Any]:
    try:
        return vars(self)["_losses"]
    except KeyError as error:  # Keras asks before it sets the list
        raise AttributeError("_losses") from error


def _set_losses(self: Any, losses: list[Any]) -> None:
    """Set the private list of losses.  Programs of Keras 2 empty it, to take out the losses that they added."""
    vars(self)["_losses"] = losses
    others = [end for end in _ends(self) if not _is_loss(end)]
    if len(others) < len(_ends(self)):
        _run_to(self, others)


def _add_metric(self: Any, value: Any, name: str, aggregation: str = "mean") -> None:
    """Add the mean of a tensor of a functional model to its results, under a name.

    Raises:
        ValueError: the aggregation is not "mean".

    Source: `keras.Model.add_metric` of Keras 2.3.
    """
    if aggregation != "mean":
        raise ValueError(f"add_metric takes aggregation='mean', not {aggregation!r}; or compile with a metric object.")
    _insert(self, AddMetric(name), value)


def _insert(model: Any, layer: Any, tensor: Any) -> None:
    """Make a layer, called with a tensor of a model, run whenever the model does."""
    _run_to(model, [*_ends(model), layer(tensor)])
    for each in model.layers:
        model._tracker.track(each)


def _ends(model: Any) -> list[Any]:
    """The tensors besides the outputs that a model computes, in order."""
    return vars(model).get("_more_ends", [])


def _run_to(model: Any, ends: list[Any]) -> None:
    """Let a model compute its outputs and these tensors."""
    parts = "_nodes", "_nodes_by_depth", "_operations", "_operations_by_depth"
    vars(model).update(zip(parts, map_graph(model._inputs, [*model._outputs, *ends]), strict=True), _more_ends=ends)
    model.train_function = model.test_function = model.predict_function = None


class Appended(list[Any]):
    """The tensors or the names of a model's metrics; a tensor and a name that are appended make one.

    Args:
        model: the model.
        found: the tensors or names that there are.
        key: the attribute of the model that keeps what is appended until there is a pair.
        other: the attribute of the other list.
    """

    def __init__(self, model: Any, found: Iterable[Any], key: str, other: str) -> None:
        super().__init__(found)
        self.waiting = [vars(model).setdefault(each, []) for each in (key, other)]
        self.model, self.is_name = model, key == NAMES

    def append(self, value: Any) -> None:
        """Make a metric if the other list waits for it."""
        super().append(value)
        own, others = self.waiting
        if others:
            pair = value, others.pop(0)
            _add_metric(self.model, *(pair[::-1] if self.is_name else pair))
        else:
            own.append(value)


NAMES, TENSORS = "_appended_names", "_appended_tensors"


# -- configurations ---------------------------------------------------------------------------------------------------


def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of a configuration of Keras 1, 2 or 3, uncompiled and with new weights.

    Args:
        config: `{"class_name": type(model).__name__, "config": model.get_config()}`.
        custom_objects: classes and functions of the program, by name.

    Raises:
        TypeError: `config` is the list of a Sequential's layers.

    Source: `keras.models.model_from_config` of Keras 2.3.
    """
    if isinstance(config, list):
        raise TypeError(
            "model_from_config takes a dict; for a list of layers use keras.Sequential.from_config(config)."
        )
    return built(config, Path("config"), custom_objects or {}, old=not _of_keras3(config), kind=keras.layers.Layer)


def _of_keras3(config: Any) -> bool:
    """Whether Keras 3 made a configuration: it names the modules of classes."""
    inner = config.get("config")
    layers = inner.get("layers", []) if isinstance(inner, dict) else inner
    return "module" in config or any("module" in layer for layer in layers)
