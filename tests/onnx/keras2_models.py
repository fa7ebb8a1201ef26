"""Models of Keras 2 as SavedModels, with predictions: run with a folder.  Prints {"model name": names of inputs}."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tf_keras as keras
from tf_keras import layers

from tests.keras_backends import tell

SHAPES = {"mlp": (6,), "cnn": (12, 12, 3), "text": (7,), **dict.fromkeys(("lstm", "gru", "both"), (5, 3))}


def mlp() -> list[Any]:
    return [layers.Dense(8, "gelu"), layers.LayerNormalization(), layers.Dropout(0.2), layers.Dense(3, "softmax")]


def cnn() -> list[Any]:
    first = layers.Conv2D(4, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(6.0)
    second = layers.DepthwiseConv2D(3, 2), layers.MaxPooling2D(), layers.Conv2DTranspose(2, 3, 2)
    return [*first, *second, layers.GlobalAveragePooling2D(), layers.Dense(2)]


def lstm() -> list[Any]:
    return [layers.LSTM(4, return_sequences=True), layers.LSTM(3), layers.Dense(2)]


def gru() -> list[Any]:
    return [layers.GRU(4, reset_after=False, return_sequences=True), layers.GRU(3), layers.Dense(2)]


def both() -> list[Any]:
    return [layers.Bidirectional(layers.LSTM(3)), layers.Dense(2)]


def text() -> list[Any]:
    return [layers.Embedding(9, 4, mask_zero=True), layers.LSTM(3), layers.Dense(2)]


def sequential(build: Any, shape: tuple[int, ...]) -> Any:
    x = keras.Input(shape, name="x", dtype="int32" if build is text else "float32")
    y = x
    for layer in build():
        y = layer(y)
    return keras.Model(x, y)


def residual() -> Any:
    x = keras.Input((8, 8, 4), name="x")
    y = layers.Conv2D(4, 3, padding="same")(layers.Activation("swish")(layers.BatchNormalization()(x)))
    return keras.Model(x, layers.Dense(2)(layers.Flatten()(layers.AveragePooling2D()(layers.Add()([x, y])))))


def attention() -> Any:
    x = keras.Input((6, 8), name="x")
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(x, layers.GlobalMaxPooling1D()(layers.Dense(3, "tanh")(y)))


def main(folder: Path) -> None:
    made = {name: sequential(globals()[name], shape) for name, shape in SHAPES.items()}
    made |= {"residual": residual(), "attention": attention()}
    rng, found = np.random.default_rng(0), {}
    for name, model in made.items():
        model.set_weights([np.abs(w + rng.normal(size=w.shape) * 0.1) for w in model.get_weights()])
        arrays = {}
        for size in (1, 5):
            x = rng.integers(0, 9, (size, 7)) if name == "text" else rng.normal(size=(size, *model.inputs[0].shape[1:]))
            arrays[f"x.{size}"] = x.astype(model.inputs[0].dtype.as_numpy_dtype)
            arrays[f"y.{size}"] = model.predict(arrays[f"x.{size}"], verbose=0)
        model.save(folder / name, save_format="tf")
        np.savez(folder / f"{name}.npz", **arrays)
        found[name] = ["x"]
    tell(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
