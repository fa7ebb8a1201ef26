"""The model of Keras that a release writes, on the backend of Keras that runs: run with the path of its file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from tests.keras_backends import main

MODELS = Path(__file__).parents[1] / "keras" / "models"
X = np.linspace(-1.0, 1.5, 6, dtype="float32").reshape(2, 3)


def write():
    """Write a functional model with each kind of operation and layer that Dovetail has for them."""
    keras.utils.set_random_seed(0)
    x = keras.Input((3,), name="x")
    dense = keras.layers.Dense(3, activation="tanh", name="dense")
    scale = keras.Variable(np.float32([1.0, 2.0, 3.0]), name="scale")
    shift = dt.Variable([0.5, 0.0, -0.5], name="shift", trainable=False)
    y = ops.add(ops.multiply(ops.multiply(dense(x), scale), ops.constant([1.0, 2.0, 1.0])), shift)
    _, last = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.tanh(v) + y), (0, y))
    total, sums = ops.scan(lambda carry, row: (carry + row, ops.sum(carry)), ops.zeros((3,)), last)
    either = ops.cond(ops.sum(y) > 100.0, lambda: dense(y), lambda: y * 2.0)
    halves = ops.stack(ops.unstack(either, axis=-1)[:2], -1)
    slope = K.gradients(K.sum(K.square(halves)), x)[0]  # through the branch; jax has none through such a loop
    phase = K.in_train_phase(lambda: y + K.random_uniform(K.shape(y)), lambda: K.batch_flatten(y))
    keras.Model(x, [last, total, sums, halves, slope, phase]).save(sys.argv[1])


def results():
    """The results of the model of the file."""
    return computed(keras.saving.load_model(sys.argv[1]), X)


def computed(model, given):
    return [keras.ops.convert_to_numpy(value) for value in model(given, training=False)]


# -- Keras 2 ----------------------------------------------------------------------------------------------------------

GIVEN = [np.linspace(-1, 1, 8, dtype="float32").reshape(1, 4, 2), np.load(MODELS / "slices.npz")["x0"]]


def of_keras2():
    """A scope in which Keras has the layers of Keras 2."""
    from dovetail.compat import keras2

    keras2.uninstall()  # the import gives its names to the whole process
    return keras2.installed()


def write_old():
    """Write a model of layers that Keras 2 had, and of TensorFlow's functions as layers; return its results."""
    keras.utils.set_random_seed(0)
    with of_keras2():
        x = keras.Input((4, 2), name="x")
        y = keras.layers.Flatten()(keras.layers.LocallyConnected1D(2, 2)(x))
        y = keras.layers.ThresholdedReLU(0.1)(keras.layers.Highway()(keras.layers.MaxoutDense(3)(y)))
    slices = keras.models.load_model(MODELS / "slices.h5", compile=False)
    model = keras.Model([x, slices.input], [y, slices.output])
    model.save(sys.argv[1])
    return computed(model, GIVEN)


def results_of_old():
    """The results of the model of the file."""
    with of_keras2():
        return computed(keras.saving.load_model(sys.argv[1]), GIVEN)


if __name__ == "__main__":
    main({each.__name__: each for each in (write, results, write_old, results_of_old)})
