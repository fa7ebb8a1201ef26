"""A small convolutional net, with an activation, a loss and a gradient clipping of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.cli.demo.data import CLASSES


class Classifier:
    """Two convolutions, each with a learnable activation, then pooling and a dense layer.

    Attributes:
        parameters: the trainable variables, by name.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.parameters: dict[str, dt.Variable] = {}
        self._add("conv_1/kernel", _he_normal(rng, 3, 3, 1, 16))
        self._add("conv_1/bias", np.zeros(16))
        self._add("conv_1/alpha", np.zeros(()))
        self._add("conv_2/kernel", _he_normal(rng, 3, 3, 16, 32))
        self._add("conv_2/bias", np.zeros(32))
        self._add("conv_2/alpha", np.zeros(()))
        self._add("dense/kernel", _he_normal(rng, 2 * 2 * 32, CLASSES))
        self._add("dense/bias", np.zeros(CLASSES))

    def _add(self, name: str, value: np.ndarray) -> None:
        self.parameters[name] = dt.Variable(value.astype(np.float32), name=name)

    def __call__(self, images: Any) -> Any:
        """Logits of shape (number, CLASSES) for images of shape (number, 8, 8, 1)."""
        x = self._convolution("conv_1", images)
        x = self._convolution("conv_2", x)
        return (
            ops.matmul(ops.reshape(x, (-1, 2 * 2 * 32)), self.parameters["dense/kernel"])
            + self.parameters["dense/bias"]
        )

    def _convolution(self, name: str, x: Any) -> Any:
        kernel, bias, alpha = (self.parameters[f"{name}/{part}"] for part in ("kernel", "bias", "alpha"))
        x = activation(ops.conv(x, kernel, padding="same") + bias, alpha)
        return ops.max_pool(x, 2)


def activation(x: Any, alpha: Any) -> Any:
    """relu(x) + alpha · sigmoid(x), with a learnable alpha: how soft the corner at 0 is."""
    return ops.relu(x) + alpha * ops.sigmoid(x)


def smoothed_cross_entropy(labels: Any, logits: Any, smoothing: float = 0.1) -> Any:
    """Mean cross-entropy against labels that leave a little probability to every class.

    Source: Szegedy et al. 2015, "Rethinking the Inception Architecture", section 7.
    """
    targets = ops.one_hot(labels, CLASSES) * (1 - smoothing) + smoothing / CLASSES
    return -ops.mean(ops.sum(targets * ops.log_softmax(logits), axis=-1))


def clip_by_global_norm(gradients: Sequence[Any], limit: float) -> list[Any]:
    """The gradients, scaled down together where their common norm is above the limit.

    Source: Pascanu et al. 2013, "On the difficulty of training recurrent neural networks", algorithm 1.
    """
    norm = ops.sqrt(sum(ops.sum(ops.square(g)) for g in gradients))
    return [g * (limit / ops.maximum(norm, limit)) for g in gradients]


def accuracy(labels: Any, logits: Any) -> Any:
    """The fraction of images whose largest logit is that of their label."""
    return ops.mean(ops.cast(ops.equal(ops.argmax(logits, axis=-1), labels), "float32"))


def _he_normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal numbers whose variance keeps that of the signal behind a relu (He et al. 2015)."""
    return rng.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape)
