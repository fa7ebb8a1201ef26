"""C that `emx-onnx-cgen` makes of exported models, for small devices: it computes the numbers of Dovetail."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import require
from tests.test_workers import saved

require("emx_onnx_cgen", "it makes C of models")


@pytest.fixture
def compiled(tmp_path):
    """A function that makes C of a model and compiles it: the arrays of all arguments → a call."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")

    def make(path):
        stem = tmp_path / path.stem
        options = [f"--model-name={stem.name}", "--large-weight-threshold=0", "--large-temp-threshold=0"]
        made = [sys.executable, "-m", "emx_onnx_cgen", "compile", path, f"{stem}.c", *options]
        built = ["gcc", "-O2", "-shared", "-fPIC", f"{stem}.c", "-o", f"{stem}.so", "-lm"]
        for words in (made, built):
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        function = getattr(ctypes.CDLL(f"{stem}.so"), stem.name)
        return lambda *arrays: function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))

    return make


def test_c_predicts_as_dovetail_does(compiled, tmp_path, rng):
    def drawn(*shape):
        return rng.normal(size=shape).astype("float32")

    kernel, recurrent, bias, dense = map(dt.Variable, (drawn(5, 16), drawn(4, 16), drawn(16), drawn(4, 3)))
    start = np.zeros((2, 4), "float32")
    filters = dt.Variable(drawn(3, 1, 5))

    def net(x):
        y = ops.relu(ops.conv(x, filters, padding="same"))
        return ops.softmax(ops.lstm(y, start, start, kernel, recurrent, bias)[1] @ dense)

    predict = dt.function(net, engine="numpy", input_signature=[dt.spec((2, 7, 1))])
    dt.onnx.save(predict, tmp_path / "net.onnx")
    x, found = drawn(2, 7, 1), np.zeros((2, 3), "float32")
    compiled(tmp_path / "net.onnx")(x, found)
    np.testing.assert_allclose(found, predict(x).numpy(), rtol=1e-5, atol=1e-6)


def test_c_trains_as_dovetail_does(compiled, tmp_path, rng):
    batches, state, losses, last = saved(tmp_path / "step.onnx", rng)
    step = compiled(tmp_path / "step.onnx")
    for batch, loss in zip(batches, losses, strict=True):
        found, new = np.zeros(1, "float32"), {name: np.zeros_like(value) for name, value in state.items()}
        step(batch["x"], batch["y"], state["w"], state["v"], found, new["v"], new["w"])
        np.testing.assert_allclose(found[0], loss, rtol=1e-6, atol=1e-6)
        state = new
    for name, value in state.items():
        np.testing.assert_allclose(value, last[name], rtol=1e-6, atol=1e-6)
