"""Run the models of `models/` where importing TensorFlow, Keras or ONNX raises; it prints the largest differences.

python -m tests.formats.tensorflow.running_checks numpy torch jax
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BARRED = ("tensorflow", "keras", "tf_keras", "onnx")


class Barred:
    """A finder that refuses some libraries."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")


sys.meta_path.insert(0, Barred())  # type: ignore[arg-type]

import numpy as np

import dovetail as dt
from dovetail import saved_model

FOLDER = Path(__file__).parent / "models"
MODELS = ("mlp", "cnn", "recurrent", "loop", "simple", "frozen.pb", "loop1.pb", "arrays1.pb", "loop1.meta")
RESULTS = {"frozen.pb": "scores", "loop1.meta": "z"}  # the others have one signature or `__call__`


def difference(name: str) -> float:
    """The largest difference between TensorFlow's result and the model's."""
    model = saved_model.load(FOLDER / name)
    known = np.load(FOLDER / f"{name.partition('.')[0]}.npz")
    given = [known[f"x{number}"] for number in range(len(known.files) - 1)]
    run = model.results(RESULTS[name]) if name in RESULTS else model
    found = run(*given)
    result = found[RESULTS[name]] if name in RESULTS else found
    return float(np.abs(result.numpy() - known["y"]).max())


if __name__ == "__main__":
    found = {}
    for engine in sys.argv[1:]:
        dt.set_engine(engine)
        found |= {f"{name} on {engine}": difference(name) for name in MODELS}
    print(json.dumps(found))
