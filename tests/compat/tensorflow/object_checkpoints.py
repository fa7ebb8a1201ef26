"""Training that goes on from a checkpoint of objects: models and optimizers of Keras, on TensorFlow or on Dovetail.

Arguments: a folder; whether to "write" or to "read"; the Keras whose optimizers train.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import numpy as np

from tests.keras_backends import main

W, B = np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3)
X, Y = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4), np.full((2, 3), 0.3, "float32")
OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "Nadam": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "Ftrl": {},
}
SAME = {"RMSprop": {}, "SGD": {"nesterov": True}}  # those that Keras 2's older optimizers compute alike in these steps


def is_ours():
    return os.environ["KERAS_BACKEND"] == "dovetail"


def tensorflow():
    return import_module("dovetail.compat.tensorflow" if is_ours() else "tensorflow")


def keras_named(name):
    """The module of a Keras, and of its optimizers."""
    if name == "keras" or is_ours():
        return tensorflow().keras, tensorflow().keras.optimizers
    import tf_keras

    return tf_keras, tf_keras.optimizers.legacy if name == "legacy" else tf_keras.optimizers


def checkpoints():
    """Weights after two steps, a checkpoint, and two more steps; in a function, and by a model."""
    folder, way, library = sys.argv[1:]
    tf = tensorflow()
    keras, optimizers = keras_named(library)
    found = []
    for name, given in OPTIMIZERS.items():
        if library != "keras" and name == "Nadam":  # Keras 2's does not go on as before from its own checkpoints
            continue
        options = given | SAME.get(name, {}) if library == "legacy" else given
        w, b = tf.Variable(W, dtype="float32"), tf.Variable(B, dtype="float32")
        optimizer = getattr(optimizers, name)(0.05, **options)
        model = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(3)])
        model.set_weights([np.linspace(-1, 1, a.size).reshape(a.shape) for a in model.get_weights()])
        model.compile(getattr(optimizers, name)(0.05, **options), "mse")

        def step(w=w, b=b, optimizer=optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.matmul(tf.constant(X), w) + b - Y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))

        in_graph = tf.function(step)
        parts = {"w": w, "b": b, "optimizer": optimizer, "model": model}
        checkpoint, path = tf.train.Checkpoint(**parts), f"{folder}/{name}"
        if way == "write":
            for _ in range(2):
                step()
                model.train_on_batch(X, Y)
            checkpoint.write(path)
        else:
            w.assign(W * 0)
            if name == "Adam":
                step()  # so it has what it keeps
            checkpoint.read(path)
        for _ in range(2):
            in_graph()
            model.train_on_batch(X, Y)
        found += [w.numpy(), b.numpy(), *model.get_weights(), int(optimizer.iterations)]
    return found


def unbuilt():
    """The error for a model that has no variables yet; it is built, and restored, then."""
    folder, (keras, _), tf = sys.argv[1], keras_named(sys.argv[3]), tensorflow()
    written = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(3)])
    path = tf.train.Checkpoint(net=written).write(f"{folder}/unbuilt")
    model = keras.Sequential([keras.layers.Dense(3)])
    try:
        tf.train.Checkpoint(net=model).read(path)
    except ValueError as error:
        problem = str(error)
    model(X)
    tf.train.Checkpoint(net=model).read(path).assert_consumed()
    np.testing.assert_array_equal(model(X), written(X))
    return [problem]


if __name__ == "__main__":
    main({"checkpoints": checkpoints, "unbuilt": unbuilt})
