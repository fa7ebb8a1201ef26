"""TensorFlow's names for losses and for measures of predictions."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names import old_words
from dovetail.compat.tensorflow.table import alike_values, function, row
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.calls.gradients import gradient_override_map
from dovetail.core.values.shapes import fits
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.nn.losses import WITHOUT_LABELS
from dovetail.ops.shapes.shape import shaped


def _both(title: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise op_error(ValueError, f"tf.{title}", "it needs both labels and logits, by name.")


def require_one_shape(title: str, labels: Any, predictions: Any) -> None:
    """Raise ValueError if two values cannot have one shape; unknown dimensions fit any."""
    shapes = [static_shape(shaped(v)) for v in (labels, predictions)]
    if not fits(*shapes):
        raise op_error(ValueError, f"tf.{title}", f"both must have one shape, not {shapes[0]} and {shapes[1]}.")


@function("nn.sigmoid_cross_entropy_with_logits", around_v1=old_words.logits_first)
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of independent classes.

    Source: `tf.nn.sigmoid_cross_entropy_with_logits`.
    """
    _both("nn.sigmoid_cross_entropy_with_logits", labels, logits)
    labels, logits = alike_values([labels, logits])
    require_one_shape("nn.sigmoid_cross_entropy_with_logits", labels, logits)
    return ops.sigmoid_cross_entropy_with_logits(labels, logits, name=name)


@function("nn.weighted_cross_entropy_with_logits", scope=True)
def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Any:
    """The cross-entropy of independent classes, with a weight for positive labels.

    Source: `tf.nn.weighted_cross_entropy_with_logits`.
    """
    labels = targets if labels is None else labels
    _both("nn.weighted_cross_entropy_with_logits", labels, logits)
    require_one_shape("nn.weighted_cross_entropy_with_logits", labels, logits)
    weight = ops.add(1.0, ops.multiply(ops.subtract(pos_weight, 1.0), labels))
    absent = ops.multiply(ops.subtract(1.0, labels), logits)
    small = ops.log1p(ops.exp(ops.negative(ops.absolute(logits))))
    return ops.add(absent, ops.multiply(weight, ops.add(small, ops.relu(ops.negative(logits)))))


@function("nn.softmax_cross_entropy_with_logits", "v2")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other.

    Samples of labels and logits match in order, with any number of axes; a single sample of labels is for all.

    Source: `tf.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    labels, logits = map(shaped, alike_values([labels, logits]))
    shape, other = static_shape(logits), static_shape(labels)
    is_one = shape is not None and (len(shape) <= 2 or axis != -1 or None not in shape) and fits(other, shape)
    if is_one:
        return _cross_entropy(labels, logits, int(axis), name)
    if axis != -1:
        labels, logits = (ops.moveaxis(v, int(axis), -1) for v in (labels, logits))
    sizes = ops.shape(logits)
    samples = ops.reshape(logits, [-1, sizes[-1]])
    labels = ops.broadcast_to(ops.reshape(labels, [-1, ops.shape(labels)[-1]]), ops.shape(samples))
    return ops.reshape(_cross_entropy(labels, samples, -1, None), sizes[:-1], name=name)


_OVERRIDE = {"SoftmaxCrossEntropyWithLogits": WITHOUT_LABELS}


def _cross_entropy(labels: Any, logits: Any, axis: int, name: str | None) -> Any:
    """The op, with TensorFlow's gradient by the logits, also where labels do not add up to 1."""
    with gradient_override_map({**_OVERRIDE, **scopes().overrides}):
        return ops.softmax_cross_entropy_with_logits(labels, logits, axis, name=name)


@function("nn.softmax_cross_entropy_with_logits", "v1", around_v1=old_words.logits_first)
def softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Any:
    """The cross-entropy of classes that exclude each other; no gradient goes to the labels.

    Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    return softmax_cross_entropy_with_logits(ops.stop_gradient(labels), logits, dim if axis is None else axis, name)


function("nn.softmax_cross_entropy_with_logits_v2", "v1", v1="labels logits axis name dim:axis")(
    softmax_cross_entropy_with_logits
)


@function("nn.sparse_softmax_cross_entropy_with_logits", around_v1=old_words.logits_first)
def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other, given by number.

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
    """The fraction of the elements that are zero.

    Source: `tf.math.zero_fraction`.
    """
    return ops.mean(ops.cast(ops.equal(value, 0), "float32"))


in_top_k = row("math.in_top_k nn.in_top_k", ops.in_top_k, "targets predictions k", v1="predictions targets k name")


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = "int32"
) -> Any:
    """How often each class is predicted for each class: (true classes, predicted classes).

    Source: `tf.math.confusion_matrix`.
    """
    places = ops.stack([ops.cast(ops.reshape(x, (-1,)), "int64") for x in (labels, predictions)], 1)
    if num_classes is None:
        num_classes = ops.cast(ops.add(ops.max(places), 1), "int32")
    counted = ops.ones_like(places[:, 0], dtype) if weights is None else ops.cast(ops.reshape(weights, (-1,)), dtype)
    return ops.tensor_scatter_add(ops.zeros([num_classes, num_classes], dtype), places, counted)


row(
    "math.confusion_matrix confusion_matrix",
    confusion_matrix,
    "labels predictions num_classes weights dtype",
    v1="labels predictions num_classes dtype name weights",
)


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
    """Minus the logarithm of the probability of labels, over all ways to align them.

    Args:
        labels: a number for each label, (batch, labels); or a sparse tensor of them.
        label_length: how many labels each sample has; None for a sparse tensor.
        blank_index: the number of the blank class: by default the first; required for a sparse tensor.

    Source: `tf.nn.ctc_loss`.
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise op_error(ValueError, "tf.nn.ctc_loss", "with sparse labels it needs the blank_index.")
        labels, label_length = _dense_labels(labels)
    elif label_length is None:
        raise op_error(ValueError, "tf.nn.ctc_loss", "with dense labels it needs the label_length.")
    scores = ops.swapaxes(logits, 0, 1) if logits_time_major else logits
    return ops.ctc_loss(labels, scores, label_length, logit_length, 0 if blank_index is None else int(blank_index))


function("nn.ctc_loss_v2", "v1", scope=True)(ctc_loss)


@function("nn.ctc_loss contrib.ctc.ctc_loss", "v1", scope=True)
def ctc_loss_v1(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """Minus the logarithm of the probability of sparse labels, over all ways to align them; the last class is blank.

    Without such a way the result is infinite.  If `ignore_longer_outputs_than_inputs`, it is 0 for samples with more
    labels than times.

    Source: `tf.compat.v1.nn.ctc_loss`.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        problem = (
            "labels are as they are given, and repetitions in time are merged: leave these two options as they are."
        )
        raise op_error(NotImplementedError, "tf.nn.ctc_loss", problem)
    if isinstance(inputs, SparseTensor):  # TensorFlow 0's order
        labels, inputs = inputs, labels
    if not isinstance(labels, SparseTensor):
        raise op_error(TypeError, "tf.nn.ctc_loss", "the labels are a tf.SparseTensor; tf.nn.ctc_loss_v2 takes others.")
    target, length = _dense_labels(labels)
    scores = inputs if logits is None else logits
    scores = ops.swapaxes(scores, 0, 1) if time_major else scores
    loss = ops.ctc_loss(target, scores, length, sequence_length, -1)
    if not ignore_longer_outputs_than_inputs:
        return loss
    return ops.where(ops.greater(length, sequence_length), ops.zeros_like(loss), loss)


def _greedy(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Any]:
    """The labels of the path of the best class at each time, (time, batch, classes), and minus the sum of its scores.

    Source: `tf.nn.ctc_greedy_decoder`.
    """
    blank = -1 if blank_index is None else int(blank_index)
    scores = ops.swapaxes(inputs, 0, 1)
    labels, minus_scores = ops.ctc_greedy_decode(scores, sequence_length, merge_repeated, blank)
    return [_sparse_labels(labels)], minus_scores


def _beams(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Any]:
    """The most probable labels of a beam search, (time, batch, classes), and the logarithms of their probabilities.

    Source: `tf.compat.v1.nn.ctc_beam_search_decoder`.
    """
    scores = ops.swapaxes(inputs, 0, 1)
    labels, log_probabilities = ops.ctc_beam_search_decode(
        scores, sequence_length, beam_width, top_paths, merge_repeated, -1
    )
    return [_sparse_labels(one) for one in ops.unstack(labels)], log_probabilities


def _sparse_labels(labels: Any) -> SparseTensor:
    """Labels of each sample, with -1 after the last one, as a sparse tensor."""
    is_label = ops.greater_equal(labels, 0)
    places, longest = ops.positions(is_label), ops.max(ops.sum(ops.cast(is_label, "int64"), 1))
    values = ops.cast(ops.gather_nd(labels, places), "int64")
    return SparseTensor(ops.cast(places, "int64"), values, [ops.shape(labels)[0], longest])


_PATHS = "inputs sequence_length merge_repeated blank_index"
_BEAMS = "inputs sequence_length beam_width=100 top_paths=1"
row("nn.ctc_greedy_decoder", _greedy, _PATHS, v1=_PATHS)
row("nn.ctc_beam_search_decoder", _beams, f"{_BEAMS} merge_repeated=False", v1=f"{_BEAMS} merge_repeated")
row("contrib.ctc.ctc_beam_search_decoder", _beams, f"{_BEAMS} merge_repeated")


def _dense_labels(labels: SparseTensor) -> tuple[Any, Any]:
    """Labels, padded with zeros, and the number of labels of each sample."""
    batch = labels.dims[0]
    samples = ops.expand_dims(labels.indices[:, 0], 1)
    own = ops.equal(samples, ops.cast(ops.arange(0, batch), samples.dtype))
    return ops.saturate_cast(K.to_dense(labels), "int32"), ops.sum(ops.cast(own, "int32"), 0)


@function("nn.xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """x · weights + biases.

    Source: `tf.compat.v1.nn.xw_plus_b`.
    """
    return ops.bias_add(ops.matmul(x, weights), biases, "channels_last", name=name)
