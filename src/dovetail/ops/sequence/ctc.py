"""CTC, connectionist temporal classification: the loss of labels that are not aligned with scores, and decoding.

Scores are (batch, time, classes).  One class is the blank.  A path has one class for each time.  It gives the labels
that are left when repetitions are merged and blanks taken away.
"""

from __future__ import annotations

import math
from typing import Any

from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float, Integer
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import require_shape
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.control.flow import scan
from dovetail.ops.math.bitwise import logical_and, logical_not
from dovetail.ops.math.compare import equal, less, maximum, minimum, not_equal, saturate_cast, where
from dovetail.ops.math.exponential import logaddexp
from dovetail.ops.math.reduce import argmax, max, sum
from dovetail.ops.nn.softmax import log_softmax
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import full, iota
from dovetail.ops.shapes.index import gather, take_along_axis
from dovetail.ops.shapes.join import concatenate, stack
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, reshape, transpose, wide
from dovetail.ops.shapes.sort import argsort

IMPOSSIBLE = -math.inf  # the logarithm of a probability of 0
_UNREACHED = -1e30  # the same, for gradients: the engines' gradients of sums of infinities are NaN


def check_scores(scores: RankedSpec, *lengths: RankedSpec, mask_index: int) -> None:
    if scores.rank != 3:
        raise ValueError(f"the scores must be (batch, time, classes), but their shape is {scores.shape}.")
    batch, _, classes = scores.shape
    for length in lengths:
        require_shape(length, (batch,))
    if classes is not None and not -classes <= mask_index < classes:
        raise ValueError(f"mask_index must be one of the {classes} classes, but it is {mask_index}.")


# -- loss -------------------------------------------------------------------------------------------------------------


def _loss_spec(
    target: RankedSpec, output: RankedSpec, target_length: Any, output_length: Any, mask_index: int = 0
) -> TensorSpec:
    check_scores(output, target_length, output_length, mask_index=mask_index)
    batch = output.shape[0]
    if not fits(target.shape, (batch, None)):
        raise ValueError(f"the target must be (batch, labels), but its shape is {target.shape} for a batch of {batch}.")
    return TensorSpec((batch,), output.dtype)


@composite(
    "CTCLoss",
    cost="recurrent",
    infer=_loss_spec,
    samples=[
        sample([[1, 2, 2], [3, 9, 9]], array(2, 6, 4), [3, 1], [6, 3]),
        sample([[0, 0], [1, 2], [1, -1]], array(3, 4, 4), [2, 2, 0], [3, 2, 4], mask_index=-1),
        sample(ints(0, 3), array(0, 2, 4), ints(0), ints(0)),
    ],
)
def ctc_loss(
    target: Integer, output: Float, target_length: Integer, output_length: Integer, mask_index: int = 0
) -> Tensor:
    """Minus the logarithm of the probability of labels, over all ways to align them with scores in time.

    Args:
        target: the labels, (batch, labels), which may include the blank's number; labels beyond the length of a sample
            do not count.
        output: the scores, (batch, time, classes), or logarithms of probabilities.
        target_length: the number of labels of each sample, (batch,).
        output_length: the number of time steps of each sample, (batch,).
        mask_index: the number of the blank class; -1 for the last one.

    Returns:
        A number for each sample, (batch,).  It is infinity, with a gradient of zero, if the time is too short for the
        labels and the blanks between equal ones.

    Raises:
        ValueError: the shapes do not fit.

    Source: `keras.ops.ctc_loss`, `tf.nn.ctc_loss`; Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> ctc_loss([[1]], [[[0., 0.], [0., 0.]]], [1], [2]).numpy().round(4)  # three of four paths
        array([0.2877], dtype=float32)
    """
    times, classes = dims_of(output)[1:]
    labels = dims_of(target)[1]
    target, output_length = saturate_cast(target, "int32"), saturate_cast(output_length, "int32")
    target_length = minimum(saturate_cast(target_length, "int32"), labels + 1)
    within = less(iota((labels,)), expand_dims(target_length, 1))
    states, may_skip = _states(where(within, target, 0), mask_index % classes)
    scores = maximum(log_softmax(wide(output)), _UNREACHED)
    scores = transpose(gather(scores, states, axis=2, batch_dims=1), (1, 0, 2))

    def step(alpha: Any, slices: Any) -> tuple[Any, None]:
        """Advance the logarithms of the probabilities of the states by one time."""
        time, score = slices
        next_state = _shifted(alpha)
        skipped = where(may_skip, _shifted(next_state), _UNREACHED)
        after = logaddexp(logaddexp(alpha, next_state), skipped) + score
        return where(expand_dims(less(time, output_length), 1), after, alpha), None

    at_first = where(equal(iota((dims_of(states)[1],)), 0), 0.0, _UNREACHED)
    start = broadcast_to(cast(at_first, scores.dtype), dims_of(states))
    alpha, _ = scan(step, start, (iota((times,)), scores))
    last = expand_dims(target_length * 2, 1)  # the blank after the last label; the label is the state before
    ends = take_along_axis(_padded(alpha), concatenate([last + 1, last], 1), 1)
    likelihood = logaddexp(ends[:, 0], ends[:, 1])
    return cast(where(less(likelihood, _UNREACHED / 10), math.inf, -likelihood), output.dtype)


def _states(labels: Any, blank: Any) -> tuple[Any, Any]:
    """The states of a path, with a blank before and after each label, and whether a path may skip to each.

    Returns:
        The classes of the states, (batch, 2 * labels + 1).
        bool of this shape: whether a path may come from the state two before, over a blank.
    """
    batch, count = dims_of(labels)
    pairs = stack([full((batch, count), blank, labels.dtype), labels], 2)
    states = concatenate([reshape(pairs, (batch, count * 2)), full((batch, 1), blank, labels.dtype)], 1)
    two_before = concatenate([full((batch, 2), blank, labels.dtype), states], 1)[:, :-2]
    is_label = equal(iota((count * 2 + 1,)) % 2, 1)  # by position, since a label may be the blank's class
    return states, logical_and(is_label, not_equal(states, two_before))


def _padded(alpha: Any) -> Any:
    """Add an impossible state in front."""
    return concatenate([full((dims_of(alpha)[0], 1), _UNREACHED, alpha.dtype), alpha], 1)


def _shifted(alpha: Any) -> Any:
    """Move each state's number to the state after it."""
    return _padded(alpha)[:, :-1]


# -- the best path ----------------------------------------------------------------------------------------------------


def _greedy_spec(inputs: RankedSpec, lengths: RankedSpec, merge_repeated: bool, mask_index: int) -> list[TensorSpec]:
    check_scores(inputs, lengths, mask_index=mask_index)
    batch, times, _ = inputs.shape
    return [TensorSpec((batch, times), ALL["int32"]), TensorSpec((batch, 1), inputs.dtype)]


@composite(
    "CTCGreedyDecoder",
    cost="recurrent",
    infer=_greedy_spec,
    differentiable=False,
    samples=[
        sample(array(2, 6, 3), [6, 4]),
        sample(array(2, 6, 3), [0, 5], merge_repeated=False, mask_index=-1),
        sample(array(0, 2, 3), ints(0)),
    ],
)
def ctc_greedy_decode(
    inputs: Float, sequence_lengths: Integer, merge_repeated: bool = True, mask_index: int = 0
) -> tuple[Tensor, ...]:
    """The labels of the path that takes the best class at each time.

    Args:
        inputs: the scores, (batch, time, classes).
        sequence_lengths: the number of time steps of each sample, (batch,).
        merge_repeated: whether a class that is best several times in a row is one label.
        mask_index: the number of the blank class; -1 for the last one.

    Returns:
        The labels, int32 of shape (batch, time), with -1 after the last one.
        Minus the sum of the best scores, (batch, 1).

    Raises:
        ValueError: the shapes do not fit.

    Source: `tf.nn.ctc_greedy_decoder`.

    Example:
        >>> labels, scores = ctc_greedy_decode([[[0., 9., 0.], [0., 9., 0.], [9., 0., 0.], [0., 9., 0.]]], [4])
        >>> labels.numpy(), scores.numpy()
        (array([[ 1,  1, -1, -1]], dtype=int32), array([[-36.]], dtype=float32))
    """
    times, classes = dims_of(inputs)[1:]
    best = cast(argmax(inputs, -1), "int32")
    counts = less(iota((times,)), expand_dims(saturate_cast(sequence_lengths, "int32"), 1))
    kept = logical_and(counts, not_equal(best, mask_index % classes))
    if merge_repeated:
        kept = logical_and(kept, not_equal(best, before(best)))
    return packed(best, kept), -sum(where(counts, max(inputs, -1), 0), 1, keepdims=True)


def before(labels: Any) -> Any:
    """The label before each label along the last axis, -1 before the first."""
    return concatenate([full((*dims_of(labels)[:-1], 1), -1, labels.dtype), labels], -1)[..., :-1]


def packed(labels: Any, kept: Any) -> Any:
    """The kept labels along the last axis, then -1."""
    return take_along_axis(where(kept, labels, -1), argsort(cast(logical_not(kept), "int32"), -1), -1)
