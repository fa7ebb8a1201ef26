"""TensorFlow 1's ready-made estimators: networks and linear models of columns of features, for classes or numbers.

An estimator has parts, whose logits are added, and a head, which makes the loss, the predictions and the measures.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.estimators.estimators import Estimator, EstimatorSpec, ModeKeys
from dovetail.compat.tensorflow.names.estimators.feature_columns import input_layer, linear_model
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, get_collection, group
from dovetail.compat.tensorflow.names.layers import core
from dovetail.compat.tensorflow.names.metrics.measures import mean as tf_mean
from dovetail.compat.tensorflow.names.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dovetail.compat.tensorflow.names.strings.functions import BY_TYPE
from dovetail.compat.tensorflow.names.strings.tables import index_table_from_tensor, index_to_string_table_from_tensor
from dovetail.compat.tensorflow.names.train.steps import get_global_step
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import arguments_of, in_v1, signature_of
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import is_of_strings

OPTIMIZERS = {"Adagrad": "Adagrad", "Adam": "Adam", "Ftrl": "Ftrl", "RMSProp": "RMSProp", "SGD": "GradientDescent"}
MEAN = "weighted_sum_over_batch_size"  # of losses; else they are summed


# -- parts ------------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A part of a model.

    Attributes:
        scope: the scope of its variables.
        columns: its columns of features.
        optimizer: the name of an optimizer, an optimizer, or a function that makes one.
        rate: the learning rate of an optimizer that is given by its name.
        logits: (features, size, mode) → the logits.
    """

    scope: str
    columns: Any
    optimizer: Any
    rate: float
    logits: Callable[[Any, int, str], Any]

    def step(self, loss: Any, global_step: Any) -> Any:
        """The operation that trains the variables of the part."""
        made = self.optimizer
        if isinstance(made, str):
            made = named(f"train.{OPTIMIZERS[made]}Optimizer")(self.rate)
        elif not hasattr(made, "minimize"):
            made = made()
        trained = get_collection(GraphKeys.TRAINABLE_VARIABLES, f"{self.scope}/")
        return made.minimize(loss, global_step, trained)


def _deep(given: dict[str, Any], prefix: str = "") -> Part:
    columns, units = given[f"{prefix}feature_columns"], given[f"{prefix}hidden_units"]
    activation, rate = given[f"{prefix}activation_fn"] or ops.relu, given[f"{prefix}dropout"]

    def logits(features: Any, size: int, mode: str) -> Any:
        with variable_scope("dnn"):
            with variable_scope("input_from_feature_columns"):
                net = input_layer(features, columns)
            for number, count in enumerate(units):
                net = core.dense.call(net, count, activation, name=f"hiddenlayer_{number}")
                if rate and mode == ModeKeys.TRAIN:
                    net = core.dropout.call(net, rate, training=True)
            return core.dense.call(net, size, name="logits")

    return Part("dnn", columns, given[f"{prefix}optimizer"], 0.05, logits)


def _linear(given: dict[str, Any], prefix: str = "") -> Part:
    columns = given[f"{prefix}feature_columns"]
    columns = list(columns) if isinstance(columns, (list, tuple, set)) else [columns]
    combiner = given.get("sparse_combiner", given.get("linear_sparse_combiner", "sum"))

    def logits(features: Any, size: int, mode: str) -> Any:
        with variable_scope("linear"):
            return linear_model(features, columns, size, combiner)

    return Part("linear", columns, given[f"{prefix}optimizer"], min(0.2, 1 / math.sqrt(len(columns) or 1)), logits)


def _combined(given: dict[str, Any]) -> list[Part]:
    parts = [_linear(given, "linear_")] if given["linear_feature_columns"] else []
    parts += [_deep(given, "dnn_")] if given["dnn_feature_columns"] else []
    if not parts:
        raise op_error(
            ValueError, "tf.estimator.DNNLinearCombined", "give linear_feature_columns or dnn_feature_columns."
        )
    return parts


# -- heads ------------------------------------------------------------------------------------------------------------


def _column(x: Any, size: int = 1) -> Any:
    return ops.reshape(x, [-1, size])


class Classes:
    """The head of classes.

    Args:
        given: the arguments of the estimator.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.count, self.words = given["n_classes"], given["label_vocabulary"]
        self.size = 1 if self.count == 2 else self.count

    def labels(self, labels: Any) -> Any:
        """The numbers of the classes, a column."""
        if self.words is not None:
            labels = in_v1(index_table_from_tensor)(self.words).lookup(labels)
        elif is_of_strings(getattr(labels, "dtype", None)):
            problem = "labels are strings: give label_vocabulary."
            raise op_error(ValueError, "tf.estimator", problem)
        return ops.cast(_column(labels), "int64")

    def losses(self, labels: Any, logits: Any) -> Any:
        """The cross-entropy of each example, a column."""
        if self.count == 2:
            return in_v1(sigmoid_cross_entropy_with_logits)(labels=ops.cast(labels, logits.dtype), logits=logits)
        classes = ops.squeeze(labels, 1)
        return _column(in_v1(sparse_softmax_cross_entropy_with_logits)(labels=classes, logits=logits))

    def predictions(self, logits: Any) -> dict[str, Any]:
        """The predictions, by name."""
        predictions: dict[str, Any] = {"logits": logits}
        both = logits
        if self.count == 2:
            predictions["logistic"] = ops.sigmoid(logits)
            both = ops.concatenate([ops.zeros_like(logits), logits], -1)
        ids = ops.cast(ops.expand_dims(ops.argmax(both, -1), -1), "int64")
        words = BY_TYPE["AsString"](ids)
        if self.words is not None:
            words = in_v1(index_to_string_table_from_tensor)(self.words).lookup(ids)
        return {**predictions, "probabilities": ops.softmax(both), "class_ids": ids, "classes": words}

    def measures(self, labels: Any, found: dict[str, Any], weights: Any) -> dict[str, Any]:
        """The measures of an evaluation, besides losses."""
        metric = {name: named(f"metrics.{name}") for name in ("accuracy", "mean", "auc", "precision", "recall")}
        measures = {"accuracy": metric["accuracy"](labels, found["class_ids"], weights)}
        if self.count == 2:
            chances, ids = found["logistic"], found["class_ids"]
            measures["auc"] = metric["auc"](labels, chances, weights)
            measures["auc_precision_recall"] = metric["auc"](labels, chances, weights, curve="PR")
            measures["precision"] = metric["precision"](labels, ids, weights)
            measures["recall"] = metric["recall"](labels, ids, weights)
            measures["label/mean"] = metric["mean"](labels, weights)
            measures["prediction/mean"] = metric["mean"](chances, weights)
            value, update = metric["mean"](labels, weights, name="baseline")
            measures["accuracy_baseline"] = ops.maximum(value, 1.0 - value), update
        return measures


class Numbers:
    """The head of numbers.

    Args:
        given: the arguments of the estimator.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.size = given["label_dimension"]

    def labels(self, labels: Any) -> Any:
        """The numbers, a row for each example."""
        return ops.cast(_column(labels, self.size), "float32")

    def losses(self, labels: Any, logits: Any) -> Any:
        """The squared error of each number."""
        return ops.square(logits - labels)

    def predictions(self, logits: Any) -> dict[str, Any]:
        """The predictions, by name."""
        return {"predictions": logits}

    def measures(self, labels: Any, found: dict[str, Any], weights: Any) -> dict[str, Any]:
        """The measures of an evaluation, besides losses."""
        return {"label/mean": tf_mean(labels, weights), "prediction/mean": tf_mean(found["predictions"], weights)}


# -- estimators -------------------------------------------------------------------------------------------------------


def _model(parts: Sequence[Part], head: Any, given: dict[str, Any]) -> Callable[..., EstimatorSpec]:
    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        logits = functools.reduce(ops.add, [part.logits(features, head.size, mode) for part in parts])
        predicted = head.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predicted)
        labels = head.labels(labels)
        key = given["weight_column"]
        weights = None if key is None else _column(ops.cast(features[getattr(key, "key", key)], "float32"))
        losses = head.losses(labels, logits)
        weighted = losses if weights is None else losses * weights
        loss = ops.sum(weighted)
        if given["loss_reduction"] == MEAN:
            loss = ops.mean(weighted)
        if mode == ModeKeys.EVAL:
            measures = {"average_loss": tf_mean(losses, weights), **head.measures(labels, predicted, weights)}
            return EstimatorSpec(mode, predicted, loss, eval_metric_ops=measures)
        step = get_global_step()
        steps = [part.step(loss, step if part is parts[0] else None) for part in parts]
        return EstimatorSpec(mode, predicted, loss, group(*steps))

    return model_fn


_LAST = "config=None warm_start_from=None loss_reduction='weighted_sum' batch_norm=False"
_COMBINED = (
    "model_dir=None linear_feature_columns=None linear_optimizer='Ftrl' dnn_feature_columns=None "
    "dnn_optimizer='Adagrad' dnn_hidden_units=None dnn_activation_fn=None dnn_dropout=None"
)
_CLASSES, _NUMBERS = "n_classes=2 weight_column=None label_vocabulary=None", "label_dimension=1 weight_column=None"
_WORDS = {
    "DNN": "hidden_units feature_columns model_dir=None HEAD optimizer='Adagrad' activation_fn=None dropout=None "
    f"input_layer_partitioner=None {_LAST}",
    "Linear": "feature_columns model_dir=None HEAD optimizer='Ftrl' config=None partitioner=None warm_start_from=None "
    "loss_reduction='weighted_sum' sparse_combiner='sum'",
    "DNNLinearCombined": f"{_COMBINED} HEAD input_layer_partitioner=None {_LAST} linear_sparse_combiner='sum'",
}
_PARTS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    "DNN": lambda given: [_deep(given)],
    "Linear": lambda given: [_linear(given)],
    "DNNLinearCombined": _combined,
}


def _add(kind: str, name: str, head: Callable[[dict[str, Any]], Any], words: str) -> None:
    title, signature = f"tf.estimator.{kind}{name}", signature_of(_WORDS[kind].replace("HEAD", words))

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = arguments_of(signature, args, kwargs)
        if given.get("batch_norm"):
            raise op_error(NotImplementedError, title, "batch_norm is not offered: write a model function.")
        model = _model(_PARTS[kind](given), head(given), given)
        Estimator.__init__(self, model, given["model_dir"], given["config"], None, given["warm_start_from"])

    doc = f"An estimator of columns of features.\n\n    Source: `{title}` of TensorFlow 1.15.\n    "
    made = type(f"{kind}{name}", (Estimator,), {"__init__": __init__, "__doc__": doc})
    value(f"estimator.{kind}{name}", made, "v1")


for _kind in _WORDS:
    _add(_kind, "Classifier", Classes, _CLASSES)
    _add(_kind, "Regressor", Numbers, _NUMBERS)
