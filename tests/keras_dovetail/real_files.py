"""Predictions of models in packages of the registry: run with a folder of files, on Dovetail or another backend.

On another backend tf_keras loads them.  It prints the predictions of each file, or the problem: {file: numbers}.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from tests.keras_backends import tell

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras

    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail
else:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras

LENGTH = {"spliceai": 10_010}  # of inputs of any length; these models crop 10,000; else 200
OWN = {"<lambda>": lambda x: keras.activations.relu(x, max_value=20.0)}  # an activation of deeplc


def predicted(path: Path) -> list[float]:
    model = keras.models.load_model(path, OWN)
    draw = np.random.default_rng(0)
    words = min((layer.input_dim for layer in model.layers if isinstance(layer, keras.layers.Embedding)), default=0)
    shapes = [(1, *(n or LENGTH.get(path.parent.name, 200) for n in tensor.shape[1:])) for tensor in model.inputs]
    x = [(draw.integers(0, words, s) if words else draw.normal(size=s)).astype("float32") for s in shapes]
    found = model.predict(x if len(x) > 1 else x[0], verbose=0)
    return np.ravel(found)[:1000].tolist()


results: dict[str, list[float] | str] = {}
for path in sorted(Path(sys.argv[1]).glob("*/*")):
    try:
        results[f"{path.parent.name}/{path.name}"] = predicted(path)
    except Exception as error:
        results[f"{path.parent.name}/{path.name}"] = str(error)[-400:]
tell(results)
