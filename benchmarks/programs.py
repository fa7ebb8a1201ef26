"""The models whose training steps are measured: their parameters, batches and losses in Dovetail's ops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import ops


@dataclass
class Program:
    """A model with a batch to train on.

    Attributes:
        shapes: of the parameters.
        inputs: the shape of the inputs, batch first.
        classes: how many there are; targets are one-hot.
        loss: (parameters, inputs, targets) → scalar.
        rate: the learning rate of plain gradient descent.
    """

    shapes: list[tuple[int, ...]]
    inputs: tuple[int, ...]
    classes: int
    loss: Callable[..., Any]
    rate: float = 0.01

    def parameters(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [(rng.normal(size=s) / np.sqrt(max(1, np.prod(s[:-1])))).astype("float32") for s in self.shapes]

    def batch(self) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        targets = np.eye(self.classes, dtype="float32")[rng.integers(0, self.classes, self.inputs[0])]
        return [rng.normal(size=self.inputs).astype("float32"), targets]


def cross_entropy(logits: Any, targets: Any) -> Any:
    return -ops.mean(ops.sum(targets * ops.log_softmax(logits), axis=-1))


def mlp(parameters: Any, x: Any, y: Any) -> Any:
    *hidden, (w, b) = zip(parameters[::2], parameters[1::2], strict=True)
    for weights, bias in hidden:
        x = ops.relu(ops.matmul(x, weights) + bias)
    return cross_entropy(ops.matmul(x, w) + b, y)


def cnn(parameters: Any, x: Any, y: Any) -> Any:
    k1, b1, k2, b2, w, b = parameters
    x = ops.max_pool(ops.relu(ops.conv(x, k1, padding="same") + b1), 2)
    x = ops.max_pool(ops.relu(ops.conv(x, k2, padding="same") + b2), 2)
    return cross_entropy(ops.matmul(ops.reshape(x, (x.shape[0], -1)), w) + b, y)


def lstm(parameters: Any, x: Any, y: Any) -> Any:
    wx, wh, b, w, c = parameters
    units = wh.shape[0]
    projected = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), wx) + b
    steps = ops.transpose(ops.reshape(projected, (*x.shape[:2], 4 * units)), (1, 0, 2))

    def cell(state: Any, row: Any) -> Any:
        hidden, memory = state
        i, f, o, g = ops.split(row + ops.matmul(hidden, wh), 4, axis=-1)
        memory = ops.sigmoid(f) * memory + ops.sigmoid(i) * ops.tanh(g)
        return (ops.sigmoid(o) * ops.tanh(memory), memory), None

    zeros = ops.zeros((x.shape[0], units))
    (hidden, _), _ = ops.scan(cell, (zeros, zeros), steps)
    return cross_entropy(ops.matmul(hidden, w) + c, y)


def dense(*sizes: int) -> list[tuple[int, ...]]:
    return [shape for a, b in itertools.pairwise(sizes) for shape in ((a, b), (b,))]


PROGRAMS = {
    "tiny": Program(dense(4, 8, 3), (4, 4), 3, mlp),
    "mlp": Program(dense(784, 512, 512, 10), (128, 784), 10, mlp),
    "cnn": Program([(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (3136, 10), (10,)], (64, 28, 28, 1), 10, cnn),
    "lstm": Program([(64, 512), (128, 512), (512,), (128, 10), (10,)], (32, 50, 64), 10, lstm),
}
