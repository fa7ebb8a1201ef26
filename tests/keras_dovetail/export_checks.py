"""Models that Dovetail exports and TensorFlow loads: run with a folder and a command, "save" or "load".

"save" exports them, and "load" calls them in TensorFlow, whose gradients reach all variables.  Both print the problems
of each model: {"command name": traceback, or nothing}.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.keras_backends import tell


def mlp() -> Any:
    parts = [layers.Dense(8, "relu", name="hidden"), layers.Dense(3, name="logits")]  # Keras' own names count on
    return keras.Sequential([keras.Input((6,), name="x"), *parts])


def cnn() -> Any:
    parts = [layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(), layers.MaxPooling2D()]
    return keras.Sequential(
        [keras.Input((8, 8, 1)), *parts, layers.Flatten(), layers.Dropout(0.3), layers.Dense(4, "softmax")]
    )


def lstm() -> Any:
    return keras.Sequential([keras.Input((None,)), layers.Embedding(20, 4), layers.LSTM(5)])


def bidirectional() -> Any:
    return keras.Sequential([keras.Input((6, 3)), layers.Bidirectional(layers.GRU(3))])


def transformer() -> Any:
    x = keras.Input((5, 8))
    attended = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    y = layers.LayerNormalization()(attended + layers.Dense(8)(layers.Dense(16, "gelu")(attended)))
    return keras.Model(x, {"mean": layers.GlobalAveragePooling1D()(y), "all": y})


MODELS = {mlp: (3, 6), cnn: (3, 8, 8, 1), lstm: (3, 7), bidirectional: (3, 6, 3), transformer: (3, 5, 8)}
FOLDER, COMMAND = Path(sys.argv[1]), sys.argv[2]


def listed(found: Any) -> list[np.ndarray]:
    return [np.asarray(value) for value in keras.tree.flatten(found)]


def close(found: Any, expected: Any) -> None:
    for ours, theirs in zip(listed(found), listed(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)


def save(make: Callable[[], Any], x: np.ndarray) -> None:
    """Save a model by its `export` and by `dovetail.saved_model.save`, as `tf.saved_model.save` does: claim 0.40."""
    model, random = make(), np.random.RandomState(1)
    for variable in model.variables:
        if str(variable.dtype) == "float32":
            variable.assign(random.uniform(0.1, 0.5, variable.shape))
    expected = listed(model(x))
    np.savez(FOLDER / f"{make.__name__}.npz", *expected)
    model.export(FOLDER / make.__name__, verbose=False)
    loaded = dt.saved_model.load(FOLDER / make.__name__)
    close(loaded.serve(x), expected)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    dt.saved_model.save(model, FOLDER / f"{make.__name__}_saved")
    signature = dt.saved_model.load(FOLDER / f"{make.__name__}_saved").signatures["serving_default"]
    close(signature(x) if make is transformer else signature(x)["output_0"], expected)
    if make is mlp:
        names = [op.name.split("/")[-2] for op in loaded.graph.find("BiasAdd")]
        found = sorted(names), loaded.signatures["serving_default"].inputs
        assert found == (["hidden", "logits"], ["x"]), found


def load(make: Callable[[], Any], x: np.ndarray) -> None:
    import tensorflow as tf

    with np.load(FOLDER / f"{make.__name__}.npz") as archive:
        expected = [archive[name] for name in archive.files]
    loaded = tf.saved_model.load(str(FOLDER / make.__name__))
    with tf.GradientTape() as tape:
        results = loaded.serve(x)
        total = tf.add_n([tf.reduce_sum(value) for value in keras.tree.flatten(results)])
    close(results, expected)
    assert None not in tape.gradient(total, loaded.trainable_variables)
    saved = tf.saved_model.load(str(FOLDER / f"{make.__name__}_saved"))
    results = saved.signatures["serving_default"](inputs=tf.constant(x))
    close(results if make is transformer else results["output_0"], expected)
    close(saved(x), expected)
    assert len(saved.trainable_variables) == len(loaded.trainable_variables)
    assert len(loaded.serve(x[:1]) if make is not transformer else x[:1]) == 1
    close(keras.layers.TFSMLayer(FOLDER / make.__name__, call_endpoint="serve")(x), expected)


if __name__ == "__main__":
    found = {}
    for make, shape in MODELS.items():
        try:
            x = np.random.RandomState(0).uniform(0, 5, shape).astype("float32")
            {"save": save, "load": load}[COMMAND](make, x)
            problem = ""
        except Exception:
            problem = traceback.format_exc()
        found[f"{COMMAND} {make.__name__}"] = problem
    tell(found)
