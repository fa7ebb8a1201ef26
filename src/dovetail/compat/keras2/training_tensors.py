"""Tensors that a compiled model had in Keras 2, and the arrays for them that callbacks find.

They are its targets, weights of samples, loss and metrics.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import keras
import numpy as np

from dovetail import backend as K
from dovetail.compat.keras2.given_tensors import TARGETS
from dovetail.compat.keras2.logs import OF_FIT, params_of_fit
from dovetail.compat.keras2.models import NAMES, TENSORS, AddLoss, Appended
from dovetail.compat.keras2.patches import Own, Patch, methods
from dovetail.interop.privates import CompileLoss, CompileMetrics, tree


class Tensors(NamedTuple):
    """The tensors of a model since it was compiled.

    Attributes:
        compilation: an object that each call of `compile` makes.
        targets: one for each output; None for an output without a loss.
        sample_weights: one for each output whose targets are fed, of shape (batch,).
        total_loss: a scalar.
        metrics: scalars: the losses of several outputs, then the metrics of each.
    """

    compilation: Any
    targets: list[Any]
    sample_weights: list[Any]
    total_loss: Any
    metrics: list[Any]


def patches() -> Iterable[Patch]:
    """Yield the attributes of models."""
    model: Any = keras.Model
    yield from methods(
        model,
        total_loss=Own(lambda self: _tensors(self).total_loss),
        targets=Own(lambda self: [*_tensors(self).targets]),
        sample_weights=Own(lambda self: [*_tensors(self).sample_weights]),
        metrics_tensors=Own(lambda self: Appended(self, _tensors(self).metrics, TENSORS, NAMES)),
        _feed_inputs=Own(lambda self: [*self.inputs]),
        _feed_targets=Own(lambda self: _present(*_tensors(self).targets)),
        _feed_sample_weights=Own(lambda self: [*_tensors(self).sample_weights]),
    )
    yield Patch(keras.callbacks.Callback, "validation_data", None)  # before the first `fit`


class Scalar(keras.layers.Layer):
    """A layer that makes a scalar of its inputs by a function, which is not saved."""

    def __init__(self: Any, function: Callable[..., Any]) -> None:
        super().__init__()
        vars(self)["_function"] = function  # whose values Keras does not track

    def compute_output_spec(self, *values: Any) -> Any:
        """The spec of the scalar."""
        return keras.KerasTensor((), keras.config.floatx())

    def call(self, *values: Any) -> Any:
        """The scalar."""
        return keras.ops.cast(keras.ops.mean(vars(self)["_function"](*values)), keras.config.floatx())


def _tensors(model: Any) -> Tensors:
    """The tensors of a model, which stay until it is compiled again.

    Raises:
        AttributeError: it is not compiled.
    """
    if not model.compiled:
        raise AttributeError(f"{model.name} is not compiled, so its training has no tensors yet.")
    kept = vars(model).get("_training_tensors")
    if kept is None or kept.compilation is not model._loss_tracker:
        kept = vars(model)["_training_tensors"] = _made(model)
    return kept


def _made(model: Any) -> Tensors:
    """Make the tensors; training does not use them, since Keras 3 computes losses of arrays."""
    outputs, names = model.outputs, model.output_names
    losses = _losses(model)
    given = vars(model).get(TARGETS, [None] * len(names))
    targets = [
        _target(target, _shape(y, losses.get(i)), y.dtype, f"{name}_target")
        for i, (target, y, name) in enumerate(zip(given, outputs, names, strict=True))
    ]
    weights = [
        keras.Input(batch_shape=(None,), name=f"{name}_sample_weights")
        if target is None or K.is_placeholder(target)
        else None  # the target is computed
        for target, name in zip(given, names, strict=True)
    ]
    terms = [Scalar(loss)(*_present(targets[i], outputs[i], weights[i])) for i, (loss, _) in losses.items()]
    factors = [1.0 if factor is None else factor for _, factor in losses.values()]

    def total(*values: Any) -> Any:
        parts = [factor * value for factor, value in zip(factors, values, strict=False)]
        return sum([*parts, *values[len(factors) :], *model._get_regularization_losses()])

    return Tensors(
        model._loss_tracker,
        [target if i in losses else None for i, target in enumerate(targets)],
        _present(*weights),
        Scalar(total)(*terms, *_of_layers(model)),
        [*(terms if len(outputs) > 1 else []), *_metrics(model, targets)],
    )


def _present(*tensors: Any) -> list[Any]:
    return [each for each in tensors if each is not None]


def _target(given: Any, shape: tuple[int | None, ...], dtype: Any, name: str) -> Any:
    """The tensor for a target: a given one of the model, an input made of another given one, or a new input."""
    if given is None:
        return keras.Input(batch_shape=shape, dtype=dtype, name=name)
    return given if isinstance(given, keras.KerasTensor) else keras.Input(tensor=given, name=name)


def _shape(output: Any, loss: tuple[Any, Any] | None) -> tuple[int | None, ...]:
    """The shape of targets: of unknown sizes, but for the last one of classes that are numbers."""
    is_sparse = loss is not None and "sparse" in loss[0].name
    return (*[None] * (len(output.shape) - 1), 1 if is_sparse else None)


def _losses(model: Any) -> dict[int, tuple[Any, float | None]]:
    """The losses of outputs with their factors, by the number of the output."""
    given = model._compile_loss
    if given is None:
        return {}
    rule = CompileLoss(given._user_loss, given._user_loss_weights, output_names=model.output_names)
    rule.build(*_alone(model.outputs, model.outputs))
    places = {name: i for i, name in enumerate(model.output_names)} | {i: i for i in range(len(model.outputs))}
    return {places[each.path[0]] if each.path else 0: (each.loss, each.loss_weights) for each in rule._flat_losses}


def _metrics(model: Any, targets: list[Any]) -> list[Any]:
    """The means of the metrics that are functions."""
    given = model._compile_metrics
    if given is None:
        return []
    rule = CompileMetrics(given._user_metrics, given._user_weighted_metrics, output_names=model.output_names)
    rule.build(*_alone(targets, model.outputs))
    of_outputs = zip(rule._flat_metrics, targets, model.outputs, strict=True)
    rows = [(metric, y, output) for metrics, y, output in of_outputs if metrics for metric in metrics.metrics]
    return [Scalar(metric._fn)(y, output) for metric, y, output in rows if hasattr(metric, "_fn")]


def _alone(*lists: list[Any]) -> list[Any]:
    """Lists of several tensors, and single tensors instead of lists of one."""
    return [each[0] if len(each) == 1 else each for each in lists]


def _of_layers(model: Any) -> Iterable[Any]:
    """The losses that layers and the model add: of `add_loss` of a model, and of activities."""
    for end in vars(model).get("_more_ends", ()):
        if isinstance(end._keras_history.operation, AddLoss):
            yield Scalar(keras.ops.mean)(end)
    for layer in model.layers:
        if getattr(layer, "activity_regularizer", None) is not None:
            yield from (Scalar(layer.activity_regularizer)(y) for y in tree.flatten(layer.output))


# -- arrays for the tensors -------------------------------------------------------------------------------------------


def with_validation_data(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fit`: callbacks have the arrays of the validation as `validation_data`, unless batches are generated.

    They also have the `params` of Keras 2.
    """
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs).arguments
        callbacks = tree.flatten(given.get("callbacks") or [])
        data = _validation_data(self, given) if callbacks else []
        for callback in callbacks:
            setattr(callback, OF_FIT, params_of_fit(given))
            if data:
                callback.validation_data = data
        return fit(self, *args, **kwargs)

    return call


def _validation_data(model: Any, given: dict[str, Any]) -> list[Any]:
    """The inputs, targets, weights, and the learning phase if the model asks for it; [] if there are no arrays."""
    data, split = given.get("validation_data"), given.get("validation_split")
    if isinstance(data, (list, tuple)) and len(data) in (2, 3):
        parts = [*data, None][:3]
    elif split and given.get("y") is not None:
        parts = [given.get(name) for name in ("x", "y", "sample_weight")]
        start = int(len(_arrays(model, "input_names", parts[0])[0]) * (1 - split))
        parts = [tree.map_structure(lambda each: None if each is None else each[start:], part) for part in parts]
    else:
        return []
    x, y = _arrays(model, "input_names", parts[0]), _arrays(model, "output_names", parts[1])
    weights = [np.asarray(each) for each in tree.flatten(parts[2])] if parts[2] is not None else []
    weights = weights or [np.ones(len(each), keras.config.floatx()) for each in y]
    return [*x, *y, *weights, *([0.0] if model.uses_learning_phase else [])]


def _arrays(model: Any, names: str, values: Any) -> list[Any]:
    """The arrays of several inputs or outputs, by their names or in order; vectors become columns.

    Args:
        model: the model.
        names: its attribute for the names, which some models lack.
        values: an array, a list or a dict of arrays, or None.
    """
    if isinstance(values, dict):
        values = [values[name] for name in getattr(model, names, values)]
    is_list = isinstance(values, (list, tuple)) and len(values) == len(getattr(model, names, values))
    arrays = map(np.asarray, values if is_list else [] if values is None else [values])
    return [each[:, None] if each.ndim == 1 else each for each in arrays]
