"""Sample calls of `keras.src.backend.numpy.rnn.rnn`."""

from __future__ import annotations

from typing import Any

from tests.keras_dovetail.ops.calls import Call, bools, floats

X, START, MASK = floats(2, 4, 3), floats(2, 3), bools(2, 4)
MASK[:, 0] = True  # Keras' backends differ in the output before the first step: zeros here, as on tensorflow


def step(x: Any, states: Any) -> Any:
    total = x * 0.5 + states[0]
    return total, [total]


def two_states(x: Any, states: Any) -> Any:
    return states[1] + x, [states[0] * 0.5, states[1] + x]


def with_constant(x: Any, states: Any) -> Any:
    total = x * states[1] + states[0]
    return total, [total]


CALLS = [
    Call("rnn", "rnn", (step, X, [START]), options)
    for options in (
        {},
        {"go_backwards": True},
        {"mask": MASK},
        {"mask": MASK, "zero_output_for_mask": True},
        {"unroll": True},
        {"unroll": True, "mask": MASK},
    )
]
CALLS += [
    Call("rnn", "rnn", (step, X.transpose(1, 0, 2).copy(), [START]), {"time_major": True}),
    Call("rnn", "rnn", (two_states, X, [START, START + 1]), {}),
    Call("rnn", "rnn", (with_constant, X, [START]), {"constants": [START + 2], "unroll": True}),
    Call("rnn", "cudnn_ok", (1, 2), {}),
]
