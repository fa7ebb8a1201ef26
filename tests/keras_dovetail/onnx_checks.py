"""Models on Dovetail that leave as ONNX files: run with a folder.  Prints the problems, {"check name": traceback}."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

from tests.formats.onnx.running import session
from tests.keras_backends import tell


def mlp() -> Any:
    parts = [layers.Dense(8, "relu"), layers.Dense(3, "softmax", name="probs")]
    return keras.Sequential([keras.Input((6,), name="x"), *parts])


MODELS = {"mlp": (mlp, ["x"], ["probs"])}


def check(path: Path, build: Any, inputs: list[str], outputs: list[str]) -> None:
    """Export a model, and compare its prediction with ONNX Runtime's."""
    model = build()
    model.export(path, format="onnx", verbose=False)
    ready, rng = session(path), np.random.default_rng(0)
    assert [one.name for one in ready.get_inputs()] == inputs
    assert [one.name for one in ready.get_outputs()] == outputs
    assert ready.get_inputs()[0].shape[0] == ready.get_outputs()[0].shape[0] == "batch"
    data = [rng.normal(size=(3, *tensor.shape[1:])).astype("float32") for tensor in model.inputs]
    expected = model.predict(data if len(data) > 1 else data[0], verbose=0)
    for ours, theirs in zip(
        keras.tree.flatten(expected), ready.run(None, dict(zip(inputs, data, strict=True))), strict=True
    ):
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    problems = {}
    for name, given in MODELS.items():
        try:
            check(Path(sys.argv[1]) / f"{name}.onnx", *given)
            problems[name] = ""
        except Exception:
            problems[name] = traceback.format_exc()
    tell(problems)
