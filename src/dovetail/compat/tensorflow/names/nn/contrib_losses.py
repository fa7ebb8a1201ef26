"""`tf.contrib.losses`, which is `slim.losses`: TensorFlow 0.x's losses, with the predictions first.

Source: `tf.contrib.losses`, the function of the same name.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, second, value
from dovetail.compat.tensorflow.names.contrib.arg_scope import add_arg_scope
from dovetail.compat.tensorflow.names.contrib.places import under
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.nn.loss_functions import Reduction, add_loss, pairwise
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape

_LOSSES = "contrib.losses contrib.slim.losses"


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Any:
    """The mean of losses whose weights are not 0, times their weights; it is among the graph's losses.

    Args:
        weights: a number, or of the first dimensions of the losses; a last dimension of 1 does not count.

    Raises:
        ValueError: a rank is not known.
    """
    with graph_mode.name_scope(scope or "weighted_loss"):
        losses, weights = ops.convert(losses), ops.cast(weights, "float32")
        shape, inner = static_shape(losses), static_shape(weights)
        if shape is None or inner is None:
            problem = "the ranks of losses and weights must be known: say them with set_shape."
            raise op_error(ValueError, "tf.contrib.losses.compute_weighted_loss", problem)
        if len(inner) > 1 and inner[-1] == 1:
            weights = ops.squeeze(weights, -1)
        axes = tuple(range(len(static_shape(weights)), len(shape)))
        sums, sizes = (ops.sum(x, axes) for x in (ops.cast(losses, "float32"), ops.ones_like(losses, "float32")))
        present = ops.sum(ops.multiply(sizes, ops.cast(ops.not_equal(weights, 0.0), "float32")))
        mean = ops.divide_no_nan(ops.sum(ops.multiply(sums, weights)), present, name="value")
        loss = mean if mean.dtype == losses.dtype else ops.cast(mean, losses.dtype)
    add_loss(loss)
    return loss


def _old(title: str, words: str, is_weighted: bool = True) -> None:
    """Add a loss of TensorFlow 0.x; `tf.losses` computes its elements.

    Args:
        title: its name.
        words: its parameters, in order.
        is_weighted: whether it gives one weighted loss; else a loss for each element.
    """
    names, new = words.split(), named(f"losses.{title}")

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or given.keys() - {*names}:
            raise op_error(TypeError, f"tf.contrib.losses.{title}", f"it takes {', '.join(names)}.")
        weights, scope = given.pop("weights", 1.0), given.pop("scope", None)
        with graph_mode.name_scope(scope or title):
            elements = new(**given, loss_collection=None, reduction=Reduction.NONE)
            return compute_weighted_loss(elements, weights) if is_weighted else elements

    loss.__doc__ = f"The loss `{title}` of TensorFlow 0.x, with {' '.join(names[:2])} in this order."
    value(under(_LOSSES, title), loss, "v1")


_old("absolute_difference", "predictions labels weights scope")
_old("cosine_distance", "predictions labels axis weights scope dim")
_old("hinge_loss", "logits labels scope", is_weighted=False)
_old("log_loss", "predictions labels weights epsilon scope")
_old("mean_squared_error", "predictions labels weights scope")
_old("sigmoid_cross_entropy", "logits multi_class_labels weights label_smoothing scope")
_old("softmax_cross_entropy", "logits onehot_labels weights label_smoothing scope")
_old("sparse_softmax_cross_entropy", "logits labels weights scope")


def mean_pairwise_squared_error(predictions: Any, labels: Any, weights: Any = 1.0, scope: str | None = None) -> Any:
    """The loss of TensorFlow 0.x, which counts an element among those that it is compared with."""
    return pairwise(labels, predictions, weights, scope, GraphKeys.LOSSES, others=lambda count: count)


value(under(_LOSSES, "mean_pairwise_squared_error"), mean_pairwise_squared_error, "v1")
value(under(_LOSSES, "compute_weighted_loss"), compute_weighted_loss, "v1")
value(under(_LOSSES, "add_loss"), add_arg_scope(add_loss), "v1")
for _name in ("get_losses", "get_regularization_losses", "get_total_loss"):
    second(under(_LOSSES, _name), f"losses.{_name}")
