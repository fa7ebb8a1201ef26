"""A small convolutional net, with an activation, a loss and a gradient clipping of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.cli.demo.data import CLASSES

FEATURES = 4 * 4 * 32  # what the second convolution leaves of an image


class Classifier:
    """A convolution, a pooling, another convolution and a dense layer, with a learnable activation.

    Nothing in it has a corner (no relu, no maximum): there, the last bit of a float32 can decide between two gradients,
    and engines that round differently would drift apart.

    Attributes:
        parameters: the trainable variables, by name.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        values = {
            "conv_1/kernel": _he_normal(rng, 3, 3, 1, 16),
            "conv_1/bias": np.zeros(16),
            "conv_1/alpha": np.zeros(()),
            "conv_2/kernel": _he_normal(rng, 3, 3, 16, 32),
            "conv_2/bias": np.zeros(32),
            "conv_2/alpha": np.zeros(()),
            "dense/kernel": _he_normal(rng, FEATURES, CLASSES),
            "dense/bias": np.zeros(CLASSES),
        }
        self.parameters = {name: dt.Variable(value, dtype="float32", name=name) for name, value in values.items()}

    def __call__(self, images: Any) -> Any:
        """Logits of shape (number, CLASSES) for images of shape (number, 8, 8, 1)."""
        x = ops.average_pool(self._convolution("conv_1", images), 2)
        x = ops.reshape(self._convolution("conv_2", x), (-1, FEATURES))
        return x @ self.parameters["dense/kernel"] + self.parameters["dense/bias"]

    def _convolution(self, name: str, x: Any) -> Any:
        kernel, bias, alpha = (self.parameters[f"{name}/{part}"] for part in ("kernel", "bias", "alpha"))
        return activation(ops.conv(x, kernel, padding="same") + bias, alpha)


def activation(x: Any, alpha: Any) -> Any:
    """(x + alpha) · sigmoid(x): a smooth relu, and a sigmoid of a height that is learned."""
    return (x + alpha) * ops.sigmoid(x)


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
