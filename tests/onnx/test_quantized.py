"""Quantized weights of files: they are saved as the integers that they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import dovetail as dt
from tests.formats.onnx.running import session
from tests.libraries import require

require("onnxruntime", "it says what is right")

RNG = np.random.default_rng(0)
N = helper.make_node
X = RNG.normal(size=(2, 8, 12, 12)).astype("float32")


def quantized(dtype: str, axis: int | None) -> onnx.ModelProto:
    """A convolution and a product of quantized weights, of one scale, or of one for each slice of an axis."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    arrays = {
        "w": RNG.integers(low, high, (128, 8, 3, 3)).astype(dtype),
        "v": RNG.integers(low, high, (128, 128)).astype(dtype),
    }
    for name in ("w", "v"):
        count = () if axis is None else (128,)
        arrays[f"{name}s"] = RNG.uniform(0.001, 0.01, count).astype("float32")
        arrays[f"{name}z"] = np.zeros(count, dtype) if axis is None else RNG.integers(0, 5, count).astype(dtype)
    arrays |= {"xs": np.array(0.05, "float32"), "xz": np.array(3, "uint8")}
    nodes = [
        N("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        N("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        N("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=axis or 0),
        N("Conv", ["xd", "wd"], ["c"]),
        N("GlobalAveragePool", ["c"], ["p"]),
        N("Flatten", ["p"], ["f"]),
        N("DequantizeLinear", ["v", "vs", "vz"], ["vd"], axis=axis or 0),
        N("MatMul", ["f", "vd"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("batch", 8, 12, 12))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("batch", 128))],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


@pytest.mark.parametrize(("dtype", "axis"), [("int8", None), ("int8", 0), ("uint8", 0)])
def test_quantized_weights_stay_integers(dtype: str, axis: int | None, tmp_path: Path):
    message = quantized(dtype, axis)
    dt.onnx.load(message).save(tmp_path / "model.onnx")
    saved = onnx.load(tmp_path / "model.onnx")
    floats = [one for one in saved.graph.initializer if one.data_type == TensorProto.FLOAT]
    assert max(int(np.prod(one.dims)) for one in floats) <= 128
    assert (tmp_path / "model.onnx").stat().st_size < 1.2 * message.ByteSize()
    (right,) = ReferenceEvaluator(message).run(None, {"x": X})  # ONNX Runtime rounds between the products
    (found,) = session(tmp_path / "model.onnx").run(None, {"x": X})
    assert np.allclose(found, right, rtol=1e-3, atol=1e-3)
