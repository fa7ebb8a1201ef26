"""Run models that packages ship, by Dovetail and by TensorFlow.

    python -m tests.formats.tensorflow.package_checks FOLDER

The folder has the packages, unpacked; none of their code runs.  It prints the largest difference of each result.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import saved_model


@dataclass
class Shipped:
    """A model that a package ships.

    Attributes:
        package: its requirement.
        path: of the model, in the package.
        name: of a signature, or of a result in a graph.
        inputs: by key.
    """

    package: str
    path: str
    name: str
    inputs: dict[str, Any]


RANDOM = np.random.RandomState(0)
SOUND = RANDOM.uniform(-1, 1, (1, 43844, 1)).astype("float32")
BANDS = {"model/Placeholder": RANDOM.uniform(0, 4, (2, 187, 96)).astype("float32"), "model/Placeholder_2": False}
TEXTS = np.array([b"import os\ndef f(x):\n    return x + 1\n", b"#include <stdio.h>\nint main() { return 0; }"])
MUSIC = ("MTT_musicnn", "MTT_vgg", "MSD_musicnn", "MSD_vgg")
SHIPPED = [
    Shipped("basic-pitch==0.2.6", "basic_pitch/saved_models/icassp_2022/nmp", "serving_default", {"input_2": SOUND}),
    Shipped("guesslang==2.2.1", "guesslang/data/model", "serving_default", {"inputs": TEXTS}),
    Shipped("guesslang==2.2.1", "guesslang/data/model", "predict", {"content": TEXTS}),
    *(Shipped("musicnn==0.1.0", f"musicnn/{name}/.meta", "model/Sigmoid", BANDS) for name in MUSIC),
]


def ours(path: Path, one: Shipped) -> dict[str, Any]:
    model = saved_model.load(path)
    run = model.results(one.name) if path.is_file() else model.signatures[one.name]
    assert run.opaque == {}
    return run(**one.inputs)


def theirs(path: Path, one: Shipped) -> dict[str, Any]:
    import tensorflow as tf

    if not path.is_file():
        return tf.saved_model.load(str(path)).signatures[one.name](**{k: tf.constant(v) for k, v in one.inputs.items()})
    meta = tf.compat.v1.MetaGraphDef.FromString(path.read_bytes())
    for node in meta.graph_def.node:
        node.attr.pop("_output_shapes", None)  # TensorFlow 2 gives its own ops of gradients others, and refuses these
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.train.import_meta_graph(meta).restore(session, str(path).removesuffix(".meta"))
        return {one.name: session.run(f"{one.name}:0", {f"{key}:0": value for key, value in one.inputs.items()})}


def difference(found: Any, expected: Any) -> float:
    found, expected = (np.asarray(value.numpy() if hasattr(value, "numpy") else value) for value in (found, expected))
    if expected.dtype.kind in "SO":
        return 0.0 if found.tolist() == expected.tolist() else float("inf")
    return float(np.abs(found - expected).max())


def main(folder: Path) -> None:
    dt.set_engine("numpy")
    gaps = {}
    for one in SHIPPED:
        path = folder / one.package / one.path
        found, expected = ours(path, one), theirs(path, one)
        assert found.keys() == expected.keys()
        gaps |= {f"{one.path} {key}": difference(found[key], expected[key]) for key in expected}
    print(json.dumps(gaps))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
