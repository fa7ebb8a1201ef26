"""Random numbers that a layer of Keras, and a functional model, draw by K: new ones in each call."""

from __future__ import annotations

import keras
import numpy as np

from dovetail import backend as K
from tests.keras_backends import tell


class Noise(keras.layers.Layer):
    def __init__(self, seed, **options):
        super().__init__(**options)
        self.seed = seed

    def call(self, x):
        return K.dropout(x, 0.5, seed=self.seed) + K.random_normal((2, 3), seed=self.seed)


def predicted(model: keras.Model, x: np.ndarray) -> list[list[list[float]]]:
    """The predictions of a model in three calls, after a step of training."""
    model.compile("sgd", "mse")
    model.fit(x, x, verbose=0)
    return [(np.asarray(model.predict(x, verbose=0)) + 0.0).round(3).tolist() for _ in range(3)]


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002  # of which K draws seeds that are not given
    x = np.ones((2, 3), "float32")
    layer = keras.Sequential([keras.Input(batch_shape=(2, 3)), Noise(keras.random.SeedGenerator(7))])
    given = keras.Input(batch_shape=(2, 3))
    functional = keras.Model(given, K.dropout(given, 0.5) + K.random_normal(K.shape(given), seed=5))
    tell([predicted(layer, x), predicted(functional, x)])
