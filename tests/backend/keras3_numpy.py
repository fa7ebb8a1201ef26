"""K in a stock Keras 3 on its NumPy backend, which runs models but does not train them."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from tests.backend.keras3_training import (
    check_what_is_written_to_a_result_leaves_the_weight_a16 as check_what_is_written_to_a_result_leaves_the_weight_a16,
)
from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")


class Many(keras.layers.Layer):
    """A layer that uses all parts of K: ops, operators, variables, loops, branches, the phase, random numbers."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 2), initializer="ones", name="kernel")

    def call(self, x):
        y = K.relu(K.dot(x, self.kernel)) * K.constant(2.0) + K.variable(1.0)
        y = K.map_fn(lambda row: row * 0.5, y)
        y = K.switch(K.sum(y) > -1e9, lambda: y, lambda: y * 2)
        last, steps, _ = K.rnn(lambda i, s: (i + s[0], [i + s[0]]), K.expand_dims(y), [K.zeros_like(y[:, :1])])
        assert all(isinstance(found, np.ndarray) for found in (y, last, steps))
        y = K.concatenate([y, last, *ops.unstack(steps, axis=1)])
        return K.in_train_phase(lambda: K.dropout(y, 0.5), lambda: y)


def check_arrays_in_a_layer_give_arrays():
    half = np.maximum(X.sum(-1, keepdims=True), 0) + 0.5
    wanted = np.concatenate([half, half, 2 * half, half, 2 * half], -1)
    made = [Many(), keras.Sequential([Many()]), keras.Sequential([keras.Input((3,)), Many()])]
    for model in made:
        found = model(X)
        assert isinstance(found, np.ndarray) and found.dtype == "float32"
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(made[1].predict(X, verbose=0), wanted, rtol=1e-5)
    assert (made[1](X, training=True) == 0).any()


def check_losses_and_metrics():
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(loss=lambda y_true, y_pred: K.mean(K.square(y_pred), axis=-1), metrics=[lambda t, p: K.max(p)])
    found = model.evaluate(X, X[:, :1], verbose=0)
    np.testing.assert_allclose(found, [np.square(X.sum(-1)).mean(), X.sum(-1).max()], rtol=1e-5)


def check_outside_of_layers_arrays_are_numbers():
    assert isinstance(K.dot(X, X.T), dt.Tensor) and K.backend() == "numpy"
    x = ops.convert(X)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(x * X)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), X)


def check_gradients_say_that_there_are_none():
    x = keras.Input((3,))
    model = keras.Model(x, K.gradients(K.sum(keras.layers.Dense(2)(x)), x)[0])
    with pytest.raises(NotImplementedError, match="numpy does not differentiate; use jax, torch or tensorflow"):
        model(X)


if __name__ == "__main__":
    main(globals())
