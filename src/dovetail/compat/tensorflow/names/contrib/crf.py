"""Linear-chain conditional random fields, `tf.contrib.crf`: scores of tags, their likelihood, and the best tags.

Scores are (batch, time, tags), tags (batch, time), lengths (batch,).  The transition matrix has a score for each pair
of a tag and the next one.  Steps behind the length of a sequence do not count.

Source: `tf.contrib.crf`, the function of the same name; Lafferty, McCallum and Pereira, "Conditional random fields:
probabilistic models for segmenting and labeling sequence data" (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable
from dovetail.compat.tensorflow.table import function
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of


def _counted(scores: Any, lengths: Any) -> Any:
    """Whether each step of each sequence counts, (batch, time)."""
    times = ops.expand_dims(ops.arange(0, dims_of(scores)[1]), 0)
    return ops.less(ops.cast(times, "int32"), ops.expand_dims(ops.cast(lengths, "int32"), 1))


def _by_time(x: Any) -> Any:
    return ops.swapaxes(x, 0, 1)


@function("contrib.crf.crf_unary_score", "v1")
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the scores of tags, (batch,)."""
    own = ops.take_along_axis(inputs, ops.expand_dims(ops.cast(tag_indices, "int32"), -1), -1)[..., 0]
    return ops.sum(ops.where(_counted(inputs, sequence_lengths), own, ops.zeros_like(own)), 1)


@function("contrib.crf.crf_binary_score", "v1")
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the scores of the transitions between tags, (batch,)."""
    tags = ops.cast(tag_indices, "int32")
    scores = ops.gather_nd(ops.convert(transition_params), ops.stack([tags[:, :-1], tags[:, 1:]], -1))
    return ops.sum(ops.where(_counted(tags, sequence_lengths)[:, 1:], scores, ops.zeros_like(scores)), 1)


@function("contrib.crf.crf_sequence_score", "v1")
def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The score of tags, (batch,)."""
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


@function("contrib.crf.crf_log_norm", "v1")
def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of the sum of the exponentials of the scores of all tags, (batch,)."""
    steps = _by_time(inputs), _by_time(_counted(inputs, sequence_lengths))

    def step(carry: Any, given: Any) -> Any:
        scores, counts = given
        new = scores + ops.logsumexp(ops.expand_dims(carry, 2) + transition_params, 1)
        return ops.where(ops.expand_dims(counts, 1), new, carry), ()

    last, _ = ops.scan(graph_mode.body(step), steps[0][0], tuple(x[1:] for x in steps))
    total = ops.logsumexp(last, 1)
    return ops.where(steps[1][0], total, ops.zeros_like(total))  # a sequence without steps has one way


@function("contrib.crf.crf_log_likelihood", "v1")
def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """The logarithms of the probabilities of tags, (batch,), and the transition matrix.

    Args:
        transition_params: by default a variable "transitions".
    """
    if transition_params is None:
        count = static_shape(inputs)[2]
        transition_params = get_variable("transitions", [count, count])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


@function("contrib.crf.crf_decode", "v1")
def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The tags of the highest score, int32 with 0 behind the end of a sequence, and their score, (batch,)."""
    last = ops.maximum(ops.cast(sequence_length, "int32") - 1, 0)
    steps = _by_time(potentials), _by_time(_counted(potentials, sequence_length))

    def forth(carry: Any, given: Any) -> Any:
        scores, counts = given
        ways = ops.expand_dims(carry, 2) + transition_params
        new = ops.where(ops.expand_dims(counts, 1), scores + ops.max(ways, 1), carry)
        return new, ops.cast(ops.argmax(ways, 1), "int32")

    best, before = ops.scan(graph_mode.body(forth), steps[0][0], tuple(x[1:] for x in steps))
    end = ops.cast(ops.argmax(best, 1), "int32")

    def back(tag: Any, given: Any) -> Any:
        ways, time = given
        earlier = ops.take_along_axis(ways, ops.expand_dims(tag, 1), 1)[:, 0]
        return ops.where(ops.less(time, last), earlier, tag), tag

    times = ops.cast(ops.arange(0, dims_of(potentials)[1] - 1), "int32")
    first, others = ops.scan(graph_mode.body(back), end, (before, times), reverse=True)
    tags = _by_time(ops.concatenate([ops.expand_dims(first, 0), others], 0))
    kept = _counted(potentials, last + 1)
    return ops.where(kept, tags, ops.zeros_like(tags)), ops.max(best, 1)


@function("contrib.crf.viterbi_decode", "v1")
def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """The tags of the highest score of one sequence, and their score.

    Args:
        score: an array, (time, tags).
        transition_params: an array, (tags, tags).
    """
    score, best, before = np.asarray(score), np.asarray(score)[0], []
    for scores in score[1:]:
        ways = best[:, None] + transition_params
        before.append(ways.argmax(0))
        best = scores + ways.max(0)
    tags = [int(best.argmax())]
    for ways in reversed(before):
        tags.append(int(ways[tags[-1]]))
    return tags[::-1], best.max()
