"""The decoder that keeps the best sequences, against a search by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

seq2seq = tf.contrib.seq2seq
CLASSES, END, STEPS = 5, 4, 4
TABLE = np.random.RandomState(8).normal(0, 1.5, (CLASSES, CLASSES)).astype("float32")  # logits by the last number
LOGS = TABLE - np.log(np.exp(TABLE).sum(1, keepdims=True))


class Counting(tf.nn.rnn_cell.RNNCell):
    """A cell whose output is its input, and whose state is the number of its steps and the sum of its inputs."""

    state_size, output_size = (1, CLASSES), CLASSES

    def call(self, inputs, state):
        return inputs, (state[0] + 1, state[1] + inputs)


def decoded(starts, width, **options):
    """The best sequences of the decoder, the scores of its steps, its last state and its lengths."""
    with tf.Graph().as_default(), tf.Session() as session:
        cell, count = Counting(), len(starts)
        layer = tf.layers.Dense(CLASSES, use_bias=False, kernel_initializer=tf.constant_initializer(TABLE))
        first = seq2seq.tile_batch(cell.zero_state(count, tf.float32), width)
        table = tf.eye(CLASSES)
        made = seq2seq.BeamSearchDecoder(cell, table, tf.constant(starts), END, first, width, layer, **options)
        outputs, state, lengths = seq2seq.dynamic_decode(made, output_time_major=True, maximum_iterations=STEPS)
        session.run(tf.global_variables_initializer())
        found = outputs.predicted_ids, outputs.beam_search_decoder_output.scores, state, lengths
        return session.run(found)


def searched(start, width, weight=0.0):
    """The best sequences by hand: (score, logarithm, numbers, whether it ended)."""

    def score(total, length):
        return total / ((5 + length) / 6) ** weight

    kept = [(0.0, 0.0, [], False)]
    for _ in range(STEPS):
        following = []
        for _, total, numbers, ended in kept:
            if ended:
                following.append((score(total, len(numbers)), total, numbers, True))
                continue
            for number, log in enumerate(LOGS[numbers[-1] if numbers else start]):
                length = len(numbers) + (number != END)
                following.append((score(total + log, length), total + log, [*numbers, number], number == END))
        kept = sorted(following, key=lambda one: -one[0])[:width]
        if all(ended for *_, ended in kept):
            break
    return kept


@pytest.mark.parametrize(("width", "weight"), [(1, 0.0), (3, 0.0), (4, 1.0)])
def test_the_best_sequences_are_those_of_a_search_by_hand(width, weight, engine):
    starts = [0, 2, 3]
    ids, scores, state, _ = decoded(starts, width, length_penalty_weight=weight)
    for number, start in enumerate(starts):
        wanted = searched(start, width, weight)
        for beam, (_, total, numbers, _) in enumerate(wanted):
            whole = [*numbers, *[END] * len(ids)][: len(ids)]
            assert ids[:, number, beam].tolist() == whole
            np.testing.assert_allclose(state.log_probs[number, beam], total, rtol=1e-4)
    assert scores.shape == ids.shape == (len(ids), 3, width)


def test_states_follow_their_sequences(engine):
    ids, _, state, lengths = decoded([0, 1], 3)
    steps, sums = state.cell_state
    assert steps.shape == (2, 3, 1) and lengths.shape == (2, 3)
    for number, beam in itertools.product(range(2), range(3)):
        numbers = [number, *ids[:-1, number, beam]]  # the inputs of the steps
        if END not in numbers:
            np.testing.assert_allclose(sums[number, beam], np.eye(CLASSES)[numbers].sum(0))


def test_trees():
    with tf.Graph().as_default(), tf.Session() as session:
        steps = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]]
        parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]]
        found = seq2seq.gather_tree(steps, parents, [3], 10)
        wanted = [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]], [[10, 10, 10]]]  # of TensorFlow's documentation
        assert session.run(found).tolist() == wanted


def test_with_attention(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        memory = tf.constant(np.random.RandomState(1).rand(2, 4, 3).astype("float32"))
        attention = seq2seq.LuongAttention(3, seq2seq.tile_batch(memory, 2))
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), attention, attention_layer_size=3)
        first = cell.zero_state(4, tf.float32)
        made = seq2seq.BeamSearchDecoder(cell, tf.eye(CLASSES), [0, 1], END, first, 2, tf.layers.Dense(CLASSES))
        outputs, _, _ = seq2seq.dynamic_decode(made, maximum_iterations=3)
        session.run(tf.global_variables_initializer())
        assert session.run(outputs.predicted_ids).shape[0::2] == (2, 2)
        with pytest.raises(NotImplementedError, match="leave alignment_history"):
            kept = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), attention, alignment_history=True)
            seq2seq.BeamSearchDecoder(kept, tf.eye(CLASSES), [0], END, kept.zero_state(4, tf.float32), 2)
        with pytest.raises(NotImplementedError, match="leave coverage_penalty_weight out"):
            seq2seq.BeamSearchDecoder(cell, tf.eye(CLASSES), [0], END, first, 2, coverage_penalty_weight=0.1)
