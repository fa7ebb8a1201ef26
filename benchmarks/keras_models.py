"""The models of `keras_fit.py` and `auto.py`, and their data; Keras' current backend makes them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers

RANDOM = np.random.default_rng(0)


class Task(NamedTuple):
    """A model to measure.

    Attributes:
        model: makes the layers between an input and logits of ten classes.
        shape: of one sample.
        batch: samples of a step.
        steps: of an epoch.
    """

    model: Callable[[Any], Any]
    shape: tuple[int, ...]
    batch: int
    steps: int


def mlp(x: Any) -> Any:
    for _ in range(2):
        x = layers.Dense(128, activation="relu")(x)
    return x


def cnn(x: Any) -> Any:
    for channels in (32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(channels, 3, padding="same", activation="relu")(x))
    return layers.Flatten()(x)


def lstm(x: Any) -> Any:
    return layers.LSTM(64)(x)


def transformer(x: Any) -> Any:
    """An encoder of two blocks: attention and a perceptron, each after a normalization."""
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 16)(y, y)
        y = layers.Dense(128, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(64)(y)
    return layers.GlobalAveragePooling1D()(x)


def resnet(x: Any) -> Any:
    """Three stages of two residual blocks, 16, 32 and 64 channels wide."""

    def normalized(x: Any, channels: int, size: int, strides: int = 1) -> Any:
        convolved = layers.Conv2D(channels, size, strides, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(convolved)

    x = layers.ReLU()(normalized(x, 16, 3))
    for channels, strides in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = normalized(layers.ReLU()(normalized(x, channels, 3, strides)), channels, 3)
        shortcut = normalized(x, channels, 1, strides) if x.shape != y.shape else x
        x = layers.ReLU()(shortcut + y)
    return layers.GlobalAveragePooling2D()(x)


def gru(x: Any) -> Any:
    return layers.GRU(64)(x)


def conv_lstm(x: Any) -> Any:
    return layers.Flatten()(layers.ConvLSTM2D(8, 3, padding="same")(x))


def bidirectional(x: Any) -> Any:
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    return layers.Bidirectional(layers.LSTM(64))(x)


def mobilenet(x: Any) -> Any:
    """Blocks of a depthwise convolution and one of single pixels, as in MobileNet."""

    def activated(x: Any) -> Any:
        return layers.ReLU()(layers.BatchNormalization()(x))

    x = activated(layers.Conv2D(16, 3, 2, padding="same", use_bias=False)(x))
    for channels, strides in ((32, 1), (64, 2), (64, 1), (128, 2)):
        x = activated(layers.DepthwiseConv2D(3, strides, padding="same", use_bias=False)(x))
        x = activated(layers.Conv2D(channels, 1, use_bias=False)(x))
    return layers.GlobalAveragePooling2D()(x)


def unet(x: Any) -> Any:
    """Two steps down and two up again; each step up is concatenated with the tensor before the step down."""

    def convolved(x: Any, channels: int) -> Any:
        return layers.Conv2D(channels, 3, padding="same", activation="relu")(x)

    kept = []
    for channels in (16, 32):
        x = convolved(x, channels)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolved(x, 64)
    for channels in (32, 16):
        x = layers.Conv2DTranspose(channels, 2, 2)(x)
        x = convolved(layers.Concatenate()([x, kept.pop()]), channels)
    return layers.GlobalAveragePooling2D()(x)


def speech(x: Any) -> Any:
    """Convolutions with large windows over a spectrogram, then layers of GRU over time, as in Deep Speech 2."""
    for size, strides in (((11, 21), 2), ((11, 11), (1, 2))):
        x = layers.Conv2D(16, size, strides, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Reshape((x.shape[1], x.shape[2] * x.shape[3]))(x)
    for is_last in (False, False, True):
        x = layers.GRU(64, return_sequences=not is_last)(x)
    return x


TASKS = {
    "MLP": Task(mlp, (64,), 32, 1024),
    "CNN": Task(cnn, (28, 28, 1), 64, 8),
    "LSTM": Task(lstm, (32, 32), 32, 16),
    "Transformer": Task(transformer, (32, 64), 32, 8),
    "ResNet": Task(resnet, (32, 32, 3), 32, 4),
    "GRU": Task(gru, (32, 32), 32, 16),
    "MobileNet": Task(mobilenet, (32, 32, 3), 32, 4),
    "UNet": Task(unet, (32, 32, 3), 16, 4),
    "Speech": Task(speech, (100, 64, 1), 8, 4),
}


FITS = {  # models that a first minute fits epoch by epoch
    "MLP": Task(mlp, (64,), 32, 128),
    "CNN": Task(cnn, (28, 28, 1), 128, 16),
    "ConvLSTM": Task(conv_lstm, (8, 24, 24, 1), 8, 8),
    "ResNet": Task(resnet, (32, 32, 3), 32, 8),
    "BiLSTM": Task(bidirectional, (64, 32), 32, 16),
}


def compiled(task: Task) -> tuple[Any, np.ndarray, np.ndarray]:
    """The model of a task, with the inputs and targets of an epoch."""
    random.seed(0)  # Keras draws its own seeds so; set_random_seed would make every backend import TensorFlow first
    inputs = keras.Input(task.shape)
    model = keras.Model(inputs, layers.Dense(10)(task.model(inputs)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(), loss, metrics=["accuracy"])
    samples = task.batch * task.steps
    return model, RANDOM.normal(size=(samples, *task.shape)).astype("float32"), RANDOM.integers(0, 10, samples)
