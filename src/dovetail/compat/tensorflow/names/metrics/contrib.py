"""`tf.contrib.metrics` and `slim.metrics`: the measures of `tf.metrics` with the predictions first, and others.

Source: `tf.contrib.metrics`, the function of the same name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.contrib.places import under
from dovetail.compat.tensorflow.names.metrics import best as best  # its measures are looked up here
from dovetail.compat.tensorflow.names.metrics import measures
from dovetail.compat.tensorflow.names.metrics.measures import mean
from dovetail.compat.tensorflow.names.nn.losses import confusion_matrix, in_top_k
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype

_METRICS = "contrib.metrics contrib.slim.metrics"


def _predictions_first(new: Callable[..., Any]) -> Callable[..., Any]:
    """A measure of `tf.metrics` that takes the predictions before the labels, if it takes both."""
    words = inspect.signature(new).parameters
    first = [words[name] for name in ("predictions", "labels") if {"predictions", "labels"} <= words.keys()]
    signature = inspect.Signature([*first, *(word for word in words.values() if word not in first)])

    def streaming(*args: Any, **kwargs: Any) -> Any:
        return new(**signature.bind(*args, **kwargs).arguments)

    streaming.__doc__ = f"`tf.metrics.{new.__name__}`, with the predictions first."
    return streaming


_SAME = (
    "mean mean_tensor accuracy precision recall true_positives true_negatives false_positives false_negatives auc "
    "specificity_at_sensitivity sensitivity_at_specificity precision_at_thresholds recall_at_thresholds "
    "mean_absolute_error mean_relative_error mean_squared_error root_mean_squared_error mean_cosine_distance mean_iou"
)
STREAMING = {  # the name after "streaming_" → that in `tf.metrics`
    **{name: name for name in _SAME.split()},
    "percentage_less": "percentage_below",
    "sparse_recall_at_k": "recall_at_k",
    "sparse_precision_at_k": "precision_at_k",
}
for _old, _new in STREAMING.items():
    value(under(_METRICS, f"streaming_{_old}"), _predictions_first(named(f"metrics.{_new}")), "v1")


def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often the label is among the k best predictions: the value, and the operation that takes in a run."""
    hits = ops.cast(in_top_k(predictions, labels, k), "float32")
    return mean(hits, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


# -- measures that tf.metrics does not have ---------------------------------------------------------------------------


def _rate(wrong: Any, right: Any) -> Any:
    return measures.ratio(wrong, ops.add(wrong, right))


def _best_f1(tp: Any, fn: Any, fp: Any) -> Any:
    precision, recall = measures.share(tp, fp), measures.share(tp, fn)
    return ops.max(2.0 * precision * recall / (precision + recall + measures.EPSILON))


def _f1_added(labels: Any, predictions: Any, weights: Any, num_thresholds: int) -> measures.Added:
    return measures.counts_at("tp fn fp", labels, predictions, measures.spread(num_thresholds), weights)


def _rate_at(right: Any, wrong: Any) -> Any:
    return measures.share(wrong, right)


_FIRST, _AT = "predictions labels weights=None +", "predictions labels thresholds weights=None +"
for _name, _kinds in {"false_positive_rate": "fp tn", "false_negative_rate": "fn tp"}.items():
    _each, _at = (under(_METRICS, f"streaming_{_name}{end}") for end in ("", "_at_thresholds"))
    measures.metric(_name, _FIRST, partial(measures.counts, _kinds, "/count"), _rate, names=_each)
    _order = " ".join(reversed(_kinds.split()))  # in which contrib makes the variables
    _added = partial(measures.counts_at, _order)
    measures.metric(f"{_name}_at_thresholds", _AT, _added, _rate_at, names=_at)
measures.metric(
    "f1_score",
    "labels predictions weights=None num_thresholds=200 +",
    _f1_added,
    _best_f1,
    "f1",
    names=under(_METRICS, "f1_score"),
)
measures.metric(
    "count",
    "values weights=None +",
    lambda values, weights: {"count": ops.sum(measures.wide_of(weights, values))},
    ops.identity,
    names=under(_METRICS, "count"),
)


def _raters(labels: Any, predictions_idx: Any, num_classes: int, weights: Any) -> measures.Added:
    dtype = "float32" if weights is not None and as_dtype(ops.convert(weights).dtype).is_floating else "int64"
    counts = confusion_matrix(labels, predictions_idx, num_classes, weights=weights, dtype=dtype)
    return {"po": ops.diagonal(counts), "pe_row": ops.sum(counts, 0), "pe_col": ops.sum(counts, 1)}


def _kappa(po: Any, pe_row: Any, pe_col: Any) -> Any:
    right, total, products = (ops.cast(ops.sum(x), "float64") for x in (po, pe_row, pe_row * pe_col))
    expected = measures.ratio(products, total)
    return measures.ratio(right - expected, total - expected)


measures.metric(
    "cohen_kappa",
    "labels predictions_idx num_classes weights=None +",
    _raters,
    _kappa,
    names=under(_METRICS, "cohen_kappa"),
)


def _products(predictions: Any, labels: Any, weights: Any) -> measures.Added:
    """Weighted sums of the powers and products of both, in float64: differences of large numbers come of them."""
    x, y = (ops.cast(values, "float64") for values in (predictions, labels))
    weight = ops.cast(measures.wide_of(weights, predictions), "float64")
    parts = {"count": 1.0, "x": x, "y": y, "xy": x * y, "xx": x * x, "yy": y * y}
    return {name: ops.sum(weight * part) for name, part in parts.items()}


def _covariance(count: Any, x: Any, y: Any, xy: Any, xx: Any, yy: Any) -> Any:
    return ops.cast((xy - x * y / count) / (count - 1), "float32")


def _correlation(count: Any, x: Any, y: Any, xy: Any, xx: Any, yy: Any) -> Any:
    spread = ops.sqrt((xx - x * x / count) * (yy - y * y / count))
    return ops.cast((xy - x * y / count) / spread, "float32")


for _name, _result in {"covariance": _covariance, "pearson_correlation": _correlation}.items():
    _own = under(_METRICS, f"streaming_{_name}")
    measures.metric(_name, _FIRST, _products, _result, names=_own)

# -- without variables ------------------------------------------------------------------------------------------------


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The share of predictions that are the labels, of one batch.

    Raises:
        ValueError: the labels are no integers or booleans, or the predictions have another dtype.
    """
    predictions, labels = map(ops.convert, (predictions, labels))
    dtype = as_dtype(labels.dtype)
    if dtype != as_dtype(predictions.dtype) or not (dtype == "bool" or "int" in dtype):
        problem = f"both are integers or booleans of one dtype, not {predictions.dtype} and {dtype}."
        raise op_error(ValueError, "tf.contrib.metrics.accuracy", problem)
    with graph_mode.name_scope(name or "accuracy"):
        right = ops.cast(ops.equal(predictions, labels), "float32")
        if weights is None:
            return ops.mean(right)
        return ops.divide(ops.sum(right * weights), ops.sum(weights * ops.ones_like(right)))


def aggregate_metrics(*value_update_tuples: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values of several measures, and their updates.

    Raises:
        ValueError: no measure is given.
    """
    if not value_update_tuples:
        raise op_error(ValueError, "tf.contrib.metrics.aggregate_metrics", "give one pair of a measure or more.")
    values, updates = zip(*value_update_tuples, strict=True)
    return [*values], [*updates]


def aggregate_metric_map(names_to_tuples: Mapping[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of several measures by name, and their updates by name.

    Raises:
        ValueError: no measure is given.
    """
    values, updates = aggregate_metrics(*names_to_tuples.values())
    return dict(zip(names_to_tuples, values, strict=True)), dict(zip(names_to_tuples, updates, strict=True))


for _function in (streaming_recall_at_k, accuracy, aggregate_metrics, aggregate_metric_map):
    value(under(_METRICS, _function.__name__), _function, "v1")
