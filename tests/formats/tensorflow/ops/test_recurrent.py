"""cuDNN's layers, which TensorFlow runs on GPUs only, against their equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.tensorflow.calling import called
from tests.formats.tensorflow.cases import array, case
from tests.libraries import require

require("tensorflow", "it writes the node")
TIMES, BATCH, INPUTS, UNITS = 5, 2, 3, 4
GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(mode: str, of_x: list[np.ndarray], of_h: list[np.ndarray], h: Any, c: Any) -> tuple[Any, Any]:
    """The next states, from the sums of each gate."""
    if mode == "lstm":
        i, f, new, o = (x + y for x, y in zip(of_x, of_h, strict=True))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        return sigmoid(o) * np.tanh(c), c
    if mode == "gru":
        r, z = (sigmoid(x + y) for x, y in zip(of_x[:2], of_h[:2], strict=True))
        return (1 - z) * np.tanh(of_x[2] + r * of_h[2]) + z * h, c
    return (np.tanh if mode == "rnn_tanh" else lambda x: np.maximum(x, 0))(of_x[0] + of_h[0]), c


def expected(mode: str, x: Any, h0: Any, c0: Any, parts: Any, directions: int, lengths: Any) -> tuple[Any, Any, Any]:
    """Results and last states, a sequence and a step at a time."""
    last_h, last_c = np.zeros_like(h0), np.zeros_like(c0)
    for first in range(0, len(h0), directions):
        y = np.zeros((TIMES, BATCH, UNITS * directions), "float32")
        for number in range(first, first + directions):
            (w, u), (b, d) = parts[number]
            for sample, length in enumerate(lengths):
                h, c = h0[number, sample], c0[number, sample]
                for time in range(length) if number == first else reversed(range(length)):
                    of_x = [wi @ x[time, sample] + bi for wi, bi in zip(w, b, strict=True)]
                    h, c = step(mode, of_x, [ui @ h + di for ui, di in zip(u, d, strict=True)], h, c)
                    y[time, sample, UNITS * (number - first) : UNITS * (number - first + 1)] = h
                last_h[number, sample], last_c[number, sample] = h, c
        x = y
    return x, last_h, last_c


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("directions", [1, 2])
def test_a_layer_computes_its_equations(mode: str, directions: int):
    layers, gates = 2 * directions, GATES[mode]
    widths = [INPUTS if number < directions else UNITS * directions for number in range(layers)]
    matrices = [[array(gates, UNITS, width), array(gates, UNITS, UNITS) / 2] for width in widths]
    biases = [[array(gates, UNITS) + number, array(gates, UNITS) / 3] for number in range(layers)]
    params = np.concatenate([one.ravel() for pair in (*matrices, *biases) for one in pair])
    x, h, c = array(TIMES, BATCH, INPUTS), array(layers, BATCH, UNITS), array(layers, BATCH, UNITS) / 2
    lengths = np.array([5, 3], "int32")
    how = {"rnn_mode": mode, "direction": "unidirectional" if directions == 1 else "bidirectional"}
    wanted = expected(mode, x, h, c, list(zip(matrices, biases, strict=True)), directions, lengths)
    turned = [one.transpose(1, 0, 2) for one in (x, h, c)]
    found = run(case("CudnnRNNV3", *turned, params, lengths, time_major=False, **how))
    compare([one.transpose(1, 0, 2) for one in found], wanted, mode)
    wanted = expected(mode, x, h, c, list(zip(matrices, biases, strict=True)), directions, [TIMES] * BATCH)
    for type in ("CudnnRNN", "CudnnRNNV2"):
        compare(run(case(type, x, h, c, params, **how)), wanted, mode)


def run(value: Any) -> list[np.ndarray]:
    call = called(value)
    made = call.read()
    assert made.opaque == {}
    with dt.engine("numpy"):
        found = dt.function(made.graph)(*call.values)
    return [y.numpy() for y in found[: 3 if value.attrs["rnn_mode"] == "lstm" else 2]]


def compare(found: Any, wanted: Any, mode: str) -> None:
    for ours, theirs in zip(found, wanted[: 3 if mode == "lstm" else 2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
