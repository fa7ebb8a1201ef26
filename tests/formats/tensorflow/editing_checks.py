"""Run the models of folders in TensorFlow; it prints the largest difference of each one's results, or its error.

    python -m tests.formats.tensorflow.editing_checks FOLDER ...

Each model has a call of one signature by keys; the results of a frozen graph have the names of its tensors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.formats.tensorflow.calls import Call, difference, models

v1 = tf.compat.v1


def of_graph(path: Path, call: Call) -> dict[str, Any]:
    """The results of a frozen graph."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.import_graph_def(v1.GraphDef.FromString(path.read_bytes()), name="")
        feeds = {graph.get_tensor_by_name(f"{key}:0"): value for key, value in call.inputs.items()}
        return session.run({key: graph.get_tensor_by_name(f"{key}:0") for key in call.results}, feeds)


def of_folder(path: Path, call: Call) -> dict[str, Any]:
    """The results of a signature of a SavedModel."""
    run = tf.saved_model.load(str(path)).signatures[call.signature]
    return {key: value.numpy() for key, value in run(**{k: tf.constant(v) for k, v in call.inputs.items()}).items()}


def of_model(path: Path, call: Call) -> float:
    """The largest difference of a model's results."""
    found = (of_graph if path.is_file() else of_folder)(path, call)
    assert found.keys() == call.results.keys(), f"the results {[*found]}, not {[*call.results]}"
    return max(difference(found[key], value) for key, value in call.results.items())


def main(*folders: str) -> None:
    found: dict[str, Any] = {}
    for folder in map(Path, folders):
        for name, path, known in models(folder):
            try:
                value: Any = of_model(path, known.calls[0])
            except Exception as error:
                value = f"{type(error).__name__}: {error}"
            found[f"{name} {folder.name}"] = value
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
