"""Losses: cross-entropies, one number for each sample or element, and whether a class is among the k best.

Probabilities are kept `K.epsilon()` away from 0 and 1.  If they are the output of `K.sigmoid` or `K.softmax`, the
losses use the scores behind them, which lose no precision however large they are.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import logits
from dovetail.backend.integers import as_floats
from dovetail.backend.values import known_value
from dovetail.core.base.errors import is_inside
from dovetail.core.kinds import TensorLike
from dovetail.core.values.shapes import fits
from dovetail.ops.nn.losses import between, clipped, normalized
from dovetail.ops.shapes.shape import dims_of

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "in_top_k",
    "sparse_categorical_crossentropy",
]


# -- shared helpers ---------------------------------------------------------------------------------------------------


def _floats(target: TensorLike, output: TensorLike) -> tuple[Any, Any]:
    """Both as tensors of floats; a target of integers gets the dtype of the output."""
    output = as_floats(output)
    return as_floats(target, output), output


def _scores(output: Any, from_logits: bool, function: str) -> tuple[Any, bool]:
    """The values to compute a loss from, and whether they are scores."""
    scores = logits.recall(output)
    if scores is None:
        return output, from_logits
    if from_logits:
        _warn(
            f"K.{function} received `from_logits=True`, but the `output` argument was produced by a sigmoid or a "
            "softmax, so it is probabilities; the scores that they were computed from are used. Leave from_logits out, "
            "or give scores."
        )
    return scores, True


def _warn(message: str) -> None:
    """Warn at the user's line."""
    level, frame = 1, sys._getframe()
    while is_inside(frame.f_code) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _require_one_shape(target: Any, output: Any) -> None:
    if not fits(K.int_shape(target), K.int_shape(output)):
        raise ValueError("target and output must have one shape.")


# -- categorical ------------------------------------------------------------------------------------------------------


def categorical_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1) -> Any:
    """Cross-entropy between target probabilities of classes and predicted ones.

    Predicted probabilities are made to add up to 1, and kept `K.epsilon()` away from 0 and 1.

    Args:
        target: the probabilities, floats in the shape of `output`; if one class is right, a one among zeros.
        output: predicted probabilities, floats; for an output of `K.softmax`, its scores are used.
        from_logits: whether `output` are scores.
        axis: the axis of the classes.

    Returns:
        A number for each sample: floats in the shape of `output` without the axis.

    Raises:
        ValueError: the shapes differ, or there is no such axis.

    Source: `tf.keras.backend.categorical_crossentropy`.

    Differs: targets of another dtype are promoted, and integers become floats; tf.keras refuses them.
    With scores, a class of target 0 costs nothing even where its score is minus infinity; tf.keras gives NaN.

    Modern: `keras.losses.categorical_crossentropy(target, output, from_logits, axis=axis)`.

    Example:
        >>> K.categorical_crossentropy([[0., 1.]], [[1., 3.]]).numpy()
        array([0.2876821], dtype=float32)
        >>> K.categorical_crossentropy([[0., 1.]], K.softmax([[40., 0.]])).numpy()
        array([40.], dtype=float32)
    """
    return _categorical(target, *_scores(output, from_logits, "categorical_crossentropy"), axis)


def _categorical(target: TensorLike, output: TensorLike, from_logits: bool, axis: int) -> Any:
    target, output = _floats(target, output)
    _require_one_shape(target, output)
    return ops.categorical_crossentropy(target, output, from_logits, axis)


def categorical_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Any:
    """Cross-entropy in which classes that are predicted well already count less.

    The cross-entropy of each class is multiplied by `alpha * (1 - p) ** gamma`, where p is its predicted probability.

    Args:
        target: the probabilities of the classes, floats in the shape of `output`.
        output: predicted probabilities, floats, treated as in `K.categorical_crossentropy`.
        alpha: the weight of all classes, or a list with the weight of each.
        gamma: how much less well predicted classes count; 0 for not at all.
        from_logits: whether `output` are scores.
        axis: the axis of the classes.

    Returns:
        A number for each sample: floats in the shape of `output` without the axis.

    Raises:
        ValueError: the shapes differ, or there is no such axis.

    Source: `tf.keras.backend.categorical_focal_crossentropy`; Lin et al., "Focal loss for dense object detection",
    2017.

    Differs: targets of another dtype are promoted, and integers become floats; tf.keras refuses them.

    Modern: `keras.losses.categorical_focal_crossentropy(target, output, alpha, gamma, from_logits, axis=axis)`.

    Example:
        >>> K.categorical_focal_crossentropy([[0., 1.]], [[0.2, 0.8]]).numpy()
        array([0.00223144], dtype=float32)
    """
    target, output = _floats(target, output)
    _require_one_shape(target, output)
    output, from_logits = _scores(output, from_logits, "categorical_focal_crossentropy")
    p = normalized(ops.softmax(output, axis) if from_logits else output, axis)
    cross_entropy = ops.multiply(ops.negative(target), ops.log(p))
    weight = ops.multiply(ops.power(ops.subtract(1, p), gamma), alpha)
    return ops.sum(ops.multiply(weight, cross_entropy), axis)


def sparse_categorical_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: float | None = None,
) -> Any:
    """Cross-entropy between classes, given by number, and predicted probabilities.

    Predicted probabilities are kept `K.epsilon()` away from 0 and 1, then made to add up to 1.

    Args:
        target: the numbers of the classes, from 0 on, of any dtype; in the shape of `output` without the axis, or any
            other with as many elements.
        output: predicted probabilities, floats; for an output of `K.softmax`, its scores are used.
        from_logits: whether `output` are scores.
        axis: the axis of the classes; the last if the rank of `output` is not known.
        ignore_class: the number of a class whose samples cost nothing; it need not be one that is predicted.

    Returns:
        A number for each sample: floats in the shape of `output` without the axis.

    Raises:
        ValueError: a number is no class, the numbers of samples differ, or there is no such axis.

    Source: `tf.keras.backend.sparse_categorical_crossentropy`.

    Differs: the loss of a number that is none of a class is NaN where it is not known before a program runs.
    An axis that `output` lacks is an error; tf.keras takes it modulo the rank.
    The result bears no mask of the classes that are not ignored.

    Modern: `keras.losses.sparse_categorical_crossentropy(target, output, from_logits, ignore_class, axis)`.

    Example:
        >>> K.sparse_categorical_crossentropy([1, 0], [[0.25, 0.75], [0.5, 0.5]]).numpy().round(4)
        array([0.2877, 0.6931], dtype=float32)
        >>> K.sparse_categorical_crossentropy([1, 255], [[0.25, 0.75], [0.5, 0.5]], ignore_class=255).numpy().round(4)
        array([0.2877, 0.    ], dtype=float32)
    """
    output = as_floats(output)
    target = ops.saturate_cast(target, "int32" if ignore_class is None or abs(ignore_class) < 2**31 else "int64")
    output, from_logits = _scores(output, from_logits, "sparse_categorical_crossentropy")
    rank = K.ndim(output)
    if not -rank <= axis < rank:
        raise ValueError(f"axis must be one of those of the output, whose rank is {rank}, but it is {axis}.")
    output = ops.moveaxis(output if from_logits else ops.log(clipped(output)), axis, -1)
    *batch, classes = dims_of(output)
    if K.ndim(target) != rank - 1:
        target = ops.reshape(target, batch if rank > 1 else (-1,))
        output = output if rank > 1 else ops.expand_dims(output, 0)
    counts = True if ignore_class is None else ops.not_equal(target, ignore_class)
    is_class = ops.logical_and(ops.greater_equal(target, 0), ops.less(target, classes))
    _require_classes(target, ops.logical_or(is_class, ops.logical_not(counts)), classes)
    losses = ops.sparse_softmax_cross_entropy_with_logits(ops.where(is_class, target, 0), output)
    losses = ops.where(is_class, losses, math.nan)
    return losses if ignore_class is None else ops.where(counts, losses, 0)


def _require_classes(target: Any, is_fine: Any, classes: Any) -> None:
    fine = known_value(is_fine)
    if fine is not None and not fine.all():
        wrong = known_value(target)[~fine].flat[0]  # type: ignore[index]  # known, since `fine` is
        raise ValueError(
            f"the target has the number {wrong}, but the classes are 0 to {classes - 1}; see ignore_class."
        )


# -- binary -----------------------------------------------------------------------------------------------------------


def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Any:
    """Cross-entropy between target probabilities and predicted ones, for each element.

    Predicted probabilities are kept `K.epsilon()` away from 0 and 1, and it is added once more inside the logarithms.

    Args:
        target: the probabilities, floats that broadcast with `output`.
        output: predicted probabilities, floats; for an output of `K.sigmoid`, its scores are used.
        from_logits: whether `output` are scores.

    Returns:
        A number for each element: floats.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.binary_crossentropy`.

    Differs: targets of another dtype are promoted, and integers become floats; tf.keras refuses them.

    Modern: `keras.ops.binary_crossentropy(target, output, from_logits)`.

    Example:
        >>> K.binary_crossentropy([1., 0.], [0.5, 0.25]).numpy().round(4)
        array([0.6931, 0.2877], dtype=float32)
        >>> K.binary_crossentropy([0.], K.sigmoid([40.])).numpy()
        array([40.], dtype=float32)
    """
    return _binary(target, *_scores(output, from_logits, "binary_crossentropy"))


def _binary(target: TensorLike, output: TensorLike, from_logits: bool) -> Any:
    target, output = _floats(target, output)
    if from_logits:
        return ops.sigmoid_cross_entropy_with_logits(target, output)
    p = clipped(output)
    q = ops.maximum(ops.subtract(1, p), 0)  # keeps compilers from adding the 1 to epsilon, which would round it
    return ops.negative(between(target, *(ops.log(ops.add(x, K.epsilon())) for x in (p, q))))


def binary_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Any:
    """Binary cross-entropy in which elements that are predicted well already count less.

    The cross-entropy is multiplied by `(1 - p) ** gamma`, where p is the predicted probability of the truth.

    Args:
        target: the probabilities, floats that broadcast with `output`.
        output: predicted probabilities, floats, treated as in `K.binary_crossentropy`.
        apply_class_balancing: whether elements with the target 1 count `alpha`, the others `1 - alpha`.
        alpha: the weight of elements with the target 1.
        gamma: how much less well predicted elements count; 0 for not at all.
        from_logits: whether `output` are scores.

    Returns:
        A number for each element: floats.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.binary_focal_crossentropy`; Lin et al., "Focal loss for dense object detection", 2017.

    Differs: targets of another dtype are promoted, integers become floats and lists tensors; tf.keras refuses them.

    Modern: `keras.losses.binary_focal_crossentropy`, which takes the mean.

    Example:
        >>> K.binary_focal_crossentropy([1., 0.], [0.5, 0.25]).numpy().round(4)
        array([0.1733, 0.018 ], dtype=float32)
    """
    target, output = _floats(target, output)
    p = K.sigmoid(output) if from_logits else output
    of_truth = between(target, p, ops.subtract(1, p))
    loss = ops.multiply(
        ops.power(ops.subtract(1, of_truth), gamma), K.binary_crossentropy(target, output, from_logits=from_logits)
    )
    return ops.multiply(between(target, alpha, 1 - alpha), loss) if apply_class_balancing else loss


# -- ranking ----------------------------------------------------------------------------------------------------------


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    """Whether the score of the right class is among the k highest; scores equal to the lowest of these count.

    Args:
        predictions: scores, floats of shape (batch, classes).
        targets: the numbers of the right classes, integers of shape (batch,).
        k: how many of the highest scores to look at.

    Returns:
        Booleans of shape (batch,): False if the target is no class, or a score of the sample is not finite.

    Raises:
        ValueError: the ranks are wrong, or the numbers of samples differ.

    Source: `tf.keras.backend.in_top_k`.

    Differs: scores may be numbers of any dtype; tf.keras refuses all but float32.

    Modern: `keras.ops.in_top_k(targets, predictions, k)`.

    Example:
        >>> K.in_top_k([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], [2, 0], 1).numpy()
        array([ True, False])
    """
    return ops.in_top_k(targets, predictions, k)
