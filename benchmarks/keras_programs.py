"""Whole programs of Keras on arrays that are drawn at random: made with whichever backend Keras runs on.

Each trains for two epochs, and reports each epoch's end.  A model of `keras.applications` trains for one epoch, and
predicts in the second.  None of them names a backend, so the same lines run on
Keras' own backends and on Dovetail.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import layers, ops

EPOCHS = 2

Report = Callable[[int], Any]  # takes the number of epochs that have ended


def _seeded() -> np.random.Generator:
    random.seed(0)  # Keras draws its own seeds so; set_random_seed would make every backend import TensorFlow first
    return np.random.default_rng(0)


def _images(rng: np.random.Generator, count: int) -> np.ndarray:
    """Squares of random places and brightness, of shape (count, 28, 28, 1), between 0 and 1."""
    images = rng.uniform(0, 0.1, size=(count, 28, 28, 1)).astype("float32")
    for image, (row, column) in zip(images, rng.integers(2, 18, size=(count, 2)), strict=True):
        image[row : row + 8, column : column + 8] += rng.uniform(0.5, 0.9)
    return images


def _fit(model: Any, x: np.ndarray, y: np.ndarray, batch: int, report: Report) -> None:
    ended = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: report(epoch + 1))
    model.fit(x, y, batch_size=batch, epochs=EPOCHS, verbose=0, callbacks=[ended])


def _scaled(x: Any, layer: Any, channels: tuple[int, ...]) -> Any:
    """Images through convolutions of one kind, each of which halves or doubles their size."""
    for count in channels:
        x = layer(count, 3, 2, padding="same", activation="relu")(x)
    return x


def autoencoder(report: Report) -> list[Any]:
    """Learns images of 28 by 28 through a code of 7 by 7 by 16: 64 steps an epoch."""
    images = _images(_seeded(), 64 * 64)
    inputs = keras.Input((28, 28, 1))
    x = _scaled(_scaled(inputs, layers.Conv2D, (32, 16)), layers.Conv2DTranspose, (16, 32))
    model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    _fit(model, images, images, 64, report)
    return [model]


def bidirectional(report: Report) -> list[Any]:
    """Classifies texts of 64 words out of 20,000 by two bidirectional LSTMs: 24 steps an epoch."""
    rng = _seeded()
    words = rng.integers(0, 20_000, size=(24 * 32, 64)).astype("int32")
    inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(20_000, 128)(inputs)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(64))(x)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    _fit(model, words, (words[:, 0] % 2).astype("float32"), 32, report)
    return [model]


class Sampling(layers.Layer):
    """Draws codes from normal distributions, whose divergence from the standard one is a part of the loss."""

    def __init__(self, weight: float, **others: Any) -> None:
        super().__init__(**others)
        self.weight = weight
        self.seeds = keras.random.SeedGenerator(0)

    def call(self, moments: Any) -> Any:
        mean, log_variance = moments
        divergence = ops.sum(ops.exp(log_variance) + ops.square(mean) - 1.0 - log_variance, axis=-1) / 2
        self.add_loss(self.weight * ops.mean(divergence))
        return mean + ops.exp(log_variance / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)


def vae(report: Report) -> list[Any]:
    """Learns a variational autoencoder of two dimensions on images of 28 by 28: 64 steps an epoch."""
    images = _images(_seeded(), 64 * 64)
    inputs = keras.Input((28, 28, 1))
    x = _scaled(inputs, layers.Conv2D, (16, 32))
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    x = Sampling(1 / 784)([layers.Dense(2)(x), layers.Dense(2)(x)])
    x = layers.Reshape((7, 7, 32))(layers.Dense(7 * 7 * 32, activation="relu")(x))
    x = _scaled(x, layers.Conv2DTranspose, (32, 16))
    model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    _fit(model, images, images, 64, report)
    return [model]


def conv_lstm(report: Report) -> list[Any]:
    """Predicts each next one of 8 frames of 24 by 24 by convolutional LSTMs: 8 steps an epoch."""
    rng = _seeded()
    first = rng.uniform(size=(8 * 4, 24, 24)) < 0.1
    frames = np.stack([np.roll(first, (i, i), (1, 2)) for i in range(9)], axis=1)[..., None].astype("float32")
    inputs = x = keras.Input((8, 24, 24, 1))
    for _ in range(2):
        x = layers.ConvLSTM2D(8, 3, padding="same", return_sequences=True)(x)
        x = layers.BatchNormalization()(x)
    model = keras.Model(inputs, layers.Conv3D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    _fit(model, frames[:, :-1], frames[:, 1:], 4, report)
    return [model]


def gan(report: Report) -> list[Any]:
    """Trains a generator and a discriminator of images of 28 by 28 in turns: 24 turns an epoch.

    Keras reads in each call which weights are trainable, so the discriminator's are frozen for each generator's turn.
    """
    rng, batch, turns = _seeded(), 32, 24
    images = 2 * _images(rng, turns * batch) - 1
    generator, discriminator = _generator(), _discriminator()
    both = keras.Sequential([keras.Input((64,)), generator, discriminator])
    for model in (discriminator, both):
        model.compile(keras.optimizers.Adam(2e-4, beta_1=0.5), "binary_crossentropy")
    real, fake = np.ones((batch, 1), "float32"), np.zeros((batch, 1), "float32")
    for epoch in range(EPOCHS):
        for i in range(0, len(images), batch):
            noise = rng.normal(size=(batch, 64)).astype("float32")
            made = generator.predict_on_batch(noise)
            discriminator.trainable = True
            discriminator.train_on_batch(np.concatenate([images[i : i + batch], made]), np.concatenate([real, fake]))
            discriminator.trainable = False
            both.train_on_batch(noise, real)
        report(epoch + 1)
    return [generator, discriminator, both]


def _generator() -> Any:
    model = keras.Sequential([keras.Input((64,)), layers.Dense(7 * 7 * 32), layers.Reshape((7, 7, 32))])
    for channels in (32, 16):
        model.add(layers.Conv2DTranspose(channels, 4, 2, padding="same", use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
    model.add(layers.Conv2D(1, 5, padding="same", activation="tanh"))
    return model


def _discriminator() -> Any:
    model = keras.Sequential([keras.Input((28, 28, 1))])
    for channels in (16, 32):
        model.add(layers.Conv2D(channels, 4, 2, padding="same"))
        model.add(layers.LeakyReLU(negative_slope=0.2))
        model.add(layers.Dropout(0.3, seed=channels))
    model.add(layers.Flatten())
    model.add(layers.Dense(1, activation="sigmoid"))
    return model


def application(name: str, report: Report) -> list[Any]:
    """A model of `keras.applications` with random weights, on 4 images of 224 by 224: 8 steps, then 20 predictions."""
    rng = _seeded()
    images = rng.uniform(0, 255, size=(20 * 4, 224, 224, 3)).astype("float32")
    model = getattr(keras.applications, name)(weights=None)
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(images[: 8 * 4], rng.integers(0, 1000, 8 * 4), batch_size=4, verbose=0)
    report(1)
    model.predict(images, batch_size=4, verbose=0)
    report(2)
    return [model]


PROGRAMS = {
    "Autoencoder": autoencoder,
    "BiLSTM": bidirectional,
    "VAE": vae,
    "ConvLSTM": conv_lstm,
    "GAN": gan,
    **{name: partial(application, name) for name in ("MobileNetV2", "EfficientNetB0", "ResNet50")},
}
