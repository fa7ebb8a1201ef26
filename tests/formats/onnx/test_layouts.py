"""Transposes of written models: they move behind other operators, and cancel out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.onnx.running import onnx, run, types_in
from tests.libraries import require

require("onnx", "its checker looks at what is written")
require("onnxruntime", "it runs what is written")


def kernels(*shapes: tuple[int, ...]) -> list[dt.Variable]:
    rng = np.random.default_rng(1)
    return [dt.Variable(rng.normal(size=shape).astype("float32"), name=f"w{i}") for i, shape in enumerate(shapes)]


def chain(x: Any, k: Any, b: Any, v: Any) -> Any:
    y = dt.ops.max_pool(dt.ops.relu(dt.ops.conv(x, k, padding="same") + b), 2, strides=2)
    return dt.ops.sigmoid(dt.ops.conv(y, v))


def block(x: Any, k: Any, b: Any, v: Any) -> Any:
    y = dt.ops.relu(dt.ops.conv(x, k, padding="same") + b)
    z = dt.ops.conv(dt.ops.pad(y, [(0, 0), (1, 1), (1, 1), (0, 0)]), v)
    joined = dt.ops.concatenate([y, dt.ops.gelu(z) + y], axis=-1)
    return dt.ops.mean(joined, axis=(1, 2))


def kept(x: Any, k: Any, b: Any, v: Any) -> Any:
    return dt.ops.sum(dt.ops.conv(x, k), axis=-1, keepdims=True) * x[:, 1:-1, 1:-1, :1]


CASES = {"chain": (chain, 2), "block": (block, 1), "kept": (kept, 2)}


@pytest.mark.parametrize("name", CASES)
def test_few_transposes_stay(name: str, tmp_path: Path, rng: np.random.Generator):
    function, count = CASES[name]
    weights = kernels((3, 3, 3, 5), (5,), (3, 3, 5, 5))
    compiled = dt.function(lambda x: function(x, *weights), input_signature=[dt.spec((None, 8, 8, 3))])
    dt.onnx.save(compiled, tmp_path / "model.onnx")
    x = rng.normal(size=(2, 8, 8, 3)).astype("float32")
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x)[0], compiled(x).numpy(), rtol=1e-4, atol=1e-4)
    assert types_in(onnx.load(tmp_path / "model.onnx").graph).count("Transpose") == count
