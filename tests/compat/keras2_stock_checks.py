"""Checks of Keras 2's names where Keras 3 runs on one of its own backends."""

from __future__ import annotations

import warnings

import dovetail.compat.keras2  # noqa: F401  first: it gives Keras these names

# isort: split
import keras
import numpy as np
import pytest
from keras import layers

from tests.keras_backends import main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(6, 3)).astype("float32"), np.ones((6, 1), "float32")


def check_trainable_counts_as_when_a_model_was_compiled():
    judge = keras.Sequential([layers.Dense(np.prod((2, 2)), activation="tanh", input_shape=(3,)), layers.Dense(1)])
    judge.compile(keras.optimizers.SGD(lr=0.1), "mse")
    judge.trainable = False
    maker, noise = keras.Sequential([layers.Dense(3, input_shape=(3,))]), keras.Input((3,))
    joined = keras.Model(noise, judge(maker(noise)))
    joined.compile("sgd", "mse")
    before = judge.get_weights()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge.train_on_batch(X, Y)
    after, made = judge.get_weights(), maker.get_weights()
    joined.train_on_batch(X, Y)
    assert not any(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    assert all(np.array_equal(*pair) for pair in zip(after, judge.get_weights(), strict=True))
    assert not np.array_equal(made[0], maker.get_weights()[0])


def check_each_output_has_the_metrics():
    x = keras.Input((3,))
    outputs = layers.Dense(1, activation="sigmoid", name="a")(x), layers.Dense(1, name="b")(x)
    model = keras.Model(x, list(outputs))
    model.compile("sgd", ["binary_crossentropy", "mse"], metrics=["accuracy"])
    assert len(model.train_on_batch(X, [Y, Y])) == 5
    assert model.metrics_names == ["loss", "a_loss", "b_loss", "a_acc", "b_acc"]


def check_weights_of_k_are_refused():
    class Listed(layers.Layer):
        def build(self, shape):
            self._trainable_weights.append(keras.backend.variable(1.0))

    with pytest.raises(TypeError, match=r"cannot be a weight where Keras runs on .*self.add_weight"):
        Listed().build((3,))


if __name__ == "__main__":
    main(globals())
