"""One step of each recurrent cell, and loops over steps, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

UNITS, BATCH = 3, 2
SCOPES = ("input", "transform", "forget", "output", "state")  # of normalised gates, and of the cell


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


def by_hand(step: Any, weights: Any, prefix: str, x: Any, state: Any) -> Any:
    own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    outputs = []
    for i in range(x.shape[1]):
        y, state = step(own, x[:, i], *state)
        outputs.append(y)
    return np.stack(outputs, 1)
