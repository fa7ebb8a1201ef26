"""Recurrent networks: one step of the cells of `contrib.rnn` against NumPy, by hand.

`old/rnn.py` has the cells and loops that TensorFlow still has.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from tests.compat.tensorflow.legacy import _numbers, array
from tests.compat.tensorflow.rnn_by_hand import (
    BATCH,
    SCOPES,
    UNITS,
    attention,
    conv,
    coupled,
    embedding,
    gru,
    highway,
    input_projection,
    intersection,
    layer_norm,
    lstm,
    nas,
    output_projection,
    ugrnn,
)
from tests.conftest import ENGINES

rnn = tf.contrib.rnn


def cell(make: Callable[[], Any], hand: Callable[..., Any], scope: str, variables: str, x: Any = None) -> Any:
    return SimpleNamespace(
        make=make, hand=hand, scope=scope, variables=variables, x=array(BATCH, 4) if x is None else x
    )


def inner() -> Any:
    return rnn.BasicRNNCell(UNITS)


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
