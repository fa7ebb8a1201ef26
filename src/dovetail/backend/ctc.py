"""CTC: the cost of labels that are not aligned with predictions in time, and the labels that predictions decode to.

Predictions are probabilities; `K.epsilon()` is added before their logarithm is taken.  The last class is the blank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.backend.values import known_value
from dovetail.core.kinds import TensorLike
from dovetail.core.values.shapes import fits
from dovetail.ops.shapes.shape import dims_of, shaped

__all__ = ["ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse"]


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> Any:
    """The labels within the length of each sample, as a sparse tensor.

    Args:
        labels: the labels, (batch, labels), of any dtype; elements beyond the length of a sample do not count.
        label_lengths: how many labels each sample has, integers of shape (batch,).

    Returns:
        A `SparseTensor` of the shape and dtype of the labels.

    Raises:
        ValueError: the labels are no matrix, or the numbers of samples differ.

    Source: `tf.keras.backend.ctc_label_dense_to_sparse`.

    Differs: lengths may have any dtype; tf.keras refuses all but int32.
    The numbers of labels must be known where jax compiles, since shapes follow from them.

    Modern: `tf.sparse.from_dense` of the labels plus 1, less 1.

    Example:
        >>> s = K.ctc_label_dense_to_sparse([[5, 6, 0], [7, 0, 0]], [2, 1])
        >>> s.indices.numpy().tolist(), s.values.numpy().tolist()
        ([[0, 0], [0, 1], [1, 0]], [5, 6, 7])
    """
    labels, lengths = shaped(labels), ops.reshape(ops.saturate_cast(label_lengths, "int32"), (-1,))
    shape = K.int_shape(labels)
    if not fits(shape, (*K.int_shape(lengths), None)):
        raise ValueError(
            f"the labels must be (batch, labels), and the lengths (batch,), not {shape} and {K.int_shape(lengths)}."
        )
    indices = ops.positions(_within(lengths, dims_of(labels)[1]))
    return SparseTensor(ops.cast(indices, "int64"), ops.gather_nd(labels, indices), dims_of(labels))


def _within(lengths: Any, count: Any) -> Any:
    """Whether each of `count` positions is within the length of each sample, (batch, count)."""
    return ops.less(ops.expand_dims(ops.arange(count), 0), ops.expand_dims(lengths, 1))


def ctc_batch_cost(y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike) -> Any:
    """Minus the logarithm of the probability of labels, over all ways to align them with predictions in time.

    Args:
        y_true: the labels, (batch, labels), numbers of any dtype; elements beyond the length of a sample do not count,
            nor do blanks at the end.
        y_pred: the predicted probabilities, (batch, time, classes), the blank last.
        input_length: how many times each sample has, (batch, 1).
        label_length: how many labels each sample has, (batch, 1).

    Returns:
        A number for each sample, (batch, 1), of the dtype of `y_pred`: infinity if there is no time for the blanks
        between equal labels.

    Raises:
        ValueError: the shapes do not fit; a sample has no label, fewer times than labels, or more than there are; a
            label is negative or follows a blank.

    Source: `tf.keras.backend.ctc_batch_cost`.

    Differs: values that are not known before a program runs are not checked: fewer times than labels cost infinity.
    If the cost is infinity, its gradient is zero; tf.keras gives the softmax.

    Modern: `keras.ops.ctc_loss(y_true, log(y_pred), label_length, input_length, mask_index)`, `keras.losses.CTC`.

    Example:
        >>> K.ctc_batch_cost([[0]], [[[0.5, 0.5], [0.5, 0.5]]], [[2]], [[1]]).numpy().round(4)  # three of four paths
        array([[0.2877]], dtype=float32)
    """
    y_true, y_pred = ops.saturate_cast(y_true, "int32"), shaped(y_pred)
    times, lengths = (ops.squeeze(ops.saturate_cast(t, "int32"), -1) for t in (input_length, label_length))
    _require_shapes(y_true, y_pred, times, lengths)
    within = _within(lengths, dims_of(y_true)[1])
    is_label = ops.logical_and(within, ops.less(y_true, dims_of(y_pred)[2] - 1))
    _require_labels(y_true, within, is_label)
    _require_times(times, ops.sum(ops.cast(within, "int32"), 1), dims_of(y_pred)[1])
    count = ops.sum(ops.cast(is_label, "int32"), 1)
    return ops.expand_dims(ops.ctc_loss(y_true, _logarithm(y_pred), count, times, mask_index=-1), 1)


def _logarithm(y_pred: Any) -> Any:
    return ops.log(ops.add(y_pred, K.epsilon()))


def _require_shapes(y_true: Any, y_pred: Any, *lengths: Any) -> None:
    shape = K.int_shape(y_pred)
    if not fits(shape, (None, None, None)) or shape[0] == 0:
        raise ValueError(f"y_pred must be (batch, time, classes), with samples, but its shape is {shape}.")
    given = [K.int_shape(y_true), *map(K.int_shape, lengths)]
    if not all(fits(s, wanted) for s, wanted in zip(given, [(shape[0], None), shape[:1], shape[:1]], strict=True)):
        raise ValueError(f"y_true must be (batch, labels) and the lengths (batch, 1) for y_pred of the shape {shape}.")


def _require_labels(y_true: Any, within: Any, is_label: Any) -> None:
    labels, within, is_label = known_value(y_true), known_value(within), known_value(is_label)
    if labels is None or within is None or is_label is None:
        return
    follows = is_label[:, 1:] & (within & ~is_label)[:, :-1]
    for what, wrong in (
        ("has no label", ~within.any(1)),
        ("has a negative label", (within & (labels < 0)).any(1)),
        ("has a label after a blank", follows.any(1)),
    ):
        _refuse(wrong, f"the sample {{}} {what}.")


def _require_times(times: Any, needed: Any, most: Any) -> None:
    times, needed = known_value(times), known_value(needed)
    if times is None or needed is None:
        return
    _refuse(times > most, f"the sample {{}} has an input_length above the {most} times of y_pred.")
    _refuse(times < needed, "the sample {} has fewer times than labels.")


def _refuse(wrong: Any, problem: str) -> None:
    if wrong.any():
        raise ValueError(problem.format(int(wrong.argmax())))


def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> Any:
    """The labels that predictions decode to: the best class at each time, or the most probable labels over all paths.

    Args:
        y_pred: the predicted probabilities, (batch, time, classes), the blank last.
        input_length: how many times each sample has, (batch,).
        greedy: whether to take the best class at each time; otherwise a beam search runs.
        beam_width: how many different labels the beam search follows from one time to the next.
        top_paths: how many decodings the beam search returns, at most `beam_width`.

    Returns:
        A list of the decodings, best first, one if `greedy`: int64 of shape (batch, time), with -1 after the last
        label.  The beam search merges equal labels in a row, also those with a blank between them.
        The scores: if `greedy`, minus the sum of the logarithms of the best classes, (batch, 1); else the logarithms of
        the decodings' probabilities, (batch, top_paths).

    Raises:
        ValueError: the shapes do not fit; a sample has more times than there are, or too few for `top_paths` decodings;
            or `top_paths` is above `beam_width`.

    Source: `tf.keras.backend.ctc_decode`.

    Differs: float16 is decoded, too; tf.keras refuses it.
    Where lengths are not known before a program runs, decodings that are missing are empty, with a score of -infinity.

    Modern: `keras.ops.ctc_decode(log(y_pred), input_length, strategy, beam_width, top_paths, mask_index=classes - 1)`.

    Example:
        >>> p = [[[0.1, 0.9], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6]]]
        >>> decoded, scores = K.ctc_decode(p, [4])
        >>> decoded[0].numpy(), scores.numpy().round(3)
        (array([[ 0, -1, -1, -1]]), array([[1.196]], dtype=float32))
    """
    y_pred, lengths = shaped(y_pred), ops.saturate_cast(input_length, "int32")
    shape = K.int_shape(y_pred)
    if shape is not None and 0 in shape:
        raise ValueError(f"y_pred must not be empty, but its shape is {shape}.")
    scores = _logarithm(y_pred)
    if greedy:
        labels, log_scores = ops.ctc_greedy_decode(scores, lengths, mask_index=-1)
        decoded = [labels]
    else:
        labels, log_scores = ops.ctc_beam_search_decode(scores, lengths, beam_width, top_paths, mask_index=-1)
        decoded = ops.unstack(labels)
    _require_decodings(lengths, log_scores, dims_of(y_pred)[1])
    return [ops.cast(d, "int64") for d in decoded], log_scores


def _require_decodings(lengths: Any, found: Any, most: Any) -> None:
    times, scores = known_value(lengths), known_value(found)
    if times is None or scores is None:
        return
    _refuse(times > most, f"the sample {{}} has an input_length above the {most} times of y_pred.")
    fewer = "the sample {} is too short for so many decodings; ask for fewer top_paths."
    _refuse(np.isneginf(scores).any(1), fewer)
