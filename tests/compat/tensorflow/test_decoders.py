"""Decoders of `contrib.seq2seq` against `dynamic_rnn`, and attention against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

BATCH, TIME, SIZE, WORDS = 3, 4, 5, 6
START, END = 1, 2
LENGTHS = [4, 2, 3]
seq2seq = tf.contrib.seq2seq


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        yield session


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


@pytest.mark.parametrize("imputes", [True, False])
def test_a_training_helper_decodes_as_dynamic_rnn(session, engine, imputes):
    x, cell, layer = tf.constant(drawn(BATCH, TIME, SIZE)), tf.nn.rnn_cell.GRUCell(SIZE), tf.layers.Dense(WORDS)
    first = tf.constant(drawn(BATCH, SIZE))
    decoder = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(x, LENGTHS), first, layer)
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=imputes)
    with tf.variable_scope("", reuse=True):
        rnn = tf.nn.dynamic_rnn(cell, x, LENGTHS, first, scope="decoder")
        wanted = layer(rnn[0])
    mask = tf.sequence_mask(LENGTHS, dtype=tf.float32)[:, :, None]
    losses = [tf.reduce_sum(tf.square(logits) * mask) for logits in (outputs.rnn_output, wanted)]
    gradients = [tf.gradients(loss, tf.trainable_variables()) for loss in losses]
    session.run(tf.global_variables_initializer())
    found, (ours, theirs), counts, ids = session.run([losses, gradients, lengths, outputs])
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert len(ours) == 6 and counts.tolist() == LENGTHS and ids.sample_id.shape == (BATCH, TIME)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    if imputes:
        np.testing.assert_allclose(*session.run([state, rnn[1]]), atol=1e-6)
        assert not ids.rnn_output[1, 2:].any()


def test_the_greedy_helper_feeds_outputs_until_the_last_token(session, engine):
    table, first = drawn(WORDS, SIZE), drawn(BATCH, SIZE)
    cell, layer = tf.nn.rnn_cell.BasicRNNCell(SIZE), tf.layers.Dense(WORDS, use_bias=False)
    helper = seq2seq.GreedyEmbeddingHelper(tf.constant(table), [START] * BATCH, END)
    decoder = seq2seq.BasicDecoder(cell, helper, tf.constant(first), layer)
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=7, output_time_major=True)
    session.run(tf.global_variables_initializer())
    found, counts, weights = session.run([outputs.sample_id, lengths, tf.trainable_variables()])
    kernel, bias, out = weights
    for place, state in enumerate(first):
        token, wanted = START, []
        while token != END and len(wanted) < 7:
            state = np.tanh(np.concatenate([table[token], state]) @ kernel + bias)
            token = int(np.argmax(state @ out))
            wanted.append(token)
        assert found[: len(wanted), place].tolist() == wanted and counts[place] == len(wanted)


def test_drawn_inputs_follow_their_probability(session):
    x, table = tf.constant(drawn(BATCH, TIME, SIZE)), tf.constant(drawn(WORDS, SIZE))
    for probability, is_known in ((0.0, True), (1.0, False)):
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(x, LENGTHS, table, probability, seed=1)
        logits = tf.zeros([BATCH, WORDS])
        ids = helper.sample(0, logits, None)
        _, following, _ = helper.next_inputs(0, logits, (), ids)
        found, inputs = session.run([ids, following])
        wanted = drawn(BATCH, TIME, SIZE)[:, 1] if is_known else drawn(WORDS, SIZE)[found]
        assert (found < 0).all() == is_known
        np.testing.assert_array_equal(inputs, wanted)


def bahdanau(keys, query, weights):
    return np.tanh(keys + (query @ weights["query_layer/kernel"])[:, None]) @ weights["attention_v"]


def luong(keys, query, weights):
    return np.einsum("btn,bn->bt", keys, query)


@pytest.mark.parametrize(("kind", "score"), [("BahdanauAttention", bahdanau), ("LuongAttention", luong)])
def test_attention_is_a_mean_of_the_memory(session, engine, kind, score):
    memory, query = drawn(BATCH, TIME, SIZE), drawn(BATCH, SIZE)
    mechanism = getattr(seq2seq, kind)(SIZE, tf.constant(memory), LENGTHS)
    alignments, _ = mechanism(tf.constant(query))
    session.run(tf.global_variables_initializer())
    found, values = session.run([alignments, tf.trainable_variables()])
    names = [v.op.name.replace(f"{mechanism.scope}/", "") for v in tf.trainable_variables()]
    weights = dict(zip(names, values, strict=True))
    mask = np.arange(TIME) < np.array(LENGTHS)[:, None]
    wanted = np.exp(score((memory * mask[:, :, None]) @ weights["memory_layer/kernel"], query, weights)) * mask
    np.testing.assert_allclose(found, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_a_cell_with_attention_gets_what_it_attended_to(session, engine):
    memory, x = drawn(BATCH, TIME, SIZE), drawn(BATCH, 2, SIZE)
    mechanism = seq2seq.LuongAttention(SIZE, tf.constant(memory))
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.BasicRNNCell(SIZE), mechanism, 2, alignment_history=True)
    decoder = seq2seq.BasicDecoder(
        cell, seq2seq.TrainingHelper(tf.constant(x), [2] * BATCH), cell.zero_state(BATCH, tf.float32)
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names == [
        "memory_layer/kernel",
        "decoder/attention_wrapper/basic_rnn_cell/kernel",
        "decoder/attention_wrapper/basic_rnn_cell/bias",
        "decoder/attention_wrapper/attention_layer/kernel",
    ]
    session.run(tf.global_variables_initializer())
    found, history, values = session.run(
        [outputs.rnn_output, state.alignment_history.stack(), tf.trainable_variables()]
    )
    keys, kernel, bias, layer = values
    h, attention = np.zeros([BATCH, SIZE], "float32"), np.zeros([BATCH, 2], "float32")
    for time in range(2):
        h = np.tanh(np.concatenate([x[:, time], attention, h], 1) @ kernel + bias)
        scores = np.exp(np.einsum("btn,bn->bt", memory @ keys, h))
        weights = scores / scores.sum(1, keepdims=True)
        attention = np.concatenate([h, np.einsum("bt,btn->bn", weights, memory)], 1) @ layer
        np.testing.assert_allclose(history[time], weights, rtol=1e-4)
        np.testing.assert_allclose(found[:, time], attention, atol=1e-5)
    assert int(session.run(state.time)) == 2


def test_sequences_are_tiled(session):
    found = session.run(seq2seq.tile_batch({"a": tf.constant([[1], [2]])}, 2))
    assert found["a"].tolist() == [[1], [1], [2], [2]]
