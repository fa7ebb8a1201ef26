"""CTC in K: gradients, messages, and results whose sizes depend on values in compiled programs."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

LABELS, COUNT = np.array([[0, 1, 1], [2, 0, 0]], "int32"), np.array([[3], [1]], "int32")
TIMES = np.array([[6], [4]], "int32")


def predictions():
    scores = np.exp(np.random.default_rng(0).normal(size=(2, 6, 4)))
    return (scores / scores.sum(-1, keepdims=True)).astype("float32")


def test_the_gradient_is_that_of_the_oracle(engine):
    tf = pytest.importorskip("tensorflow")
    tf_keras = pytest.importorskip("tf_keras", reason="the oracle")

    @dt.function
    def gradient(p):
        return dt.gradients(K.sum(K.ctc_batch_cost(LABELS, p, TIMES, COUNT)), [p])[0]

    p = tf.constant(predictions())
    with tf.GradientTape() as tape:
        tape.watch(p)
        total = tf.reduce_sum(tf_keras.backend.ctc_batch_cost(LABELS, p, TIMES, COUNT))
    expected = tape.gradient(total, p).numpy()
    np.testing.assert_allclose(gradient(predictions()).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_labels_that_cannot_be_cost_infinity_and_have_no_gradient(engine):
    p = dt.ops.convert(predictions()[:1])
    with dt.GradientTape() as tape:
        tape.watch(p)
        cost = K.ctc_batch_cost(LABELS[:1], p, [[3]], [[3]])  # the blank between equal labels takes a fourth step
    assert cost.numpy().tolist() == [[np.inf]]
    assert not tape.gradient(cost, p).numpy().any()


def test_labels_become_sparse_in_a_compiled_function(engine):
    def sparse(labels, lengths):
        return K.ctc_label_dense_to_sparse(labels, lengths)

    found = dt.function(sparse)(LABELS, COUNT[:, 0])
    assert isinstance(found, K.SparseTensor)
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert found.values.numpy().tolist() == [0, 1, 1, 2]
    assert K.eval(found).tolist() == [[0, 1, 1], [2, 0, 0]]


def test_epsilon_is_that_of_the_settings(engine):
    K.set_epsilon(1e-3)
    impossible = np.array([[[0.0, 1.0], [0.0, 1.0]]], "float32")
    np.testing.assert_allclose(K.ctc_decode(1 - impossible, [2])[1].numpy(), -2 * np.log(1.001), rtol=1e-3)
    assert K.ctc_batch_cost([[0]], impossible, [[2]], [[1]]).item() < 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p: K.ctc_batch_cost(LABELS, p, TIMES, [[3], [0]]),
            r"K\.ctc_batch_cost at test_ctc\.py:\d+: the sample 1 has no label",
        ),
        (lambda p: K.ctc_batch_cost(LABELS, p, [[2], [4]], COUNT), r"the sample 0 has fewer times than labels"),
        (lambda p: K.ctc_batch_cost(LABELS, p, [[6], [7]], COUNT), r"the sample 1 has an input_length above the 6"),
        (lambda p: K.ctc_batch_cost(-LABELS, p, TIMES, COUNT), r"the sample 0 has a negative label"),
        (lambda p: K.ctc_batch_cost(3 - LABELS, p, TIMES, COUNT), r"the sample 0 has a label after a blank"),
        (lambda p: K.ctc_batch_cost(LABELS, p[0], TIMES, COUNT), r"y_pred must be \(batch, time, classes\)"),
        (lambda p: K.ctc_batch_cost(LABELS[:1], p, TIMES, COUNT), r"y_true must be \(batch, labels\) and the lengths"),
        (lambda p: K.ctc_label_dense_to_sparse(LABELS, [1]), r"the labels must be \(batch, labels\)"),
        (lambda p: K.ctc_decode(p[:0], []), r"y_pred must not be empty"),
        (lambda p: K.ctc_decode(p, [6, 7]), r"K\.ctc_decode.*the sample 1 has an input_length above the 6 times"),
        (lambda p: K.ctc_decode(p, [6, 7], greedy=False, beam_width=2), r"the sample 1 has an input_length above"),
        (lambda p: K.ctc_decode(p, [0, 6], False, 5, 2), r"the sample 0 is too short .* ask for fewer top_paths"),
        (lambda p: K.ctc_decode(p, [6, 6], False, 2, 3), r"top_paths must be between 1 and beam_width"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call(predictions())
