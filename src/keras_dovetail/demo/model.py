"""A small convolutional net of Keras, with a layer, a loss and a metric of its own, written in K.

Nothing in it has a corner (no relu, no maximum): there, the last bit of a float32 can decide between two gradients, and
engines that round differently would drift apart.
"""

from __future__ import annotations

from typing import Any

import keras

from dovetail import backend as K
from keras_dovetail.demo.data import CLASSES

registered = keras.saving.register_keras_serializable("dovetail.demo")


@registered
class SmoothConvolution(keras.layers.Layer):
    """A convolution with an activation (x + alpha) · sigmoid(x): a smooth relu, and a sigmoid whose height is learned.

    Args:
        filters: the number of filters.
        size: the size of each, in both directions.
    """

    def __init__(self, filters: int, size: int = 3, **options: Any) -> None:
        super().__init__(**options)
        self.filters, self.size = filters, size

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (self.size, self.size, input_shape[-1], self.filters)
        self.kernel = self.add_weight(shape=shape, initializer="he_normal", name="kernel")
        self.bias = self.add_weight(shape=(self.filters,), initializer="zeros", name="bias")
        self.alpha = self.add_weight(shape=(), initializer="zeros", name="alpha")

    def call(self, x: Any) -> Any:
        y = K.bias_add(K.conv2d(x, self.kernel, padding="same"), self.bias)
        return (y + self.alpha) * K.sigmoid(y)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "filters": self.filters, "size": self.size}


@registered
def smoothed_cross_entropy(labels: Any, logits: Any) -> Any:
    """Cross-entropy against labels that leave a tenth of the probability to all classes.

    Source: Szegedy et al. 2015, "Rethinking the Inception Architecture", section 7.
    """
    targets = 0.9 * _one_hot(labels) + 0.1 / CLASSES
    return K.logsumexp(logits, axis=-1) - K.sum(targets * logits, axis=-1)


@registered
class WorstDigit(keras.metrics.Metric):
    """The smallest share, over the digits, of images that are read correctly."""

    def __init__(self, name: str = "worst_digit", **options: Any) -> None:
        super().__init__(name=name, **options)
        self.right = self.add_weight(shape=(CLASSES,), initializer="zeros", name="right")
        self.seen = self.add_weight(shape=(CLASSES,), initializer="zeros", name="seen")

    def update_state(self, labels: Any, logits: Any, sample_weight: Any = None) -> None:
        expected = _one_hot(labels)
        if sample_weight is not None:
            expected = expected * K.reshape(sample_weight, (-1, 1))
        predicted = _one_hot(K.argmax(logits))
        K.update_add(self.right, K.sum(expected * predicted, axis=0))
        K.update_add(self.seen, K.sum(expected, axis=0))

    def result(self) -> Any:
        return K.min((self.right + K.epsilon()) / (self.seen + K.epsilon()))


def _one_hot(labels: Any) -> Any:
    return K.one_hot(K.cast(K.flatten(labels), "int32"), CLASSES)


def build() -> keras.Model:
    """A net of logits of shape (number, CLASSES) for images of shape (number, 8, 8, 1)."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            SmoothConvolution(16),
            keras.layers.AveragePooling2D(2),
            SmoothConvolution(32),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES, kernel_initializer="he_normal"),
        ]
    )
