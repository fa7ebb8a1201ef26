"""TensorFlow's names of losses and of what is measured of predictions."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, function, row
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import static_shape


def _both(title: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise op_error(ValueError, f"tf.{title}", "it needs both labels and logits, by name.")


@function("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of independent classes.

    Source: `tf.nn.sigmoid_cross_entropy_with_logits`.
    """
    _both("nn.sigmoid_cross_entropy_with_logits", labels, logits)
    labels, logits = alike_values([labels, logits])
    if static_shape(ops.convert(labels)) != static_shape(ops.convert(logits)):
        known = [static_shape(ops.convert(v)) for v in (labels, logits)]
        if None not in (*known[0], *known[1]):
            problem = f"labels and logits must have one shape, not {known[0]} and {known[1]}."
            raise op_error(ValueError, "tf.nn.sigmoid_cross_entropy_with_logits", problem)
    return ops.sigmoid_cross_entropy_with_logits(labels, logits, name=name)


@function("nn.weighted_cross_entropy_with_logits", scope=True)
def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Any:
    """The cross-entropy of independent classes, of which what is there weighs more.

    Source: `tf.nn.weighted_cross_entropy_with_logits`.
    """
    labels = targets if labels is None else labels
    _both("nn.weighted_cross_entropy_with_logits", labels, logits)
    weight = ops.add(1.0, ops.multiply(ops.subtract(pos_weight, 1.0), labels))
    absent = ops.multiply(ops.subtract(1.0, labels), logits)
    small = ops.log1p(ops.exp(ops.negative(ops.absolute(logits))))
    return ops.add(absent, ops.multiply(weight, ops.add(small, ops.relu(ops.negative(logits)))))


@function("nn.softmax_cross_entropy_with_logits", "v2")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other.

    Source: `tf.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    return ops.softmax_cross_entropy_with_logits(*alike_values([labels, logits]), axis=int(axis), name=name)


@function("nn.softmax_cross_entropy_with_logits", "v1")
def softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Any:
    """The cross-entropy of classes that exclude each other; no gradient goes to the labels.

    Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    return softmax_cross_entropy_with_logits(ops.stop_gradient(labels), logits, dim if axis is None else axis, name)


@function("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """The cross-entropy of classes that exclude each other.

    Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2`.
    """
    place = next((place for place in (axis, dim) if place is not None), -1)
    return softmax_cross_entropy_with_logits(labels, logits, place, name)


@function("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other, by their numbers.

    Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`.
    """
    _both("nn.sparse_softmax_cross_entropy_with_logits", labels, logits)
    return ops.sparse_softmax_cross_entropy_with_logits(labels, logits, name=name)


@function("nn.l2_loss", scope=True)
def l2_loss(t: Any, name: str | None = None) -> Any:
    """Half the sum of the squares.

    Source: `tf.nn.l2_loss`.
    """
    return ops.divide(ops.sum(ops.square(t)), 2.0)


@function("nn.zero_fraction math.zero_fraction", scope=True)
def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Which part of the elements is zero.

    Source: `tf.math.zero_fraction`.
    """
    return ops.mean(ops.cast(ops.equal(value, 0), "float32"))


row("math.in_top_k nn.in_top_k", ops.in_top_k, "targets predictions k", v1="predictions targets k name")


@function("nn.ctc_loss", "v2", scope=True)
def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Any:
    """Minus the logarithm of the probability of labels, over all ways to align them; the labels are dense.

    Source: `tf.nn.ctc_loss`.
    """
    if label_length is None or hasattr(labels, "dense_shape"):
        problem = "sparse labels are not offered: give dense ones, and label_length."
        raise op_error(NotImplementedError, "tf.nn.ctc_loss", problem)
    scores = ops.swapaxes(logits, 0, 1) if logits_time_major else logits
    return ops.ctc_loss(labels, scores, label_length, logit_length, 0 if blank_index is None else int(blank_index))


@function("nn.xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """x · weights + biases.

    Source: `tf.compat.v1.nn.xw_plus_b`.
    """
    return ops.bias_add(ops.matmul(x, weights), biases, "channels_last", name=name)
