"""Recurrent networks: the cells of `contrib.rnn` against NumPy, by hand, and checkpoints.

`old/rnn.py` has the cells and loops that TensorFlow still has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from tests.compat.tensorflow.legacy import _numbers, array, oracle
from tests.conftest import ENGINES
from tests.libraries import require

UNITS, BATCH = 3, 2
rnn = tf.contrib.rnn


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def near(*parts: Any) -> Any:
    return np.concatenate(parts, -1)


def norm(w: Any, x: Any, scope: str) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True)) * w[f"{scope}/gamma"] + w[f"{scope}/beta"]


def gru(w: Any, x: Any, h: Any, names: str = "gates/kernel gates/bias candidate/kernel candidate/bias") -> Any:
    gates, bias, kernel, candidate = (w[name] for name in names.split())
    r, u = np.split(sigmoid(near(x, h) @ gates + bias), 2, -1)
    h = u * h + (1 - u) * np.tanh(near(x, r * h) @ kernel + candidate)
    return h, [h]


def lstm(w: Any, x: Any, c: Any, h: Any, forget: float = 1.0, peephole: bool = False) -> Any:
    i, j, f, o = np.split(near(x, h) @ w["kernel"] + w["bias"], 4, -1)
    wi, wf, wo = (w[f"w_{gate}_diag"] if peephole else 0 for gate in "ifo")
    c = sigmoid(f + forget + wf * c) * c + sigmoid(i + wi * c) * np.tanh(j)
    h = sigmoid(o + wo * c) * np.tanh(c)
    return h, [c, h]


def ugrnn(w: Any, x: Any, h: Any) -> Any:
    g, new = np.split(near(x, h) @ w["kernel"] + w["bias"], 2, -1)
    g = sigmoid(g + 1)
    h = g * h + (1 - g) * np.tanh(new)
    return h, [h]


def intersection(w: Any, x: Any, h: Any) -> Any:
    x = x @ w["in_projection/kernel"] + w["in_projection/bias"]
    gh, new, gy, y = np.split(near(x, h) @ w["kernel"] + w["bias"], 4, -1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    return gy * x + (1 - gy) * relu(y), [gh * h + (1 - gh) * np.tanh(new)]


def nas(w: Any, x: Any, c: Any, h: Any) -> Any:
    a, b = np.split(x @ w["kernel"], 8, -1), np.split(h @ w["recurrent_kernel"] + w["bias"], 8, -1)
    first = np.tanh(np.tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1])) + c)
    c = first * np.tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
    fourth = sigmoid(np.tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    third = np.tanh(np.tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    h = np.tanh(c * np.tanh(third + fourth)) @ w["projection_weights"]
    return h, [c, h]


def layer_norm(w: Any, x: Any, c: Any, h: Any) -> Any:
    parts = np.split(near(x, h) @ w["kernel"], 4, -1)
    i, j, f, o = (norm(w, *pair) for pair in zip(parts, SCOPES[:4], strict=True))
    c = norm(w, sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), "state")
    h = sigmoid(o) * np.tanh(c)
    return h, [c, h]


def coupled(w: Any, x: Any, c: Any, h: Any) -> Any:
    j, f, o = np.split(near(x, h) @ w["W_0"] + w["B"], 3, -1)
    f = sigmoid(f + 1 + w["W_F_diag"] * c)
    c = f * c + (1 - f) * np.tanh(j)
    h = np.clip((sigmoid(o + w["W_O_diag"] * c) * np.tanh(c)) @ w["W_P_0"], -0.05, 0.05)
    return h, [c, h]


def conv(w: Any, x: Any, c: Any, h: Any) -> Any:
    z = near(x, h)
    padded = np.pad(z, [(0, 0), (1, 1), (0, 0)])
    z = sum(padded[:, k : k + z.shape[1]] @ w["kernel"][k] for k in range(3)) + w["biases"]
    i, j, f, o = np.split(z, 4, -1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    h = sigmoid(o) * np.tanh(c)
    return near(h, x), [c, h]


def highway(w: Any, x: Any, h: Any) -> Any:
    carry = sigmoid(x @ w["carry_w"] + w["carry_b"])
    transform = sigmoid(x @ w["transform_w"] + w["transform_b"])
    h, _ = rnn_of(w, x, h)
    return carry * x + transform * h, [h]


def rnn_of(w: Any, x: Any, h: Any) -> Any:
    h = np.tanh(near(x, h) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    return h, [h]


def embedding(w: Any, x: Any, h: Any) -> Any:
    return rnn_of(w, w["embedding"][x], h)


def input_projection(w: Any, x: Any, h: Any) -> Any:
    return rnn_of(w, relu(x @ w["kernel"] + w["bias"]), h)


def output_projection(w: Any, x: Any, h: Any) -> Any:
    y, after = rnn_of(w, x, h)
    return y @ w["kernel"] + w["bias"], after


def attention(w: Any, x: Any, h: Any, before: Any, outputs: Any) -> Any:
    outputs = outputs.reshape(BATCH, 4, UNITS)
    x = near(x, before) @ w["kernel"] + w["bias"]
    y, (h,) = rnn_of(w, x, h)
    query = h @ w["attention/kernel"] + w["attention/bias"]
    scores = (w["attention/attn_v"] * np.tanh(outputs @ w["attention/attn_w"][0, 0] + query[:, None])).sum(-1)
    scores = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    after = (scores[..., None] * outputs).sum(1)
    y = near(y, after) @ w["attn_output_projection/kernel"] + w["attn_output_projection/bias"]
    return y, [h, after, near(outputs[:, 1:].reshape(BATCH, -1), y)]


def cell(make: Callable[[], Any], hand: Callable[..., Any], scope: str, variables: str, x: Any = None) -> Any:
    return SimpleNamespace(
        make=make, hand=hand, scope=scope, variables=variables, x=array(BATCH, 4) if x is None else x
    )


def inner() -> Any:
    return rnn.BasicRNNCell(UNITS)


SCOPES = ("input", "transform", "forget", "output", "state")
INNER = "basic_rnn_cell/kernel basic_rnn_cell/bias"
GATES = "gates/kernel gates/bias candidate/kernel candidate/bias"
OF_BLOCK = "w_ru b_ru w_c b_c"
CASES = {
    "LSTMBlockCell": cell(
        lambda: rnn.LSTMBlockCell(UNITS, use_peephole=True),
        lambda *given: lstm(*given, peephole=True),
        "lstm_cell",
        "kernel bias w_i_diag w_f_diag w_o_diag",
    ),
    "CudnnCompatibleLSTMCell": cell(
        lambda: tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(UNITS),
        lambda *given: lstm(*given, forget=0.0),
        "cudnn_compatible_lstm_cell",
        "kernel bias",
    ),
    "GRUBlockCell": cell(lambda: rnn.GRUBlockCell(UNITS), lambda *given: gru(*given, OF_BLOCK), "gru_cell", OF_BLOCK),
    "GRUBlockCellV2": cell(lambda: rnn.GRUBlockCellV2(cell_size=UNITS), gru, "gru_cell", GATES),
    "UGRNNCell": cell(lambda: rnn.UGRNNCell(UNITS), ugrnn, "ugrnn_cell", "kernel bias"),
    "IntersectionRNNCell": cell(
        lambda: rnn.IntersectionRNNCell(UNITS, num_in_proj=UNITS),
        intersection,
        "intersection_rnn_cell",
        "in_projection/kernel in_projection/bias kernel bias",
    ),
    "NASCell": cell(
        lambda: rnn.NASCell(UNITS, num_proj=2, use_bias=True),
        nas,
        "nas_cell",
        "recurrent_kernel kernel bias projection_weights",
    ),
    "LayerNormBasicLSTMCell": cell(
        lambda: rnn.LayerNormBasicLSTMCell(UNITS),
        layer_norm,
        "layer_norm_basic_lstm_cell",
        "kernel " + " ".join(f"{gate}/{one}" for gate in SCOPES for one in ("gamma", "beta")),
    ),
    "CoupledInputForgetGateLSTMCell": cell(
        lambda: rnn.CoupledInputForgetGateLSTMCell(UNITS, use_peepholes=True, num_proj=2, proj_clip=0.05),
        coupled,
        "coupled_input_forget_gate_lstm_cell",
        "W_0 B W_F_diag W_O_diag W_P_0",
    ),
    "Conv1DLSTMCell": cell(
        lambda: rnn.Conv1DLSTMCell(input_shape=[5, 2], output_channels=UNITS, kernel_shape=[3], skip_connection=True),
        conv,
        "conv_1d_lstm_cell",
        "kernel biases",
        array(BATCH, 5, 2),
    ),
    "HighwayWrapper": cell(
        lambda: rnn.HighwayWrapper(inner(), couple_carry_transform_gates=False),
        highway,
        "",
        f"{INNER} carry_w carry_b transform_w transform_b",
        array(BATCH, UNITS),
    ),
    "EmbeddingWrapper": cell(
        lambda: rnn.EmbeddingWrapper(inner(), 7, 4),
        embedding,
        "embedding_wrapper",
        f"embedding {INNER}",
        np.array([3, 6]),
    ),
    "InputProjectionWrapper": cell(
        lambda: rnn.InputProjectionWrapper(inner(), 2, tf.nn.relu),
        input_projection,
        "input_projection_wrapper",
        f"kernel bias {INNER}",
    ),
    "OutputProjectionWrapper": cell(
        lambda: rnn.OutputProjectionWrapper(inner(), 2),
        output_projection,
        "output_projection_wrapper",
        f"{INNER} kernel bias",
    ),
    "AttentionCellWrapper": cell(
        lambda: rnn.AttentionCellWrapper(inner(), 4),
        attention,
        "attention_cell_wrapper",
        f"kernel bias {INNER} attention/attn_w attention/attn_v attention/kernel attention/bias "
        "attn_output_projection/kernel attn_output_projection/bias",
    ),
}


@pytest.mark.parametrize("engine", ENGINES[:1], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_one_step_is_that_of_numpy(engine, name):
    case = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        made = case.make()
        zeros = made.zero_state(BATCH, tf.float32)
        states = [array(BATCH, *zero.shape[1:], seed=i) for i, zero in enumerate(tf.nest.flatten(zeros))]
        found = made(tf.constant(case.x), tf.nest.pack_sequence_as(zeros, list(map(tf.constant, states))))
        prefix = f"{case.scope}/" if case.scope else ""
        assert [v.op.name for v in tf.global_variables()] == [f"{prefix}{one}" for one in case.variables.split()]
        session.run(tf.global_variables_initializer())
        weights = {v.op.name.removeprefix(prefix): _numbers(v.name, session.run(v)) for v in tf.global_variables()}
        for v in tf.global_variables():
            v.load(weights[v.op.name.removeprefix(prefix)], session)
        y, after = case.hand(weights, case.x, *states)
        tf.nest.assert_same_structure(found[1], zeros)
        for mine, wanted in zip(tf.nest.flatten(session.run(found)), (y, *after), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
        assert list(found[0].shape[1:]) == list(np.atleast_1d(made.output_size))


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


def by_hand(step: Any, weights: Any, prefix: str, x: Any, state: Any) -> Any:
    own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    outputs = []
    for i in range(x.shape[1]):
        y, state = step(own, x[:, i], *state)
        outputs.append(y)
    return np.stack(outputs, 1)


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


# -- dropout and checkpoints ------------------------------------------------------------------------------------------


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


def network(tf: Any) -> Any:
    cells = [tf.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True), tf.nn.rnn_cell.GRUCell(2)]
    stack = tf.nn.rnn_cell.MultiRNNCell(cells)
    return tf.nn.dynamic_rnn(stack, tf.constant(array(BATCH, 5, 4)), dtype=tf.float32, scope="net")[0]


def exchange(tf: Any, first: str, folder: str) -> list[Any]:
    """The outputs with the values of a checkpoint, and with others, which are saved."""
    with tf.Graph().as_default(), tf.Session() as session:
        y, saver = network(tf), tf.train.Saver()
        saver.restore(session, os.path.join(folder, first))
        found = [session.run(y).tolist()]
        for v in tf.global_variables():
            v.load(2 * session.run(v), session)
        saver.save(session, os.path.join(folder, f"after-{first}"), write_meta_graph=False)
        return [*found, session.run(y).tolist()]


def test_checkpoints_go_to_tensorflow_and_come_back(tmp_path):
    for library in ("tensorflow", "tf_keras", "tf_slim"):
        require(library, "the oracle")
    with tf.Graph().as_default(), tf.Session() as session:
        y = network(tf)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "ours"), write_meta_graph=False)
        ours = session.run(y)
    settings = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", __name__, str(tmp_path)]
    ran = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    theirs = json.loads(ran.stdout.splitlines()[-1])
    np.testing.assert_allclose(theirs[0], ours, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exchange(tf, "after-ours", str(tmp_path))[0], theirs[1], rtol=1e-5, atol=1e-6)


def test_names_of_variables_before_1_2_restore(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        network(tf)
        session.run(tf.global_variables_initializer())
        wanted = session.run(tf.global_variables())
        old = {v.op.name.replace("kernel", "weights").replace("bias", "biases"): v for v in tf.global_variables()}
        path = tf.train.Saver(old).save(session, str(tmp_path / "old"), write_meta_graph=False)
        session.run([v.assign(0 * v) for v in tf.global_variables()])
        tf.train.Saver().restore(session, path)
        for mine, right in zip(session.run(tf.global_variables()), wanted, strict=True):
            np.testing.assert_array_equal(mine, right)


if __name__ == "__main__":
    print("\n" + json.dumps(exchange(oracle(), "ours", sys.argv[1])))
