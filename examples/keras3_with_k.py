"""A Keras 3 model whose layer, loss and metric are written in K, the classic backend API, as code for Keras 2 was.

    KERAS_BACKEND=jax python examples/keras3_with_k.py

learns the classes of points on spiral arms, on any backend of Keras.  It saves the model, loads it, and compares the
predictions of both.
"""

import argparse
import tempfile
from pathlib import Path

import keras
import numpy as np

from dovetail import backend as K


@keras.saving.register_keras_serializable("examples")
class NoisyDense(keras.layers.Layer):
    """A dense layer with leaky units of unit length, on inputs that are noisy in training."""

    def __init__(self, units, noise=0.05, **options):
        super().__init__(**options)
        self.units, self.noise = units, noise

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="glorot_uniform", name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.seed = keras.random.SeedGenerator(1)

    def call(self, x):
        noisy = x + K.random_normal(K.shape(x), stddev=self.noise, seed=self.seed)
        y = K.bias_add(K.dot(K.in_train_phase(noisy, x), self.kernel), self.bias)
        return K.l2_normalize(K.relu(y, alpha=0.1), axis=-1)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "noise": self.noise}


@keras.saving.register_keras_serializable("examples")
def focal_loss(y_true, y_pred):
    """Cross-entropy that gives less weight to samples that are right already."""
    y_pred = K.clip(y_pred, K.epsilon(), 1.0 - K.epsilon())
    return K.sum(-y_true * K.pow(1.0 - y_pred, 2.0) * K.log(y_pred), axis=-1)


@keras.saving.register_keras_serializable("examples")
def mean_confidence(y_true, y_pred):
    """The probability of the likeliest class, on average."""
    return K.mean(K.max(y_pred, axis=-1))


def spirals(count, classes, rng):
    """Points on intertwined arms, one arm for each class, and their classes, one-hot."""
    labels = rng.integers(classes, size=count)
    radius = rng.uniform(0.1, 1.0, count)
    angle = 2 * np.pi * (labels / classes + 0.6 * radius) + rng.normal(0, 0.08, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return points.astype("float32"), np.eye(classes, dtype="float32")[labels]


def build(classes, units):
    """The model; K's functions take Keras' symbolic tensors, so features need no layer of their own."""
    inputs = keras.Input((2,))
    radius = K.sqrt(K.sum(K.square(inputs), axis=-1, keepdims=True))
    x = K.concatenate([inputs, radius, K.sin(3.0 * inputs)])
    x = NoisyDense(units)(x)
    x = NoisyDense(units)(x)
    return keras.Model(inputs, keras.layers.Dense(classes, activation="softmax")(x))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=3000, help="for training; a third as many for testing")
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    x, y = spirals(options.points, options.classes, rng)
    test = spirals(options.points // 3, options.classes, rng)
    model = build(options.classes, options.units)
    model.compile(keras.optimizers.Adam(0.01), loss=focal_loss, metrics=["accuracy", mean_confidence])
    losses = model.fit(x, y, batch_size=options.batch, epochs=options.epochs, verbose=2).history["loss"]
    print(f"{keras.backend.backend()}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    found = model.evaluate(*test, verbose=0, return_dict=True)
    print(f"test accuracy {found['accuracy']:.3f}, mean confidence {found['mean_confidence']:.3f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spirals.keras"
        model.save(path)
        again = keras.saving.load_model(path)
    apart = np.abs(again.predict(test[0], verbose=0) - model.predict(test[0], verbose=0)).max()
    print(f"saved and loaded: predictions differ by {apart:.1e} at most")
    return {**found, "before": losses[0], "after": losses[-1], "apart": apart}


if __name__ == "__main__":
    main()
