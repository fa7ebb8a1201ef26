"""Losses: how far predictions are from targets, one number for each sample.

Cross-entropies of scores ("logits") need no exponential that overflows and no logarithm of zero, however large the
scores.  Losses keep probabilities `config.epsilon()` away from 0 and 1 before they take a logarithm.
"""

from __future__ import annotations

from math import log as _log
from typing import Any

from dovetail.core.base import config
from dovetail.core.base.domains import NotNegative
from dovetail.core.calls import gradients
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.kinds import Float, Integer
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise, require_shape
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.math.arithmetic import absolute, add, divide, multiply, negative, squared_difference, subtract
from dovetail.ops.math.bitwise import logical_or
from dovetail.ops.math.compare import clip, equal, saturate_cast, where
from dovetail.ops.math.exponential import exp, log
from dovetail.ops.math.reduce import all, max, mean, sum
from dovetail.ops.nn.activation import sigmoid, softplus
from dovetail.ops.nn.normalization import l2_normalize
from dovetail.ops.nn.rectifier import relu
from dovetail.ops.nn.softmax import log_softmax, softmax
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.index import take_along_axis
from dovetail.ops.shapes.search import one_hot
from dovetail.ops.shapes.shape import dims_of, expand_dims, shaped, squeeze, sum_like

_PAIR = [sample(array(3, 4), array(3, 4)), sample(array(2, 3, 2), array(3, 1))]

# -- targets ----------------------------------------------------------------------------------------------------------


@checked
def multi_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = float) -> Any:
    """Ones at all the classes of each sample, zeros elsewhere.

    Args:
        x: class numbers, (samples, classes of the sample), or (classes,) for one sample; other numbers are ignored.
        num_classes: the number of classes.
        axis: the position of the class axis in `one_hot` of `x`.
        dtype: the dtype of the result; `floatx` if not given.

    Source: `keras.ops.multi_hot`.

    Example:
        >>> multi_hot([[0, 2], [1, -1]], 3).numpy()
        array([[1., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    x = shaped(x)
    return max(one_hot(x, num_classes, axis, dtype), 1 if len(static_shape(x)) > 1 else 0)


# -- cross-entropy from scores ----------------------------------------------------------------------------------------


def _without(spec: RankedSpec, axis: int) -> TensorSpec:
    axis = normalize_axis(axis, len(spec.shape))
    return TensorSpec(spec.shape[:axis] + spec.shape[axis + 1 :], spec.dtype)


def _cross_entropy_spec(labels: RankedSpec, logits: RankedSpec, axis: int = -1) -> TensorSpec:
    require_shape(labels, logits.shape)
    return _without(logits, axis)


@composite(
    "SoftmaxCrossEntropyWithLogits",
    cost="reduction",
    infer=_cross_entropy_spec,
    samples=[sample(array(3, 4, low=0), array(3, 4)), sample(array(2, 3, 2, low=0), array(2, 3, 2), axis=1)],
)
def softmax_cross_entropy_with_logits(labels: Float, logits: Float, axis: int = -1) -> Tensor:
    """Cross-entropy between probabilities and the softmax of scores.

    Args:
        labels: the probabilities of the classes; a class of probability 0 costs nothing, even with a score of -inf.
        logits: the scores.
        axis: the axis of the classes.

    Returns:
        `-sum(labels * log_softmax(logits))` along the axis.

    Source: `tf.nn.softmax_cross_entropy_with_logits`.

    Example:
        >>> softmax_cross_entropy_with_logits([[0., 1.], [0.5, 0.5]], [[1000., 0.], [3., 3.]]).numpy()
        array([1.000000e+03, 6.931472e-01], dtype=float32)
    """
    return -sum(where(equal(labels, 0), 0, labels * log_softmax(logits, axis)), axis)


@softmax_cross_entropy_with_logits.gradient
def _(op: Any, g: Any) -> Any:
    labels, logits, axis = op.args
    g = expand_dims(g, axis)
    return -(g * log_softmax(logits, axis)), g * (softmax(logits, axis) * sum(labels, axis, keepdims=True) - labels)


WITHOUT_LABELS = "SoftmaxWithoutLabels"  # the gradient that graphs of TensorFlow's functions name, also in files


@gradients.RegisterGradient(WITHOUT_LABELS)
def _(op: Any, g: Any) -> Any:
    """TensorFlow's gradient, which takes labels to add up to 1."""
    labels, logits, axis = op.args
    g = expand_dims(g, axis)
    return -(g * log_softmax(logits, axis)), g * (softmax(logits, axis) - labels)


def _sparse_spec(labels: RankedSpec, logits: RankedSpec, axis: int = -1) -> TensorSpec:
    result = _without(logits, axis)
    require_shape(labels, result.shape)
    return result


@composite(
    "SparseSoftmaxCrossEntropyWithLogits",
    cost="reduction",
    infer=_sparse_spec,
    samples=[sample(ints(3, high=4), array(3, 4)), sample(ints(2, 2, high=3), array(2, 3, 2), axis=1)],
)
def sparse_softmax_cross_entropy_with_logits(labels: Integer, logits: Float, axis: int = -1) -> Tensor:
    """Cross-entropy between classes, given by number, and the softmax of scores.

    Args:
        labels: the numbers of the classes; of the shape of the scores without the axis.
        logits: the scores.
        axis: the axis of the classes.

    Returns:
        Minus the logarithm of the probability of each sample's class.

    Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`.

    Example:
        >>> sparse_softmax_cross_entropy_with_logits([1, 0], [[1000., 0.], [3., 3.]]).numpy()
        array([1.000000e+03, 6.931472e-01], dtype=float32)
    """
    z = logits - max(logits, axis, keepdims=True)
    return log(sum(exp(z), axis)) - squeeze(take_along_axis(z, expand_dims(labels, axis), axis), axis)


@sparse_softmax_cross_entropy_with_logits.gradient
def _(op: Any, g: Any) -> Any:
    labels, logits, axis = op.args
    hot = one_hot(labels, dims_of(logits)[axis], axis, logits.dtype)
    return None, expand_dims(g, axis) * (softmax(logits, axis) - hot)


@composite(
    "SigmoidCrossEntropyWithLogits",
    cost="reduction",
    infer=elementwise,
    samples=[sample(array(3, 4, low=0, high=1), array(3, 4, low=-5))],
)
def sigmoid_cross_entropy_with_logits(labels: Float, logits: Float) -> Tensor:
    """Cross-entropy between probabilities and the sigmoid of scores, for each element.

    Args:
        labels: the probabilities, of the shape of the scores.
        logits: the scores.

    Source: `tf.nn.sigmoid_cross_entropy_with_logits`.

    Example:
        >>> sigmoid_cross_entropy_with_logits([1., 0.], [-1000., 0.]).numpy()
        array([1.000000e+03, 6.931472e-01], dtype=float32)
    """
    return between(labels, softplus(-logits), softplus(logits))


@sigmoid_cross_entropy_with_logits.gradient
def _(op: Any, g: Any) -> Any:
    labels, logits = op.inputs
    return sum_like(-(g * logits), labels), sum_like(g * (sigmoid(logits) - labels), logits)


# -- cross-entropy from probabilities or scores -----------------------------------------------------------------------


def clipped(p: Any) -> Any:
    """Probabilities, `config.epsilon()` away from 0 and 1, so that their logarithms are finite."""
    return clip(p, config.epsilon(), 1 - config.epsilon())


def normalized(p: Any, axis: int) -> Any:
    """Probabilities that add up to 1 along an axis, then clipped."""
    return clipped(divide(p, sum(p, axis, keepdims=True)))


def between(target: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true` for targets of 1, `if_false` for 0, and a mixture in between."""
    return add(multiply(target, if_true), multiply(subtract(1, target), if_false))


@checked
def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Cross-entropy between probabilities and predicted ones.

    Args:
        target: the probabilities of the classes, of the shape of `output`.
        output: predicted probabilities, which are made to add up to 1, or scores.
        from_logits: whether `output` are scores.
        axis: the axis of the classes.

    Returns:
        A number for each sample, in the shape of `output` without the axis.

    Source: `keras.ops.categorical_crossentropy`.

    Example:
        >>> categorical_crossentropy([[0., 1.]], [[1., 3.]]).numpy()
        array([0.2876821], dtype=float32)
    """
    target, output = shaped(target), shaped(output)
    if from_logits:
        return softmax_cross_entropy_with_logits(target, output, axis)
    return negative(sum(multiply(target, log(normalized(output, axis))), axis))


@checked
def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Cross-entropy between classes, given by number, and predicted probabilities.

    Args:
        target: the numbers of the classes; of the shape of `output` without the axis, or with size 1 there.
        output: predicted probabilities, which are made to add up to 1, or scores.
        from_logits: whether `output` are scores.
        axis: the axis of the classes.

    Returns:
        A number for each sample, in the shape of `output` without the axis.

    Source: `keras.ops.sparse_categorical_crossentropy`.

    Example:
        >>> sparse_categorical_crossentropy([1], [[1., 3.]]).numpy()
        array([0.2876821], dtype=float32)
    """
    target, output = shaped(target), shaped(output)
    if native_to_dtype(dtype_of(target)).is_differentiable:
        raise TypeError(
            f'the target must be the numbers of classes, integers, not {dtype_of(target)}; see cast(x, "int32").'
        )
    target = saturate_cast(target, "int32")
    if len(static_shape(target)) == len(static_shape(output)):
        target = squeeze(target, axis)
    if from_logits:
        return sparse_softmax_cross_entropy_with_logits(target, output, axis)
    return negative(squeeze(take_along_axis(log(normalized(output, axis)), expand_dims(target, axis), axis), axis))


@checked
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross-entropy between probabilities and predicted ones, for each element.

    Args:
        target: the probabilities, of the shape of `output`.
        output: predicted probabilities or scores.
        from_logits: whether `output` are scores.

    Source: `keras.ops.binary_crossentropy`.

    Example:
        >>> binary_crossentropy([1., 0.], [0.5, 0.25]).numpy()
        array([0.6931472, 0.2876821], dtype=float32)
    """
    target, output = shaped(target), shaped(output)
    if from_logits:
        return sigmoid_cross_entropy_with_logits(target, output)
    p = clipped(output)
    return negative(between(target, log(p), log(subtract(1, p))))


@checked
def kl_divergence(y_true: Any, y_pred: Any) -> Any:
    """Kullback-Leibler divergence between probabilities and predicted ones, along the last axis.

    Source: `keras.losses.kl_divergence`.

    Example:
        >>> kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]).numpy().round(4)
        array([0.1438], dtype=float32)
    """
    p, q = [clip(t, config.epsilon(), 1) for t in (y_true, y_pred)]
    return sum(p * log(p / q), -1)


# -- distances --------------------------------------------------------------------------------------------------------


@composite("MeanSquaredError", cost="reduction", samples=_PAIR)
def mean_squared_error(y_true: Float, y_pred: Float) -> Tensor:
    """Mean of the squared differences along the last axis.

    Source: `keras.losses.mean_squared_error`.

    Example:
        >>> mean_squared_error([[1., 2.]], [[2., 4.]]).numpy()
        array([2.5], dtype=float32)
    """
    return mean(squared_difference(y_true, y_pred), -1)


@composite("MeanAbsoluteError", cost="reduction", samples=[sample(array(3, 4, low=1), array(3, 4, high=1))])
def mean_absolute_error(y_true: Float, y_pred: Float) -> Tensor:
    """Mean of the absolute differences along the last axis.

    Source: `keras.losses.mean_absolute_error`.

    Example:
        >>> mean_absolute_error([[1., 2.]], [[2., 4.]]).numpy()
        array([1.5], dtype=float32)
    """
    return mean(absolute(y_true - y_pred), -1)


@composite("Huber", cost="reduction", samples=[*_PAIR, sample(array(3, 4), array(3, 4), 0.5)])
def huber(y_true: Float, y_pred: Float, delta: NotNegative = 1.0) -> Tensor:
    """Mean along the last axis of losses: half the square of the difference near zero, linear further out.

    Args:
        y_true, y_pred: tensors that broadcast.
        delta: the size of a difference from which on the loss is linear.

    Source: `keras.losses.huber`; Huber, "Robust estimation of a location parameter", 1964.

    Example:
        >>> huber([[0., 0.]], [[1., 3.]]).numpy()
        array([1.5], dtype=float32)
    """
    size = absolute(y_true - y_pred)
    near = clip(size, 0, delta)
    return mean(near * (size - near * 0.5), -1)


@composite("LogCosh", cost="reduction", samples=_PAIR)
def log_cosh(y_true: Float, y_pred: Float) -> Tensor:
    """Mean along the last axis of the logarithm of the hyperbolic cosine of the differences.

    Source: `keras.losses.log_cosh`.

    Example:
        >>> log_cosh([[0., 0.]], [[0., 1000.]]).numpy()
        array([499.6534], dtype=float32)
    """
    difference = y_pred - y_true
    return mean(difference + softplus(difference * -2) - _log(2), -1)


@composite(
    "CosineSimilarity",
    cost="reduction",
    samples=[sample(array(3, 4), array(3, 4)), sample(array(2, 3, 2), array(2, 3, 2), 1)],
)
def cosine_similarity(y_true: Float, y_pred: Float, axis: int = -1) -> Tensor:
    """Minus the cosine of the angle between vectors: -1 if they point in one direction.

    Args:
        y_true, y_pred: tensors that broadcast.
        axis: the axis of the vectors.

    Source: `keras.losses.cosine_similarity`.

    Example:
        >>> cosine_similarity([[1., 0.]], [[3., 4.]]).numpy()
        array([-0.6], dtype=float32)
    """
    return -sum(l2_normalize(y_true, axis) * l2_normalize(y_pred, axis), axis)


@composite("Hinge", cost="reduction", samples=[sample(array(3, 4, low=-2, high=-1.1), array(3, 4, low=0.0))])
def hinge(y_true: Float, y_pred: Float) -> Tensor:
    """Mean of `max(1 - y_true * y_pred, 0)` along the last axis.

    Args:
        y_true: -1 and 1, or 0 and 1, which count as -1 and 1.
        y_pred: scores.

    Source: `keras.losses.hinge`.

    Example:
        >>> hinge([[0., 1.]], [[-0.5, 3.]]).numpy()
        array([0.25], dtype=float32)
    """
    binary = all(logical_or(equal(y_true, 0), equal(y_true, 1)))
    return mean(relu(1 - where(binary, 2 * y_true - 1, y_true) * y_pred), -1)
