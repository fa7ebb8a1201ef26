"""TensorFlow 1's `tf.losses`: losses of predictions with weights, which are kept in a collection and added up."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.nn.losses import require_one_shape, softmax_cross_entropy_with_logits
from dovetail.compat.tensorflow.table import alike_values, function
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_recorded, static_shape


class Reduction:
    """The ways of reducing the losses of elements to one.

    Source: `tf.compat.v1.losses.Reduction`.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All ways."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS


value("losses.Reduction", Reduction, "v1")

# The divisors of the sum of weighted losses: (weights in the shape of the losses) → number.
_DIVISORS: dict[str, Callable[[Any], Any]] = {
    Reduction.SUM: lambda weights: 1.0,
    Reduction.MEAN: ops.sum,
    Reduction.SUM_OVER_BATCH_SIZE: lambda weights: ops.sum(ops.ones_like(weights)),
    Reduction.SUM_BY_NONZERO_WEIGHTS: lambda weights: ops.sum(ops.cast(ops.not_equal(weights, 0.0), weights.dtype)),
}


@function("losses.compute_weighted_loss", "v1")
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The losses of elements, weighted and reduced to one.

    Args:
        losses: the loss of each element.
        weights: a number, or of the rank of the losses, with as many elements or one along each axis.
        loss_collection: the collection for the loss; None for no collection.
        reduction: one of `tf.losses.Reduction`.

    Raises:
        ValueError: there is no such reduction, or the weights do not fit.

    Source: `tf.compat.v1.losses.compute_weighted_loss`.
    """
    if reduction not in Reduction.all():
        problem = f"there is no reduction {reduction!r}; there are {', '.join(Reduction.all())}."
        raise op_error(ValueError, "tf.losses.compute_weighted_loss", problem)
    with graph_mode.name_scope(scope or "weighted_loss"):
        losses = ops.convert(losses)
        weights = ops.cast(weights, "float32")
        _check_fit(static_shape(losses), static_shape(weights))
        weighted = ops.multiply(ops.cast(losses, "float32"), weights)
        if reduction != Reduction.NONE:
            divisor = _DIVISORS[reduction](ops.multiply(weights, ops.ones_like(weighted)))
            weighted = ops.divide_no_nan(ops.sum(weighted), divisor, name="value")
        loss = weighted if weighted.dtype == losses.dtype else ops.cast(weighted, losses.dtype)
    add_loss(loss, loss_collection)
    return loss


def _check_fit(losses: Any, weights: Any) -> None:
    if None in (losses, weights) or not len(weights):
        return
    pairs = zip(losses, weights, strict=False)
    if len(losses) != len(weights) or any(n is not None and w not in (1, n, None) for n, w in pairs):
        problem = f"weights are a number or have the rank of the losses, {losses}, and along each axis 1 or as many"
        problem += f" elements, not {weights}."
        raise op_error(ValueError, "tf.losses", problem)


def _floats(labels: Any, predictions: Any) -> list[Any]:
    labels, predictions = (ops.convert(v) for v in alike_values([labels, predictions]))
    return [v if v.dtype.is_floating else ops.cast(v, "float32") for v in (labels, predictions)]


def _huber(labels: Any, predictions: Any, delta: float) -> Any:
    error = ops.absolute(ops.subtract(predictions, labels))
    small = ops.minimum(error, delta)
    return ops.add(ops.multiply(0.5, ops.square(small)), ops.multiply(delta, ops.subtract(error, small)))


def _log(labels: Any, predictions: Any, epsilon: float) -> Any:
    right = ops.multiply(labels, ops.log(ops.add(predictions, epsilon)))
    others = ops.log(ops.add(ops.subtract(1.0, predictions), epsilon))
    return ops.negative(ops.add(right, ops.multiply(ops.subtract(1.0, labels), others)))


def _hinge(labels: Any, logits: Any) -> Any:
    signs = ops.subtract(ops.multiply(2.0, labels), 1.0)
    return ops.relu(ops.subtract(1.0, ops.multiply(signs, logits)))


def _sigmoid(labels: Any, logits: Any, smoothing: float) -> Any:
    labels = labels * (1.0 - smoothing) + 0.5 * smoothing if smoothing else labels
    return ops.sigmoid_cross_entropy_with_logits(labels, logits)


def _softmax(labels: Any, logits: Any, smoothing: float) -> Any:
    labels = labels * (1.0 - smoothing) + smoothing / static_shape(labels)[-1] if smoothing else labels
    return softmax_cross_entropy_with_logits(ops.stop_gradient(labels), logits)


def _weighted(title: str, elements: Callable[[], Any], given: tuple[Any, ...]) -> Any:
    """The weighted losses of elements, reduced to one; `given` is weights, scope, collection and reduction."""
    weights, scope, collection, reduction = given
    with graph_mode.name_scope(scope or title):
        return compute_weighted_loss(elements(), weights, None, collection, reduction)


def _pair(title: str, first: str, second: str, of_elements: Callable[..., Any], **settings: float) -> None:
    """Add a loss of two tensors of one shape, with settings after the weights."""
    names = [first, second, "weights", *settings, "scope", "loss_collection", "reduction"]
    defaults = {"weights": 1.0, **settings, "scope": None, "loss_collection": GraphKeys.LOSSES}
    defaults["reduction"] = Reduction.SUM_BY_NONZERO_WEIGHTS

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or given.keys() - set(names):
            raise TypeError(f"it takes {', '.join(names)}.")
        labels, predictions = given.get(first), given.get(second)
        if labels is None or predictions is None:
            raise op_error(ValueError, f"tf.losses.{title}", f"{first} and {second} must not be None.")
        labels, predictions = _floats(labels, predictions)
        require_one_shape(f"losses.{title}", labels, predictions)
        said = [given[name] for name in settings]
        options = given["weights"], given["scope"], given["loss_collection"], given["reduction"]
        return _weighted(title, lambda: of_elements(labels, predictions, *said), options)

    parameters = [Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name)) for name in names]
    loss.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    loss.__doc__ = f"""The loss `{title}` of labels and predictions, with weights.

    Source: `tf.compat.v1.losses.{title}`.
    """
    function(f"losses.{title}", "v1")(loss)


_pair("mean_squared_error", "labels", "predictions", lambda x, y: ops.square(ops.subtract(y, x)))
_pair("absolute_difference", "labels", "predictions", lambda x, y: ops.absolute(ops.subtract(y, x)))
_pair("huber_loss", "labels", "predictions", _huber, delta=1.0)
_pair("log_loss", "labels", "predictions", _log, epsilon=1e-7)
_pair("hinge_loss", "labels", "logits", _hinge)
_pair("sigmoid_cross_entropy", "multi_class_labels", "logits", _sigmoid, label_smoothing=0)
_pair("softmax_cross_entropy", "onehot_labels", "logits", _softmax, label_smoothing=0)


@function("losses.sparse_softmax_cross_entropy", "v1")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The cross-entropy of classes, given by number, with weights.

    Source: `tf.compat.v1.losses.sparse_softmax_cross_entropy`.
    """
    labels = ops.convert(labels)
    if len(static_shape(labels)) == len(static_shape(logits)):
        labels = ops.squeeze(labels, -1)
    given = weights, scope, loss_collection, reduction
    elements = lambda: ops.sparse_softmax_cross_entropy_with_logits(labels, logits)  # noqa: E731
    return _weighted("sparse_softmax_cross_entropy_loss", elements, given)


@function("losses.cosine_distance", "v1")
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: Any = None,
) -> Any:
    """One minus the cosine between vectors of length one.

    Source: `tf.compat.v1.losses.cosine_distance`.
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise op_error(ValueError, "tf.losses.cosine_distance", "the axis of the vectors must be said.")
    labels, predictions = _floats(labels, predictions)
    given = weights, scope, loss_collection, reduction
    product = ops.multiply(labels, predictions)
    return _weighted("cosine_distance_loss", lambda: 1.0 - ops.sum(product, axis, keepdims=True), given)


@function("losses.mean_pairwise_squared_error", "v1")
def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None, loss_collection: Any = GraphKeys.LOSSES
) -> Any:
    """The squared differences between the errors of each two elements of a sample, with weights.

    Source: `tf.compat.v1.losses.mean_pairwise_squared_error`.
    """
    if labels is None or predictions is None:
        raise op_error(ValueError, "tf.losses.mean_pairwise_squared_error", "labels and predictions must not be None.")
    return pairwise(labels, predictions, weights, scope, loss_collection, others=lambda count: count - 1)


def pairwise(
    labels: Any, predictions: Any, weights: Any, scope: Any, collection: Any, others: Callable[[Any], Any]
) -> Any:
    """The loss of each two elements of a sample; `others` counts the elements that one is compared with."""
    with graph_mode.name_scope(scope or "mean_pairwise_squared_error"):
        errors = ops.subtract(ops.cast(predictions, "float32"), ops.cast(labels, "float32"))
        weights = ops.cast(weights, "float32")
        inner = tuple(range(1, len(static_shape(errors))))
        if len(static_shape(weights)) == 1:
            weights = ops.reshape(weights, (-1, *(1 for _ in inner)))
        counts = ops.cast(ops.broadcast_to(ops.not_equal(weights, 0.0), ops.shape(errors)), "float32")
        present = ops.sum(counts, inner, keepdims=True)
        compared = ops.maximum(others(present), 0.0)
        squares = ops.divide_no_nan(ops.sum(ops.square(errors), inner, keepdims=True), compared)
        product = ops.square(ops.sum(errors, inner, keepdims=True))
        differences = ops.subtract(squares, ops.divide_no_nan(product, ops.multiply(present, compared)))
        loss = ops.sum(ops.multiply(ops.multiply(2.0, differences), weights), name="value")
    add_loss(loss, collection)
    return loss


# -- collections ------------------------------------------------------------------------------------------------------


@function("losses.add_loss", "v1")
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Put a loss of a graph into a collection; do nothing for computed losses.

    Source: `tf.compat.v1.losses.add_loss`.
    """
    if loss_collection and is_recorded(loss):
        graph_mode.open_graph().add_to_collection(loss_collection, loss)


@function("losses.get_losses", "v1")
def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """The losses in a collection.

    Source: `tf.compat.v1.losses.get_losses`.
    """
    return graph_mode.open_graph().get_collection(loss_collection, scope)


@function("losses.get_regularization_losses", "v1")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that regularizers of variables made.

    Source: `tf.compat.v1.losses.get_regularization_losses`.
    """
    return graph_mode.open_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@function("losses.get_regularization_loss", "v1")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """The sum of the losses that regularizers of variables made.

    Source: `tf.compat.v1.losses.get_regularization_loss`.
    """
    return _sum(get_regularization_losses(scope), name)


@function("losses.get_total_loss", "v1")
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Any:
    """The sum of all losses in the collections.

    Source: `tf.compat.v1.losses.get_total_loss`.
    """
    return _sum(get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else []), name)


def _sum(losses: list[Any], name: str) -> Any:
    with graph_mode.inside(graph_mode.open_graph()) as graph:
        total = functools.reduce(ops.add, losses) if losses else graph.constant(np.float32(0.0))
        return ops.identity(total, name=name)
