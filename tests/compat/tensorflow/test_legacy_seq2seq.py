"""Losses of sequences, and the encoders and decoders of `legacy_seq2seq` against NumPy, by hand."""

from __future__ import annotations

from typing import Any

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from tests.compat.tensorflow.legacy import _numbers, array
from tests.compat.tensorflow.rnn_by_hand import BATCH, UNITS, near, output_projection, rnn_of


def inner() -> Any:
    return tf.contrib.rnn.BasicRNNCell(UNITS)


def test_losses_of_sequences_weigh_the_steps():
    logits, weights = [array(BATCH, 4, seed=i) for i in range(3)], [np.float32([1, i % 2]) for i in range(3)]
    targets = [np.array([i, 3]) for i in range(3)]
    nll = [np.log(np.exp(z).sum(-1)) - z[range(BATCH), t] for z, t in zip(logits, targets, strict=True)]
    total = sum(a * b for a, b in zip(nll, weights, strict=True))
    seq2seq = tf.contrib.legacy_seq2seq
    with tf.Graph().as_default(), tf.Session() as session:
        given = [list(map(tf.constant, values)) for values in (logits, targets, weights)]
        found = session.run(
            [
                seq2seq.sequence_loss_by_example(*given),
                seq2seq.sequence_loss_by_example(*given, average_across_timesteps=False),
                seq2seq.sequence_loss(*given),
            ]
        )
    wanted = [total / sum(weights), total, (total / sum(weights)).mean()]
    for mine, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5)


def test_losses_of_whole_sequences_are_means_over_axes():
    logits, weights = array(BATCH, 3, 4), np.float32([[1, 1, 0], [1, 0, 0]])
    nll = np.log(np.exp(logits).sum(-1)) - logits[..., 2]
    loss = tf.contrib.seq2seq.sequence_loss
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant(logits), tf.fill([BATCH, 3], 2), tf.constant(weights)
        found = session.run([loss(*given), loss(*given, True, False), loss(*given, False, False)])
    wanted = (nll * weights).sum() / weights.sum(), (nll * weights).sum(1) / weights.sum(1), nll * weights
    for mine, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5)


# -- legacy_seq2seq ---------------------------------------------------------------------------------------------------

BEFORE, AFTER = np.array([[1, 4], [0, 2], [3, 3]]), np.array([[2, 0], [1, 3]])  # steps of two sequences
CLASSES, SIZE = 5, 4


class Weights:
    """The variables of a scope, by name."""

    def __init__(self, of: Any, scope: str) -> None:
        self.of, self.scope = of, scope

    def __getitem__(self, name: str) -> Any:
        return self.of[f"{self.scope}/{name}"]

    def inside(self, scope: str) -> Weights:
        return Weights(self.of, f"{self.scope}/{scope}")

    def linear(self, *parts: Any) -> Any:
        return near(*parts) @ self["kernel"] + self["bias"]


def decoded(w: Weights, inputs: Any, step: Any, feeds: bool) -> Any:
    """The outputs of a decoder of numbers, which may be fed the largest output."""
    outputs: list[Any] = []
    for numbers in inputs:
        if feeds and outputs:
            numbers = outputs[-1].argmax(-1)
        outputs.append(step(w["embedding"][numbers]))
    return outputs


def encoded(w: Weights) -> tuple[Any, Any]:
    h, outputs = np.zeros((BATCH, UNITS)), []
    own = w.inside("rnn/embedding_wrapper")
    for numbers in BEFORE:
        h, _ = rnn_of(own, own["embedding"][numbers], h)
        outputs.append(h)
    return np.stack(outputs, 1), h


def plain_by_hand(w: Weights, feeds: bool) -> Any:
    _, h = encoded(w)
    w = w.inside("embedding_rnn_decoder")

    def step(x: Any) -> Any:
        nonlocal h
        y, (h,) = output_projection(w.inside("rnn_decoder/output_projection_wrapper"), x, h)
        return y

    return decoded(w, AFTER, step, feeds), h


def attention_by_hand(w: Weights, feeds: bool) -> Any:
    states, h = encoded(w)
    w = w.inside("embedding_attention_decoder")
    own, mean = w.inside("attention_decoder"), np.zeros((BATCH, UNITS))

    def step(x: Any) -> Any:
        nonlocal h, mean
        y, (h,) = output_projection(own.inside("output_projection_wrapper"), own.linear(x, mean), h)
        query = own.inside("Attention_0").linear(h)
        scores = np.exp((own["AttnV_0"] * np.tanh(states @ own["AttnW_0"][0, 0] + query[:, None])).sum(-1))
        mean = ((scores / scores.sum(-1, keepdims=True))[..., None] * states).sum(1)
        return own.inside("AttnOutputProjection").linear(y, mean)

    return decoded(w, AFTER, step, feeds), h


def given_weights(session: Any) -> dict[str, Any]:
    session.run(tf.global_variables_initializer())
    found = {v.op.name: _numbers(v.name, session.run(v)) - 0.1 for v in tf.global_variables()}
    for v in tf.global_variables():
        v.load(found[v.op.name], session)
    return found


@pytest.mark.parametrize("feeds", [False, True])
@pytest.mark.parametrize("by_tensor", [False, True])
@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_encoders_and_decoders_are_those_of_numpy(kind, by_tensor, feeds):
    run = getattr(tf.contrib.legacy_seq2seq, f"embedding_{kind}_seq2seq")
    with tf.Graph().as_default(), tf.Session() as session:
        says = tf.placeholder_with_default(feeds, []) if by_tensor else feeds
        steps = [list(map(tf.constant, numbers)) for numbers in (BEFORE, AFTER)]
        found = run(*steps, inner(), CLASSES, CLASSES, SIZE, feed_previous=says, dtype=tf.float32)
        weights = Weights(given_weights(session), f"embedding_{kind}_seq2seq")
        outputs, state = session.run(found)
    wanted, h = (plain_by_hand if kind == "rnn" else attention_by_hand)(weights, feeds)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, h, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_tied", [False, True])
def test_decoders_begin_with_the_state_of_the_encoder(is_tied):
    seq2seq = tf.nn.seq2seq
    with tf.Graph().as_default(), tf.Session() as session:
        steps = [tf.constant(array(BATCH, 4, seed=i)) for i in range(4)]
        made = inner()
        if is_tied:
            outputs, state = seq2seq.tied_rnn_seq2seq(
                steps[:2], steps[2:], made, lambda y, i: 2 * tf.pad(y, [(0, 0), (0, 1)])
            )
        else:
            outputs, state = seq2seq.basic_rnn_seq2seq(steps[:2], steps[2:], made)
        weights = given_weights(session)
        y, h, x = session.run([outputs, state, steps])
    scopes = (
        ["combined_tied_rnn_seq2seq/tied_rnn_seq2seq"] * 2
        if is_tied
        else ["basic_rnn_seq2seq/rnn", "basic_rnn_seq2seq/rnn_decoder"]
    )
    assert len(weights) == 2 * len(set(scopes))
    now = np.zeros((BATCH, UNITS))
    for i in range(4):
        given = 2 * np.pad(now, [(0, 0), (0, 1)]) if is_tied and i == 3 else x[i]
        now, _ = rnn_of(Weights(weights, scopes[i // 2]), given, now)
        if i > 1:
            np.testing.assert_allclose(y[i - 2], now, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h, now, rtol=1e-5, atol=1e-6)


def test_buckets_share_variables():
    seq2seq = tf.contrib.legacy_seq2seq
    with tf.Graph().as_default(), tf.Session() as session:
        steps = [tf.constant(array(BATCH, UNITS, seed=i)) for i in range(4)]
        numbers, weights = [tf.constant([0, 1])] * 4, [tf.ones([BATCH])] * 4
        run = seq2seq.model_with_buckets(
            steps, steps, numbers, weights, [(1, 2), (2, 4)], lambda a, b: seq2seq.basic_rnn_seq2seq(a, b, inner())
        )
        assert [len(one) for one in run[0]] == [2, 4] and len(tf.global_variables()) == 4
        session.run(tf.global_variables_initializer())
        outputs, losses = session.run(run)
    nll = [np.log(np.exp(z).sum(-1)) - z[range(BATCH), [0, 1]] for z in outputs[1]]
    np.testing.assert_allclose(losses[1], np.mean(nll), rtol=1e-5)
