"""Training as Keras 2 did it: `compile` decides which layers train, and each output has the metrics."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import keras

from dovetail.compat.keras2 import readers
from dovetail.compat.keras2.class_weights import for_each_output
from dovetail.compat.keras2.generators import from_iterators
from dovetail.compat.keras2.given_data import of_arrays
from dovetail.compat.keras2.given_tensors import of_batch, of_compile, of_steps, with_targets
from dovetail.compat.keras2.models import NAMES, TENSORS, Appended
from dovetail.compat.keras2.names import METRICS
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.some_losses import of_losses, of_targets
from dovetail.compat.keras2.training_tensors import with_validation_data
from dovetail.compat.keras2.words import in_old_words
from dovetail.interop.privates import BaseTrainer, CompileLoss, CompileMetrics, tree

COMPILE_ORDER = "self optimizer loss metrics loss_weights sample_weight_mode weighted_metrics target_tensors"
COMPILE = (
    "-sample_weight_mode -class_mode -theano_mode -experimental_run_tf_function "
    "experimental_steps_per_execution:steps_per_execution"
)
FIT = "nb_epoch:epochs -show_accuracy"
DISCREPANCY = (
    "Discrepancy between trainable weights and collected trainable weights, did you set `model.trainable` without "
    "calling `model.compile` after ?"
)


def patches() -> Iterable[Patch]:
    """Yield the changes of models, and of the objects that hold their losses and metrics."""
    model: Any = keras.Model
    compile = of_compile(of_losses(model.compile))
    # Keras compiles the models of its archives unless a subclass has a `compile` of its own, so the base gets it.
    yield Patch(BaseTrainer, "compile", readers.noting(in_old_words(compile, COMPILE, COMPILE_ORDER)))
    fit = from_iterators(for_each_output(in_old_words(with_validation_data(model.fit), FIT)))
    predict = from_iterators(in_old_words(model.predict, "+verbose=0"), of_inputs=True)
    train = in_old_words(model.train_on_batch, "-accuracy")
    yield from methods(
        model,
        fit=of_targets(of_arrays(of_steps(_as_compiled(fit), "steps_per_epoch"))),
        evaluate=of_targets(
            of_arrays(of_steps(from_iterators(in_old_words(model.evaluate, "-show_accuracy")), "steps"))
        ),
        predict=of_arrays(of_steps(predict, "steps", targets=False), targets=False),
        train_on_batch=of_targets(of_arrays(of_batch(_as_compiled(for_each_output(train))))),
        test_on_batch=of_targets(of_arrays(of_batch(model.test_on_batch))),
        predict_on_batch=of_arrays(of_batch(model.predict_on_batch, targets=False), targets=False),
        metrics=property(_metrics(model.metrics.fget)),
        metrics_names=property(_metrics_names),
        _flatten_metrics_in_order=_flatten_in_order,
        _compute_loss=readers.with_tensors(_with_history(model._compute_loss)),
        compute_metrics=readers.with_tensors(_with_history(model.compute_metrics)),
    )
    yield Patch(CompileMetrics, "__init__", _with_a_list(CompileMetrics.__init__))
    yield Patch(CompileMetrics, "build", _with_names(CompileMetrics.build))
    yield Patch(CompileMetrics, "result", _in_order_of_outputs(CompileMetrics.result))
    yield Patch(CompileMetrics, "_build_metrics_set", _for_each_output(CompileMetrics._build_metrics_set))
    yield Patch(CompileLoss, "build", _with_names(CompileLoss.build))


# -- trainable layers -------------------------------------------------------------------------------------------------


def _as_compiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that trains a model: its layers are trainable as they were when it was compiled."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _compiled_state(self):
            return method(self, *args, **kwargs)

    return call


@contextmanager
def _compiled_state(model: Any) -> Iterator[None]:
    """Make layers trainable as they were when the model was compiled, and restore them afterwards."""
    compiled = getattr(model, "_compiled_trainable_state", {})
    present = {layer: layer._trainable for layer in model._flatten_layers()}
    if all(compiled.get(layer, trainable) == trainable for layer, trainable in present.items()):
        yield
        return
    count = len(model.trainable_weights)
    _set(present, compiled)
    if len(model.trainable_weights) != count:
        warnings.warn(DISCREPANCY, stacklevel=4)
    try:
        yield
    finally:
        _set(present, present)


def _set(layers: Iterable[Any], state: dict[Any, bool]) -> None:
    """Set each layer by itself.  Keras' setter also sets inner layers, so the order would matter."""
    for layer in layers:
        if layer in state:
            layer._trainable = state[layer]
            for variable in layer._trainable_variables:
                variable.trainable = state[layer]


# -- metrics of several outputs ---------------------------------------------------------------------------------------


def _with_a_list(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `CompileMetrics.__init__`: it also takes one metric."""

    @functools.wraps(init)
    def call(self: Any, metrics: Any, weighted_metrics: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *(_listed(each) for each in (metrics, weighted_metrics)), *args, **kwargs)

    return call


def _listed(metrics: Any) -> Any:
    """Metrics in a list or dict, under Keras 2's names; of the list `model.metrics`, those that `compile` was given."""
    metrics = metrics if metrics is None or isinstance(metrics, (list, tuple, dict)) else [metrics]
    if type(metrics) is list and any(isinstance(each, CompileMetrics) for each in metrics):
        (metrics,) = (each._user_metrics for each in metrics if isinstance(each, CompileMetrics))
    elif type(metrics) is list:
        metrics = [each for each in metrics if type(each) is not keras.metrics.Mean]  # they follow losses
    return tree.map_structure(lambda each: METRICS.get(each, each) if isinstance(each, str) else each, metrics)


def _with_names(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method that sees outputs first: outputs without names are called `output_1` and so on."""

    @functools.wraps(build)
    def call(self: Any, y_true: Any, y_pred: Any) -> None:
        if not self.output_names and isinstance(y_pred, (list, tuple)) and len(y_pred) > 1:
            self.output_names = [f"output_{number}" for number in range(1, len(y_pred) + 1)]
        build(self, y_true, y_pred)

    return call


def _for_each_output(build_metrics: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that makes the metrics: a plain list of them is for each output."""

    @functools.wraps(build_metrics)
    def call(self: Any, metrics: Any, num_outputs: int, *args: Any, **kwargs: Any) -> Any:
        is_plain = isinstance(metrics, (list, tuple)) and not any(map(tree.is_nested, metrics))
        if metrics and num_outputs > 1 and is_plain:
            metrics = [[_copied(metric) for metric in metrics] for _ in range(num_outputs)]
        return build_metrics(self, metrics, num_outputs, *args, **kwargs)

    return call


def _copied(metric: Any) -> Any:
    return metric.from_config(metric.get_config()) if isinstance(metric, keras.metrics.Metric) else metric


def _in_order_of_outputs(result: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Wrap `CompileMetrics.result`: the weighted metrics of an output follow its others."""

    @functools.wraps(result)
    def call(self: Any) -> dict[str, Any]:
        by_name = result(self)
        names = iter(by_name)
        lists = self._flat_metrics, self._flat_weighted_metrics
        parts = [[[next(names) for _ in each.metrics] if each else [] for each in metrics] for metrics in lists]
        ordered = [name for of_output in zip(*parts, strict=True) for part in of_output for name in part]
        vars(self)["_names"] = ordered
        return {name: by_name[name] for name in ordered}

    return call


def _metrics(get: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Wrap the property `metrics`: the metrics of `compile` follow the losses of outputs."""

    def metrics(self: Any) -> list[Any]:
        own = get(self)
        if self._compile_loss is None or not any(metric is self._compile_metrics for metric in own):
            return own
        others = [metric for metric in own if metric is not self._compile_metrics]
        losses = [number for number, each in enumerate(others, 1) if any(each is m for m in self._compile_loss.metrics)]
        end = max(losses, default=1)
        return [*others[:end], self._compile_metrics, *others[end:]]

    return metrics


def _metrics_names(self: Any) -> list[str]:
    """The names of the results of training: the loss, the losses of outputs, their metrics.

    The names of metrics are known after the first results.  A program may append one, with a tensor of
    `metrics_tensors`.

    Source: `keras.Model.metrics_names` of Keras 2.3.
    """
    names = list[str]()
    for metric in self.metrics:
        names += vars(metric).get("_names", []) if isinstance(metric, CompileMetrics) else [metric.name]
    return Appended(self, names, NAMES, TENSORS)


def _flatten_in_order(self: Any, logs: dict[str, Any]) -> Any:
    """The values of logs in the order of `metrics_names`, then others by name; a single value comes without a list."""
    names = [name for name in self.metrics_names if name in logs]
    values = [logs[name] for name in (*names, *sorted(logs.keys() - set(names)))]
    return values[0] if len(values) == 1 else values


# -- losses ------------------------------------------------------------------------------------------------------------


def _with_history(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that computes losses or metrics: predictions have the `_keras_history` of the model's outputs.

    Targets may be named; those with a number for each sample are columns.
    """

    @functools.wraps(compute)
    def call(self: Any, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any) -> Any:
        outputs, predictions = tree.flatten(getattr(self, "outputs", [])), tree.flatten(y_pred)
        if len(outputs) == len(predictions):
            for output, prediction in zip(outputs, predictions, strict=True):
                with suppress(AttributeError):  # JAX's tensors take no attributes
                    prediction._keras_history = output._keras_history
        return compute(self, x, _of_outputs(self, with_targets(self, y), y_pred), y_pred, *args, **kwargs)

    return call


def _of_outputs(model: Any, y: Any, y_pred: Any) -> Any:
    """Targets in the structure of predictions, of which vectors become columns if the predictions are not vectors."""
    if isinstance(y, dict) and not isinstance(y_pred, dict):
        y = [y[name] for name in model.output_names]
        y = y if isinstance(y_pred, (list, tuple)) else y[0]
    ranks = [len(each.shape) for each in tree.flatten(y_pred)]
    if y is None or not all(rank > 1 for rank in ranks):
        return y
    return tree.map_structure(lambda each: keras.ops.expand_dims(each, -1) if len(each.shape) == 1 else each, y)
