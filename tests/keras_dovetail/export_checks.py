"""Models that Dovetail exports and other libraries load: run with a folder and a command.

"save" exports SavedModels, and "load" calls them in TensorFlow, whose gradients reach all variables.  "torch" exports
programs of torch.export, and "openvino" files that OpenVINO then computes.  Each prints the problems of each model:
{"command name": traceback, or nothing}.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
import pytest
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


def two_ends() -> Any:
    x, y = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    joined = layers.Dense(3, name="joined")(layers.Concatenate()([x, y]))
    return keras.Model([x, y], [joined, layers.Subtract(name="difference")([x, y])])


MODELS = {mlp: (3, 6), cnn: (3, 8, 8, 1), lstm: (3, 7), bidirectional: (3, 6, 3), transformer: (3, 5, 8)}
FOLDER, COMMAND = Path(sys.argv[1]), sys.argv[2]


def listed(found: Any) -> list[np.ndarray]:
    return [np.asarray(value) for value in keras.tree.flatten(found)]


def close(found: Any, expected: Any) -> None:
    for ours, theirs in zip(listed(found), listed(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)


def made(make: Callable[[], Any]) -> Any:
    model, random = make(), np.random.RandomState(1)
    for variable in model.variables:
        if str(variable.dtype) == "float32":
            variable.assign(random.uniform(0.1, 0.5, variable.shape))
    return model


def save(make: Callable[[], Any], x: np.ndarray) -> None:
    """Save a model by its `export` and by `dovetail.saved_model.save`, as `tf.saved_model.save` does: claim 0.40."""
    model = made(make)
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


SIZES = 1, 3, 5  # of batches, for programs whose batch is unknown


def results_of(model: Any, given: list[np.ndarray]) -> dict[int, list[np.ndarray]]:
    """The model's results for each size of a batch."""
    parts = {size: [x[:size] for x in given] for size in SIZES}
    return {size: listed(model(part if len(part) > 1 else part[0])) for size, part in parts.items()}


def inputs_of(make: Callable[[], Any], x: np.ndarray) -> list[np.ndarray]:
    """Five samples for each input of a model."""
    rows = np.concatenate([x, x[:2] + 1])
    return [rows, 2 - rows] if make is two_ends else [rows]


def export_torch(make: Callable[[], Any], x: np.ndarray) -> None:
    """Export a program of torch, and write inputs and results beside it, for `torch_programs`."""
    model, given, path = made(make), inputs_of(make, x), FOLDER / f"{make.__name__}.pt2"
    signature = None
    if make is lstm:
        with pytest.raises(
            RuntimeError, match=r"export_checks\.py:\d+: (?s:torch\.export .*)input_signature=\[keras\.InputSpec"
        ):
            model.export(path, format="torch")
        assert not path.exists()
        signature = [keras.InputSpec(shape=(None, x.shape[1]), dtype="float32", name=model.inputs[0].name)]
    with patch.object(sys, "stdout", io.StringIO()) as told:
        model.export(path, format="torch", input_signature=signature)
    assert f"Saved {path}: {model.name}({', '.join(one.name for one in model.inputs)})" in told.getvalue()
    results = results_of(model, given)
    named = {f"y{size}_{i:02}": y for size, several in results.items() for i, y in enumerate(several)}
    np.savez(path.with_suffix(".npz"), sizes=SIZES, **{f"x{i}": one for i, one in enumerate(given)}, **named)


def check_openvino(make: Callable[[], Any], x: np.ndarray) -> None:
    """Export files of OpenVINO, which computes the same."""
    import openvino

    model, given, path = made(make), inputs_of(make, x), FOLDER / f"{make.__name__}.xml"
    model.export(str(path), format="openvino", verbose=False)
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert [one.get_any_name() for one in compiled.inputs] == [one.name for one in model.inputs]
    for size, expected in results_of(model, given).items():
        found = list(compiled([one[:size] for one in given]).values())
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)


COMMANDS = {"save": save, "load": load, "torch": export_torch, "openvino": check_openvino}

if __name__ == "__main__":
    found = {}
    for make, shape in (MODELS if COMMAND in ("save", "load") else {**MODELS, two_ends: (3, 4)}).items():
        try:
            x = np.random.RandomState(0).uniform(0, 5, shape).astype("float32")
            COMMANDS[COMMAND](make, x)
            problem = ""
        except Exception:
            problem = traceback.format_exc()
        found[f"{COMMAND} {make.__name__}"] = problem
    tell(found)
