"""Workers without Python: programs in other languages that train a step which Dovetail saved as an ONNX model."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import require

require("google.protobuf", "the models are messages")

EXAMPLES = Path(__file__).parent.parent / "examples"
STEPS = 10
SHAPES = {"x": (8, 4), "y": (8, 1), "w": (4, 6), "v": (6, 1)}


def gradients(x, y, w, v):
    """The loss of two layers and its gradients by their weights."""
    with dt.GradientTape() as tape:
        tape.watch([w, v])
        loss = ops.mean(ops.square(ops.tanh(x @ w) @ v - y))
    return loss, tape.gradient(loss, [w, v])


def drawn(names, rng):
    return {name: rng.normal(size=SHAPES[name]).astype("float32") for name in names}


def saved(path, rng):
    """The batches, first weights, losses and last weights of a training step, which is saved in a file."""

    def step(x, y, w, v):
        loss, slopes = gradients(x, y, w, v)
        return {"loss": loss, "w.new": w - 0.1 * slopes[0], "v.new": v - 0.1 * slopes[1]}

    train = dt.function(step, engine="numpy", input_signature=[dt.spec(shape) for shape in SHAPES.values()])
    dt.onnx.save(train, path)
    given = [drawn("xy", rng) for _ in range(STEPS)]
    first = state = drawn("wv", rng)
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


def run(words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the worker in C, built as its comment says."""
    if shutil.which("gcc") is None or sys.platform != "linux":
        pytest.skip("gcc is not installed, or the program's comment is for Linux")
    require("onnxruntime", "the program runs on its library")
    folder = shutil.copytree(EXAMPLES / "worker_c", tmp_path_factory.mktemp("c") / "worker")
    lines = re.findall(r"^//     (.*)$", (folder / "train.c").read_text(), re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = run(["sh", "-ec", "\n".join(lines[:3])], cwd=folder, env={**os.environ, "PATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_c_trains_as_dovetail_does(built, tmp_path, rng):
    w, v = (dt.Variable(value, name=name) for name, value in drawn("wv", rng).items())

    def step(x, y):
        loss, slopes = gradients(x, y, w, v)
        for variable, slope in zip([w, v], slopes, strict=True):
            variable.assign_sub(0.1 * slope)
        return loss

    train = dt.function(step, engine="numpy", input_signature=[dt.spec(SHAPES[name]) for name in "xy"])
    dt.onnx.save(train, tmp_path / "step.onnx")
    batches = [drawn("xy", rng) for _ in range(STEPS)]
    (tmp_path / "batches.f32").write_bytes(b"".join(one.tobytes() for batch in batches for one in batch.values()))
    done = run([built / "train", "step.onnx", "batches.f32", "weights.txt"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    losses = [float(train(*batch.values())) for batch in batches]
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], losses, rtol=1e-6, atol=1e-6)
    found = dict(line.split(" ", 1) for line in (tmp_path / "weights.txt").read_text().splitlines())
    assert found.keys() == {"w", "v"}
    for variable in (w, v):
        numbers = np.array(found[variable.name].split(), "float32").reshape(variable.shape)
        np.testing.assert_allclose(numbers, variable.numpy(), rtol=1e-6, atol=1e-6)


def test_the_worker_in_c_needs_no_python(built):
    assert "onnxruntime" in (libraries := run(["ldd", "train"], cwd=built).stdout)
    assert "libpython" not in libraries


def test_the_worker_in_c_names_what_is_wrong(built, tmp_path):
    half = dt.function(lambda x: x / 2.0, input_signature=[dt.spec((None, 2))])
    dt.onnx.save(half, tmp_path / "step.onnx")
    done = run([built / "train", "step.onnx", "x", "y"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "give the signature of the step all dimensions: input x\n")
    words = ["gcc", "-DORT_API_VERSION=999", "train.c", "libonnxruntime.so.1", "-Wl,-rpath,$ORIGIN", "-o", "later"]
    assert run(words, cwd=built).returncode == 0
    done = run([built / "later", "step.onnx", "x", "y"], cwd=tmp_path)
    assert done.returncode == 1 and "its interface is another in ONNX Runtime 1." in done.stderr
