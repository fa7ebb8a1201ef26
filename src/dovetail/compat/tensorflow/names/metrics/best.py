"""TensorFlow 1's measures of the k best predictions of each sample."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import second
from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue, TFSparseTensor, to_dense
from dovetail.compat.tensorflow.names.metrics.measures import Added, metric, rank_of, ratio, wide_of
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of

NO_CLASS = -(2**63)  # stands where a sparse tensor of labels has none


def _at_k(wrong: str, labels: Any, predictions_idx: Any, k: int | None, class_id: int | None, weights: Any) -> Added:
    """The weights of right and wrong classes among the k best predictions of each sample."""
    best, labels = _classes(labels, predictions_idx)
    counts = {"true_positive": _met(best, labels, True, class_id)}
    own, others = (best, labels) if wrong == "false_positive" else (labels, best)
    counts[wrong] = _met(own, others, False, class_id)
    wide = ops.cast(wide_of(weights, counts[wrong]), "float64")
    return {_scope_at_k(key, k, class_id): ops.sum(ops.multiply(x, wide)) for key, x in counts.items()}


def _classes(labels: Any, predictions_idx: Any) -> tuple[Any, Any]:
    """The best classes, and the labels of each sample along a last axis, also those of a sparse tensor."""
    best = ops.cast(predictions_idx, "int64")
    labels = TFSparseTensor(*labels) if isinstance(labels, SparseTensorValue) else labels
    labels = to_dense(labels, NO_CLASS) if hasattr(labels, "dense_shape") else labels
    labels, rank = ops.cast(labels, "int64"), rank_of(best)
    labels = ops.expand_dims(labels, -1) if rank and rank_of(labels) == rank - 1 else labels
    if rank == 1:
        raise ValueError(f"the predictions {static_shape(best)} need an axis for the samples, too.")
    if not rank or rank_of(labels) != rank:
        raise ValueError(f"the labels have {rank_of(labels)} axes, and the predictions {rank}; they have equally many.")
    return best, labels


def _met(own: Any, others: Any, is_there: bool, class_id: int | None) -> Any:
    """How many different classes of each row are among the others of the row, or are not."""
    same = ops.equal(ops.expand_dims(own, -1), ops.expand_dims(own, -2))
    is_first = ops.equal(ops.argmax(ops.cast(same, "int32"), -1), ops.arange(dims_of(own)[-1]))
    met = ops.any(ops.equal(ops.expand_dims(own, -1), ops.expand_dims(others, -2)), -1)
    counted = ops.logical_and(ops.logical_and(is_first, ops.equal(met, is_there)), ops.not_equal(own, NO_CLASS))
    if class_id is not None:
        counted = ops.logical_and(counted, ops.equal(own, class_id))
    return ops.sum(ops.cast(counted, "float64"), -1)


def _precise(labels: Any, predictions_idx: Any, weights: Any, most_name: str = "max") -> Added:
    """The mean precision of each sample's first classes, up to each one that is right, and the number of samples."""
    best, labels = _classes(labels, predictions_idx)
    right = ops.cast(ops.any(ops.equal(ops.expand_dims(best, -1), ops.expand_dims(labels, -2)), -1), "float64")
    if static_shape(best)[-1] is None:
        raise ValueError("the number of predictions of a sample must be known while the graph is built.")
    place = ops.cumsum(ops.ones_like(right), -1)
    precision = ops.divide(ops.cumsum(right, -1), place)
    most = ops.minimum(ops.sum(ops.cast(ops.not_equal(labels, NO_CLASS), "float64"), -1), ops.max(place, -1))
    precisions = ratio(ops.sum(ops.multiply(right, precision), -1), most)
    wide = ops.cast(wide_of(weights, precisions), "float64")
    return {most_name: ops.sum(wide), "total": ops.sum(ops.multiply(precisions, wide))}


def _at_best(wrong: str, labels: Any, predictions: Any, k: int, **own: Any) -> Added:
    return _at_k(wrong, labels, ops.top_k(predictions, k)[1], k, **own)


def _scope_at_k(name: str, k: int | None, class_id: int | None, **_: Any) -> str:
    return f"{name}_at_{'k' if k is None else k}{'' if class_id is None else f'_class{class_id}'}"


for _name, _wrong in {"precision": "false_positive", "recall": "false_negative"}.items():
    for _title, _words, _added in (("k", "predictions k", _at_best), ("top_k", "predictions_idx k=None", _at_k)):
        metric(
            f"{_name}_at_{_title}",
            f"labels {_words} class_id=None weights=None +",
            partial(_added, _wrong),
            lambda right, wrong: ops.divide(right, ops.add(right, wrong)),
            partial(_scope_at_k, _name),
        )
second("metrics.sparse_precision_at_k", "metrics.precision_at_k")
_END = "weights=None +"
metric(
    "average_precision_at_k",
    f"labels predictions k {_END}",
    lambda labels, predictions, k, weights: _precise(labels, ops.top_k(predictions, k)[1], weights, "max_1"),
    lambda most, total: ratio(total, most),
    partial(_scope_at_k, "average_precision", class_id=None),
    names="metrics.average_precision_at_k metrics.sparse_average_precision_at_k",
)
average_precision_at_top_k = metric(
    "average_precision_at_top_k",
    f"labels predictions_idx {_END}",
    _precise,
    lambda most, total: ratio(total, most),
    names="contrib.metrics.average_precision_at_top_k",
)
