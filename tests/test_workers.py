"""Workers without Python: programs in other languages that train a step which Dovetail saved as an ONNX model."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import require

require("google.protobuf", "the models are messages")

EXAMPLES = Path(__file__).parent.parent / "examples"
STEPS = 10


def saved(path, rng):
    """The batches, first weights, losses and last weights of a training step, which is saved in a file."""

    def step(x, y, w, v):
        with dt.GradientTape() as tape:
            tape.watch([w, v])
            loss = ops.mean(ops.square(ops.tanh(x @ w) @ v - y))
        slopes = tape.gradient(loss, [w, v])
        return {"loss": loss, "w.new": w - 0.1 * slopes[0], "v.new": v - 0.1 * slopes[1]}

    shapes = {"x": (8, 4), "y": (8, 1), "w": (4, 6), "v": (6, 1)}
    train = dt.function(step, engine="numpy", input_signature=[dt.spec(shape) for shape in shapes.values()])
    dt.onnx.save(train, path)
    given = [{name: rng.normal(size=shapes[name]).astype("float32") for name in "xy"} for _ in range(STEPS)]
    first = state = {name: rng.normal(size=shapes[name]).astype("float32") for name in "wv"}
    losses = []
    for batch in given:
        results = train(*batch.values(), *state.values())
        losses.append(float(results["loss"]))
        state = {name: results[f"{name}.new"].numpy() for name in state}
    return given, first, losses, state


def plain(arrays):
    return {name: {"dims": array.shape, "data": array.ravel().tolist()} for name, array in arrays.items()}


def test_node_trains_as_dovetail_does(tmp_path, rng):
    """Train ten steps in Node.js; `NODE_PATH` may name a folder with onnxruntime-node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = EXAMPLES / "worker_node"
    asked = subprocess.run(["node", "-e", "require('onnxruntime-node')"], cwd=folder, capture_output=True)
    if asked.returncode:
        pytest.skip("onnxruntime-node is not installed: npm install --ignore-scripts")
    batches, first, losses, last = saved(tmp_path / "step.onnx", rng)
    (tmp_path / "batches.json").write_text(json.dumps(list(map(plain, batches))))
    (tmp_path / "state.json").write_text(json.dumps(plain(first)))
    files = [str(tmp_path / name) for name in ("step.onnx", "batches.json", "state.json")]
    done = subprocess.run(["node", "train.js", *files], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], losses, rtol=1e-6, atol=1e-6)
    for name, found in json.loads((tmp_path / "state.json").read_text()).items():
        np.testing.assert_allclose(np.reshape(found["data"], found["dims"]), last[name], rtol=1e-6, atol=1e-6)
