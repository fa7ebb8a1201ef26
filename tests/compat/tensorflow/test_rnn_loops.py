"""Loops of recurrent cells over sequences: both directions, stacks, dropout, and the ops that are recorded."""

from __future__ import annotations

from typing import Any

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from tests.compat.tensorflow.legacy import array
from tests.compat.tensorflow.rnn_by_hand import BATCH, UNITS, by_hand, gru, lstm, near

rnn = tf.contrib.rnn


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions_of_any_rank_run_in_loops(rank):
    with tf.Graph().as_default(), tf.Session() as session:
        shape = [4] * rank + [2]
        made = getattr(rnn, f"Conv{rank}DLSTMCell")(input_shape=shape, output_channels=3, kernel_shape=[2] * rank)
        y, _ = tf.nn.dynamic_rnn(made, tf.constant(array(BATCH, 5, *shape)), dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        assert session.run(y).shape == (BATCH, 5, *[4] * rank, 3)


def test_fused_cells_run_forwards_and_backwards():
    lengths, x = [2, 5], array(5, BATCH, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        forwards = rnn.LSTMBlockFusedCell(UNITS)
        y, (c, h) = forwards(tf.constant(x), dtype=tf.float32, sequence_length=lengths)
        turned = tf.reverse_sequence(y, lengths, 0, 1)
        again, state = rnn.TimeReversedFusedRNN(forwards)(
            tf.reverse_sequence(tf.constant(x), lengths, 0, 1), dtype=tf.float32, sequence_length=lengths
        )
        assert [v.op.name for v in tf.global_variables()] == ["lstm_fused_cell/kernel", "lstm_fused_cell/bias"]
        session.run(tf.global_variables_initializer())
        w = {v.op.name.rpartition("/")[2]: session.run(v) for v in tf.global_variables()}
        y, c, h, turned, again, state = session.run([y, c, h, turned, again, state])
    np.testing.assert_allclose(again, turned, rtol=1e-6)
    np.testing.assert_allclose(state, [c, h], rtol=1e-6)
    for i, length in enumerate(lengths):
        own = [np.zeros(UNITS), np.zeros(UNITS)]
        for step in range(length):
            out, own = lstm(w, x[step, i], *own)
            np.testing.assert_allclose(y[step, i], out, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose([c[i], h[i]], own, rtol=1e-5, atol=1e-6)
        assert not y[length:, i].any()


@pytest.mark.parametrize("is_list", [False, True])
def test_stacks_run_in_both_directions(is_list):
    x = array(BATCH, 5, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        cells = [[rnn.LSTMCell(UNITS), rnn.GRUCell(2)] for _ in range(2)]
        if is_list:
            y, fw, bw = rnn.stack_bidirectional_rnn(*cells, tf.unstack(tf.constant(x), axis=1), dtype=tf.float32)
            y = tf.stack(y, 1)
        else:
            y, fw, bw = rnn.stack_bidirectional_dynamic_rnn(*cells, tf.constant(x), dtype=tf.float32)
        prefix = "stack_bidirectional_rnn/cell_0/bidirectional_rnn"
        assert tf.global_variables()[2].op.name == f"{prefix}/bw/lstm_cell/kernel"
        session.run(tf.global_variables_initializer())
        w = {v.op.name: session.run(v) for v in tf.global_variables()}
        y, fw, bw = session.run([y, fw, bw])
    one = by_hand(lstm, w, f"{prefix}/fw/lstm_cell/", x, 2 * [np.zeros((BATCH, UNITS))])
    two = by_hand(lstm, w, f"{prefix}/bw/lstm_cell/", x[:, ::-1], 2 * [np.zeros((BATCH, UNITS))])[:, ::-1]
    prefix = prefix.replace("cell_0", "cell_1")
    wanted = by_hand(gru, w, f"{prefix}/fw/gru_cell/", near(one, two), [np.zeros((BATCH, 2))])
    np.testing.assert_allclose(y[..., :2], wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fw[1], wanted[:, -1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(bw[1], y[:, 0, 2:], rtol=1e-6)


def test_dropout_in_loops_differs_from_step_to_step_and_variational_dropout_does_not():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ones([BATCH, 6, 8])

        class Same(rnn.RNNCell):
            state_size = output_size = 8

            def call(self, inputs: Any, state: Any) -> Any:
                return inputs, state

        by_step = rnn.DropoutWrapper(Same(), input_keep_prob=0.5)
        always = rnn.DropoutWrapper(Same(), 1.0, 0.5, variational_recurrent=True, dtype=tf.float32)
        found = session.run([tf.nn.dynamic_rnn(one, x, dtype=tf.float32)[0] for one in (by_step, always)])
    for y in found:
        assert set(np.unique(y)) == {0.0, 2.0}
    assert len(np.unique(found[0].reshape(-1, 8), axis=0)) > 6
    assert len(np.unique(found[1].reshape(-1, 8), axis=0)) == 1


@pytest.mark.parametrize(
    ("cell", "type"), [("GRUCell", "GRUResetBefore"), ("BasicLSTMCell", "LSTM"), ("LSTMCell", "LSTM")]
)
@pytest.mark.parametrize("lengths", [None, [3, 5]])
def test_plain_cells_record_one_op_of_all_steps(cell, type, lengths):
    with tf.Graph().as_default() as graph:
        made = getattr(tf.nn.rnn_cell, cell)(UNITS)
        tf.nn.dynamic_rnn(made, tf.constant(array(BATCH, 5, 4)), lengths, dtype=tf.float32)
        found = [operation.type for operation in graph.get_operations()]
    assert found.count(type) == 1 and not {"While", "Scan"}.intersection(found)
