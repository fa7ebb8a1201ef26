"""`tf.contrib.learn`: estimators that take arrays, monitors that evaluate them, and runs of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, second, value
from dovetail.compat.tensorflow.names.estimators.estimators import (
    Estimator,
    EstimatorSpec,
    ModeKeys,
    numpy_input_fn,
    taken,
)
from dovetail.compat.tensorflow.names.estimators.feature_columns import numeric_column
from dovetail.compat.tensorflow.names.estimators.monitors import replace_monitors_with_hooks
from dovetail.compat.tensorflow.names.metrics.measures import mean
from dovetail.compat.tensorflow.names.monitored.hooks import CheckpointSaverListener
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error

COLUMN = ""  # the key of arrays among the features of a canned estimator


class ModelFnOps(NamedTuple):
    """The parts of a model, which a model function of contrib returns.

    Source: `tf.contrib.learn.ModelFnOps`.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None

    def spec(self) -> EstimatorSpec:
        """The same parts, as other estimators take them."""
        own = self._asdict()
        del own["output_alternatives"]
        return EstimatorSpec(**own)


class TakesArrays(Estimator):
    """An estimator with the methods of contrib, which take arrays or input functions."""

    metrics: Mapping[str, Any] | None = None  # of the evaluation that is going on
    _key: str | None = None  # under which the features have arrays

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Any:
        """Train with arrays, in batches of a random order, or with an input function."""
        hooks = replace_monitors_with_hooks(monitors, self)
        listeners = [one.of(self) for one in monitors or () if isinstance(one, ValidationMonitor)]
        given = input_fn or self._input(x, y, batch_size, None)
        return self.train(given, hooks, steps, max_steps, listeners)

    partial_fit = fit

    def evaluate(  # type: ignore[override]  # contrib's words
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """The loss and the measures of arrays, or of the batches of an input function.

        Args:
            metrics: name → function of predictions and labels, or a `MetricSpec`.
        """
        if feed_fn is not None:
            problem = "feed_fn is not offered: give x and y, or an input_fn."
            raise op_error(NotImplementedError, "tf.contrib.learn.Estimator.evaluate", problem)
        given = x if callable(x) else input_fn or self._input(x, y, batch_size, 1)
        self.metrics = metrics
        try:
            return super().evaluate(given, steps, hooks, checkpoint_path, name)
        finally:
            self.metrics = None

    def predict(  # type: ignore[override]  # contrib's words
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions for each example; for all in one array, without `as_iterable`."""
        given = x if callable(x) else input_fn or self._input(x, None, batch_size, 1)
        found = super().predict(given, outputs, yield_single_examples=as_iterable and not iterate_batches)
        return found if as_iterable else _joined(found)

    def _input(self, x: Any, y: Any, batch_size: int | None, epochs: int | None) -> Callable[..., Any]:
        """The input function of arrays."""
        if x is None:
            raise op_error(ValueError, "tf.contrib.learn.Estimator", "give x, or an input_fn.")
        x = np.asarray(x) if self._key is None else {self._key: np.asarray(x)}
        count = len(x if self._key is None else x[self._key])
        labels = None if y is None else np.asarray(y)
        return numpy_input_fn(x, labels, batch_size or count, epochs, shuffle=epochs is None, queue_capacity=count)


def _joined(batches: Iterator[Any]) -> Any:
    """Arrays, or dicts of them, behind each other."""
    parts = list(batches)
    if not isinstance(parts[0], dict):
        return np.concatenate(parts)
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


class LearnEstimator(TakesArrays):
    """An estimator of a model function of contrib.

    Args:
        model_fn: (features, labels, mode, params, config) → a `ModelFnOps`, an `EstimatorSpec`, or a tuple of the
            predictions, the loss and the operation of a step.
        feature_engineering_fn: (features, labels) → those that the model function gets.

    Source: `tf.contrib.learn.Estimator`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> def line(features, labels, mode):
        ...     w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        ...     if mode == tf.contrib.learn.ModeKeys.INFER:
        ...         return features * w, None, None
        ...     loss = tf.reduce_mean(tf.square(features * w - labels))
        ...     step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        ...     return features * w, loss, step
        >>> x = np.float32([1.0, 2.0])
        >>> model = tf.contrib.learn.SKCompat(tf.contrib.learn.Estimator(line)).fit(x, 3 * x, steps=50)
        >>> model.predict(x).round(3).tolist()
        [3.0, 6.0]
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        def whole(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            known = {"labels": labels, "targets": labels, "mode": mode, "params": params, "config": config}
            made = model_fn(features, **taken(model_fn, known))
            if not isinstance(made, (ModelFnOps, EstimatorSpec)):
                made = ModelFnOps(mode, *made)
            spec = made.spec() if isinstance(made, ModelFnOps) else made
            measures = _measures(self.metrics or {}, spec.predictions, labels) if mode == ModeKeys.EVAL else {}
            return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **measures})

        super().__init__(whole, model_dir, config, params)


class MetricSpec(NamedTuple):
    """A measure of some predictions.

    Source: `tf.contrib.learn.MetricSpec`.
    """

    metric_fn: Callable[..., Any]
    prediction_key: str | None = None
    label_key: str | None = None
    weight_key: str | None = None


class PredictionKey:
    """The keys of the predictions of canned estimators.

    Source: `tf.contrib.learn.PredictionKey`.
    """

    CLASSES, PROBABILITIES, LOGITS, LOGISTIC, SCORES = "classes", "probabilities", "logits", "logistic", "scores"


def _measures(metrics: Mapping[Any, Any], predictions: Any, labels: Any) -> dict[str, Any]:
    """Name → the value and the update of each measure; of a value alone, the mean over batches."""
    measures = {}
    for key, given in metrics.items():
        name, wanted = key if isinstance(key, tuple) else (key, None)
        spec = given if isinstance(given, MetricSpec) else MetricSpec(given, wanted)
        parts = [
            whole[part] if part is not None else whole
            for whole, part in ((predictions, spec.prediction_key), (labels, spec.label_key))
        ]
        made = spec.metric_fn(*parts)
        measures[name] = made if isinstance(made, tuple) else mean(made)
    return measures


class SKCompat:
    """An estimator with the methods of scikit-learn.

    Args:
        estimator: an estimator of contrib.

    Source: `tf.contrib.learn.SKCompat`.
    """

    def __init__(self, estimator: TakesArrays) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> SKCompat:
        """Train with arrays."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The loss and the measures of arrays."""
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x: Any, batch_size: int = 128, outputs: Sequence[str] | None = None) -> Any:
        """The predictions for all examples: an array, or a dict of arrays."""
        return TakesArrays.predict(self._estimator, x, None, batch_size, outputs, as_iterable=False)


class ValidationMonitor(CheckpointSaverListener):
    """A monitor that evaluates the checkpoints of an estimator, and may stop its training.

    Args:
        x, y, input_fn, batch_size, eval_steps, metrics, name: as of `evaluate`.
        every_n_steps: how many steps there are between two evaluations, at least.
        early_stopping_rounds: the number of steps without a better value after which training stops.
        early_stopping_metric: the measure that decides; early_stopping_metric_minimize: whether less is better.

    Attributes:
        best_step, best_value: of the best evaluation.
        early_stopped: whether it has stopped the training.

    Source: `tf.contrib.learn.monitors.ValidationMonitor`.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[str, Any] | None = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
    ) -> None:
        self._given = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size, "steps": eval_steps}
        self._given |= {"metrics": metrics, "hooks": hooks, "name": name}
        self._every, self._rounds = every_n_steps, early_stopping_rounds
        self._metric, self._sign = early_stopping_metric, 1.0 if early_stopping_metric_minimize else -1.0
        self._estimator: Any = None
        self._last = 0
        self.best_step, self.best_value, self.early_stopped = 0, None, False

    def of(self, estimator: Any) -> ValidationMonitor:
        """The monitor, which evaluates an estimator from now on."""
        self._estimator = estimator
        return self

    def after_save(self, session: Any, global_step_value: int) -> bool:
        """Evaluate the checkpoint, and return whether training is to stop."""
        step = int(global_step_value)
        if step == 0 or step < self._last + self._every:
            return False
        self._last = step
        value: Any = self._estimator.evaluate(**self._given)[self._metric]
        if self.best_value is None or self._sign * value < self._sign * self.best_value:
            self.best_step, self.best_value = step, value
        self.early_stopped = self._rounds is not None and step - self.best_step >= self._rounds
        return self.early_stopped


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """The column of arrays that are given as `x`.

    Source: `tf.contrib.learn.infer_real_valued_columns_from_input`.
    """
    return [numeric_column(COLUMN, np.shape(x)[1:] or (1,))]


@function("contrib.learn.run_n", "v1")
def run_n(
    output_dict: Mapping[str, Any],
    feed_dict: Mapping[Any, Any] | None = None,
    restore_checkpoint_path: str | None = None,
    n: int = 1,
) -> list[dict[str, Any]]:
    """The values of tensors in some runs of a new session.

    Args:
        output_dict: name → tensor.
        feed_dict: the feeds of each run.
        restore_checkpoint_path: a checkpoint with the values of variables; without, they begin with their first.

    Source: `tf.contrib.learn.run_n`.
    """
    session_class, graph = named("Session"), graph_mode.open_graph()
    with session_class(graph=graph) as session:
        session.run([named("global_variables_initializer")(), named("local_variables_initializer")()])
        session.run(named("tables_initializer")())
        if restore_checkpoint_path:
            Saver().restore(session, restore_checkpoint_path)
        named("train.start_queue_runners")(session)
        return [session.run(dict(output_dict), feed_dict) for _ in range(n)]


def _by_contrib(predictions: Mapping[str, Any]) -> dict[str, Any]:
    """Predictions with the keys of contrib for classes and for numbers, one for each example."""
    if "class_ids" in predictions:
        return {**predictions, PredictionKey.CLASSES: predictions["class_ids"][:, 0]}
    return {**predictions, PredictionKey.SCORES: predictions["predictions"][:, 0]}


class _OfColumns(TakesArrays):
    """A canned estimator that takes arrays, too; it predicts one number for each example."""

    _key = COLUMN
    _predicted = "predictions"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        model_fn = self.model_fn

        def measured(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            spec = model_fn(features, labels, mode)
            if not self.metrics or mode != ModeKeys.EVAL:
                return spec
            measures = _measures(self.metrics, _by_contrib(spec.predictions), labels)
            return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **measures})

        self.model_fn = measured

    def predict(  # type: ignore[override]  # contrib's words
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The prediction for each example: the class, or the number; with `outputs`, a dict of these."""
        if outputs is not None:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)
        return self._only(self._predicted, x, input_fn, batch_size, as_iterable, lambda part: part[..., 0])

    predict_classes = predict_scores = predict

    def predict_proba(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The probabilities of the classes for each example."""
        return self._only("probabilities", x, input_fn, batch_size, as_iterable, lambda part: part)

    def _only(
        self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool, take: Callable[[Any], Any]
    ) -> Any:
        found = super().predict(x, input_fn, batch_size, [key], as_iterable)
        return (take(part[key]) for part in found) if as_iterable else take(found[key])


_KINDS, _HEADS = ("DNN", "Linear", "DNNLinearCombined"), ("Classifier", "Regressor")
for _name in [f"{_kind}{_head}" for _kind in _KINDS for _head in _HEADS]:
    _canned: Any = named(f"estimator.{_name}")
    _parts = {"__doc__": _canned.__doc__} | ({"_predicted": "class_ids"} if "Class" in _name else {})
    value(f"contrib.learn.{_name}", type(_name, (_OfColumns, _canned), _parts), "v1")
for _name in (
    *("Estimator", "SKCompat", "ModelFnOps", "MetricSpec", "PredictionKey"),
    "infer_real_valued_columns_from_input",
):
    value(f"contrib.learn.{_name}", LearnEstimator if _name == "Estimator" else globals()[_name], "v1")
value("contrib.learn.monitors.ValidationMonitor", ValidationMonitor, "v1")
second("contrib.learn.metric_spec.MetricSpec", "contrib.learn.MetricSpec")
second("contrib.learn.prediction_key.PredictionKey", "contrib.learn.PredictionKey")
for _name in ("ModelFnOps", "ModeKeys"):
    second(f"contrib.learn.model_fn.{_name}", f"contrib.learn.{_name}")
