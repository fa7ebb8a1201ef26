"""A check of `keras.layers.FlaxLayer`, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  # must be first: it makes Keras run on Dovetail

# isort: split
import flax.linen as nn
import jax
import keras
import numpy as np

import dovetail as dt
from tests.keras_backends import main


class Perceptron(nn.Module):
    """A module with parameters, state, and elements that are dropped in training."""

    @nn.compact
    def __call__(self, inputs, training):
        x = nn.BatchNorm(use_running_average=not training)(nn.Dense(8)(inputs))
        return nn.Dense(1)(nn.Dropout(0.2, deterministic=not training)(nn.relu(x)))


def check_a_module_trains():
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    for engine in ("jax", "auto"):
        with dt.engine(engine):
            layer = keras.layers.FlaxLayer(Perceptron())
            model = keras.Sequential([keras.Input((4,)), layer])
            model.compile(keras.optimizers.Adam(0.03), "mse")
            losses = model.fit(x, x[:, :1], batch_size=16, epochs=20, verbose=0).history["loss"]
            assert losses[-1] < 0.5 * losses[0] and len(layer.trainable_weights) == 6
            values = jax.tree_util.tree_map(lambda variable: variable.numpy(), {**layer.params, **layer.state})
            assert np.abs(values["batch_stats"]["BatchNorm_0"]["mean"]).max() > 0
            wanted = Perceptron().apply(values, x, False)
            np.testing.assert_allclose(model.predict(x, verbose=0), wanted, rtol=1e-4, atol=1e-5)


main(globals())
