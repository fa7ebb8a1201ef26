"""Loops over ragged tensors with weights before them, in them and behind them, against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.tensorflow.calling import tf
from tests.libraries import require

require("tensorflow", "it writes the models, and computes what is right")

VALUES, SPLITS, WEIGHTS = np.array([1.0, 2, 3, 4]), np.array([0, 2, 2, 3, 4]), np.array([2.0, 3])
STEP = 1e-4


def mapped(f: Any, x: Any, *shape: Any) -> Any:
    """A map with ragged results; with numbers, if a shape is given."""
    spec = tf.TensorSpec(shape, tf.float64) if shape else tf.RaggedTensorSpec([None], tf.float64, 0)
    return tf.map_fn(f, x, fn_output_signature=spec)


def picked(w: Any, row: Any) -> Any:
    return tf.gather(w, tf.cast(row, tf.int32) % 2)


def named(x: Any, w: Any) -> Any:
    """Numbers of rows of strings beside rows of numbers, for weights."""
    texts = tf.strings.as_string(tf.cast(x, tf.int32))
    lengths = tf.map_fn(
        lambda pair: tf.strings.length(tf.strings.join(["n", tf.strings.reduce_join(pair[0])])) * tf.size(pair[1]),
        (texts, x),
        fn_output_signature=tf.int32,
    )
    return tf.cast(lengths, tf.float64) * w[0]


CASES = {
    "in the loop": lambda x, w: mapped(lambda row: row * w[0], x).flat_values,
    "in the loop, to numbers": lambda x, w: mapped(lambda row: tf.reduce_sum(picked(w, row), keepdims=True), x, 1),
    "before it": lambda x, w: mapped(lambda row: row * row, x * w[0]).flat_values,
    "behind it": lambda x, w: mapped(lambda row: row[::-1], x).flat_values * w[1],
    "around it": lambda x, w: mapped(lambda row: tf.cumsum(row) * w[0], x * w[1]).flat_values * w[0],
    "in loops in each other": lambda x, w: (
        mapped(lambda row: mapped(lambda one: one * w[0], tf.expand_dims(row, 1)).flat_values, x).flat_values
    ),
    "behind a loop of the host": named,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a model; its results, and their derivatives by each weight, as differences."""
    folder, module = str(tmp_path_factory.mktemp("ragged")), tf.Module()
    module.w = tf.Variable(WEIGHTS)
    given = [tf.TensorSpec([None], "float64"), tf.TensorSpec([None], "int64")]

    def signature(build: Any) -> Any:
        def call(values: Any, splits: Any) -> Any:
            return {"y": build(tf.RaggedTensor.from_row_splits(values, splits), module.w)}

        return tf.function(call, given, autograph=False)

    def at(call: Any, weights: Any) -> Any:
        module.w.assign(weights)
        return call(tf.constant(VALUES), tf.constant(SPLITS))["y"].numpy()

    calls, right = {name: signature(build) for name, build in CASES.items()}, {}
    for name, call in calls.items():
        slopes = [(at(call, WEIGHTS + d) - at(call, WEIGHTS - d)).sum() / (2 * STEP) for d in np.eye(2) * STEP]
        right[name] = at(call, WEIGHTS), slopes
    module.calls = calls
    tf.saved_model.save(module, folder, signatures={f"s{i}": call for i, call in enumerate(calls.values())})
    return folder, right


@pytest.mark.parametrize("name", CASES)
def test_weights_and_a_loop_over_ragged_rows(model: Any, name: str):
    check(model, name)


def test_weights_around_a_loop_over_ragged_rows(model: Any, engine: str):
    check(model, "around it")


def check(model: Any, name: str) -> None:
    """The results of a case, and their derivatives by the weights."""
    folder, right = model
    expected, slopes = right[name]
    loaded = dt.saved_model.load(folder)
    with dt.GradientTape() as tape:
        found = loaded.signatures[f"s{[*CASES].index(name)}"](values=VALUES, splits=SPLITS)["y"]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    (gradient,) = tape.gradient(found, loaded.variables)
    np.testing.assert_allclose(gradient.numpy(), slopes, rtol=1e-5)


def test_loops_over_ragged_rows_are_written_again(model: Any, tmp_path: Path):
    folder, right = model
    loaded = dt.saved_model.load(folder)
    signature = loaded.signatures["s4"]
    with signature.graph.as_default():
        signature.graph.outputs = [signature.graph.outputs[0] * 2.0]
    dt.saved_model.save(loaded, tmp_path / "edited")
    dt.saved_model.save(dt.saved_model.load(folder).signatures["s4"].as_function(), tmp_path / "function")
    for key, name, factor in (("s4", "edited", 2), ("serving_default", "function", 1)):
        call = tf.saved_model.load(str(tmp_path / name)).signatures[key]
        (found,) = call(values=tf.constant(VALUES), splits=tf.constant(SPLITS)).values()
        np.testing.assert_allclose(found.numpy(), right["around it"][0] * factor, rtol=1e-6)
