"""The private parts of TensorFlow's measures, of which TF-Slim makes its own.

Source: `tensorflow.python.ops.metrics_impl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.metrics import measures
from dovetail.compat.tensorflow.names.metrics.best import average_precision_at_top_k
from dovetail.compat.tensorflow.names.nn.losses import confusion_matrix
from dovetail.compat.tensorflow.table import function
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import shaped

_HERE = "python.ops.metrics_impl."
value(f"{_HERE}metric_variable", measures.metric_variable)
value(f"{_HERE}_streaming_sparse_average_precision_at_top_k", average_precision_at_top_k)


@function("python.ops.confusion_matrix.remove_squeezable_dimensions")
def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Both without the last axis that one of them has too much, if its size is 1.

    Source: `tensorflow.python.ops.confusion_matrix.remove_squeezable_dimensions`.
    """
    return measures.alike(ops.convert(labels), ops.convert(predictions), expected_rank_diff)


@function(f"{_HERE}_remove_squeezable_dimensions")
def squeezed(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The three of one rank, by a last axis of size 1 more or less; labels and weights may be None."""
    predictions = ops.convert(predictions)
    if labels is not None:
        labels, predictions = measures.alike(ops.convert(labels), predictions)
        shaped(predictions).shape.assert_is_compatible_with(shaped(labels).shape)
    return predictions, labels, None if weights is None else measures.level(ops.convert(weights), predictions)


@function(f"{_HERE}_safe_scalar_div", scope=True)
def safe_scalar_div(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """The quotient; 0 where the denominator is 0."""
    return ops.divide_no_nan(numerator, denominator)


@function(f"{_HERE}_aggregate_variable")
def aggregate_variable(v: Any, collections: Any) -> Any:
    """The value of a variable, which is put into collections."""
    present = v.read_value()
    graph_mode.open_graph().add_to_collections(collections or (), present)
    return present


@function(f"{_HERE}_confusion_matrix_at_thresholds")
def counts_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None, includes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables of right and wrong predictions at each threshold, and their updates, by "tp", "fn", "tn", "fp"."""
    kinds = [kind for kind in measures.KINDS if kind in (includes or measures.KINDS)]
    added = measures.counts_at(" ".join(kinds), labels, predictions, thresholds, weights)
    made = {
        kind: measures.metric_variable(x.shape, x.dtype, name=n)
        for kind, (n, x) in zip(kinds, added.items(), strict=True)
    }
    return made, {kind: made[kind].assign_add(x) for kind, x in zip(kinds, added.values(), strict=True)}


@function(f"{_HERE}_streaming_confusion_matrix")
def streaming_confusion_matrix(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> tuple[Any, Any]:
    """The variable that counts predictions of each class for each label over many runs, and its update."""
    counts = confusion_matrix(labels, predictions, num_classes, weights, "float64")
    total = measures.metric_variable([num_classes, num_classes], "float64", name="total_confusion_matrix")
    return total, total.assign_add(counts)


@function("python.ops.weights_broadcast_ops.broadcast_weights", scope=True)
def broadcast_weights(weights: Any, values: Any, name: str | None = None) -> Any:
    """Weights for each of some numbers: of their rank, each axis of the same size or of size 1, or a single number.

    Raises:
        ValueError: the shapes do not fit.

    Source: `tensorflow.python.ops.weights_broadcast_ops.broadcast_weights`.
    """
    weights, values = shaped(weights), shaped(values)
    mine, theirs = (static_shape(x) for x in (weights, values))
    fits = not mine or theirs is None or len(mine) == len(theirs)
    if not fits or any(None not in (a, b) and a not in (1, b) for a, b in zip(mine or (), theirs or (), strict=False)):
        raise ValueError(f"weights of the shape {mine} do not fit {theirs}: each axis must have the same size, or 1.")
    return ops.multiply(weights, ops.ones_like(values, weights.dtype))
