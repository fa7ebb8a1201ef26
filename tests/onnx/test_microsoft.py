"""Nodes of ONNX Runtime's own domain, which computes them, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import dovetail as dt
from tests.formats.onnx.running import onnxruntime, session_of
from tests.libraries import require

require("onnxruntime", "it says what is right")

RNG = np.random.default_rng(0)
DOMAIN = "com.microsoft"


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def integers(dtype: str, *shape: int) -> np.ndarray:
    return RNG.integers(0, 120, shape).astype(dtype)


def scaled(dtype: str, *shape: int) -> list[np.ndarray]:
    return [integers(dtype, *shape), np.float32(RNG.uniform(0.02, 0.05)), integers(dtype)]


IMAGE, KERNEL = floats(2, 3, 6, 6), floats(4, 3, 3, 3)
A, B, ROW = floats(3, 4), floats(4, 5), floats(5)
H = floats(2, 3, 8)
SCALE, ZERO = np.float32(0.1), np.uint8(7)
OF_ROWS = RNG.uniform(0.02, 0.05, 5).astype("float32")
CALLS: list[tuple[str, list[Any], dict[str, Any]]] = [  # type, inputs of which the first is fed, attributes
    ("FusedConv", [IMAGE, KERNEL, floats(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    ("FusedConv", [IMAGE, KERNEL, floats(4), floats(2, 4, 4, 4)], {"activation": "Relu"}),
    ("FusedConv", [IMAGE, KERNEL], {"activation": "Clip", "activation_params": [-0.5, 1.0]}),
    ("FusedConv", [IMAGE, KERNEL], {"activation": "LeakyRelu", "activation_params": [0.2]}),
    ("FusedConv", [IMAGE, KERNEL], {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}),
    ("FusedGemm", [A, B, ROW], {"activation": "Relu", "alpha": 0.5}),
    ("FusedGemm", [A, B, ROW], {"activation": "LeakyRelu", "activation_alpha": 0.2}),
    ("FusedMatMul", [A.T.copy(), B.T.copy()], {"transA": 1, "transB": 1, "alpha": 0.5}),
    ("Gelu", [A], {}),
    ("BiasGelu", [A, floats(4)], {}),
    ("FastGelu", [A, floats(4)], {}),
    ("QuickGelu", [A], {"alpha": 1.5}),
    ("SkipLayerNormalization", [H, floats(2, 3, 8), floats(8), floats(8), floats(8)], {"epsilon": 1e-3}),
    ("SkipSimplifiedLayerNormalization", [H, floats(2, 3, 8), floats(8)], {"epsilon": 1e-3}),
    *(
        (name, [*scaled(dtype, 3, 4), *scaled(dtype, 4), SCALE, np.asarray(7, dtype)], {})
        for name in ("QLinearAdd", "QLinearMul")
        for dtype in ("uint8", "int8")
    ),
    ("QLinearSigmoid", [*scaled("uint8", 3, 4), np.float32(1 / 256), np.uint8(0)], {}),
    ("QLinearLeakyRelu", [*scaled("int8", 3, 4), SCALE, np.int8(7)], {"alpha": 0.2}),
    ("QLinearConcat", [SCALE, ZERO, *scaled("uint8", 3, 4), *scaled("uint8", 3, 2)], {"axis": 1}),
    ("QLinearGlobalAveragePool", [*scaled("uint8", 2, 3, 4, 4), SCALE, ZERO], {"channels_last": 0}),
    ("QGemm", [*scaled("uint8", 3, 4), *scaled("int8", 4, 5), None, SCALE, ZERO], {}),
    ("QGemm", [*scaled("uint8", 3, 4), *scaled("int8", 4, 5), integers("int32", 5)], {"alpha": 0.5}),
    (
        "QGemm",
        [
            *scaled("uint8", 3, 4),
            integers("int8", 5, 4),
            OF_ROWS,
            np.zeros(5, "int8"),
            integers("int32", 5),
            SCALE,
            ZERO,
        ],
        {"transB": 1},
    ),
    (
        "MatMulIntegerToFloat",
        [integers("uint8", 3, 4), integers("int8", 4, 5), SCALE, OF_ROWS, ZERO, np.zeros(5, "int8"), ROW],
        {},
    ),
    ("DynamicQuantizeMatMul", [A, integers("int8", 4, 5), OF_ROWS, np.zeros(5, "int8"), ROW], {}),
    ("QuantizeLinear", [A, SCALE, ZERO], {}),
    ("DequantizeLinear", [integers("uint8", 3, 4), SCALE, ZERO], {}),
]


@pytest.mark.parametrize(
    ("name", "arrays", "attributes"), CALLS, ids=[f"{i} {call[0]}" for i, call in enumerate(CALLS)]
)
def test_a_node_computes_what_onnx_runtime_does(name: str, arrays: list[Any], attributes: dict[str, Any]):
    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    given = [(name, np.asarray(array)) for name, array in zip(names, arrays, strict=True) if name]
    fed = next(i for i, (_, array) in enumerate(given) if array.ndim)
    x, array = given.pop(fed)
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    graph = helper.make_graph(
        [helper.make_node(name, names, ["y"], domain=DOMAIN, **attributes)],
        "graph",
        [helper.make_tensor_value_info(x, number, array.shape)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(one, name) for name, one in given],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    message = helper.make_model(graph, opset_imports=imports, ir_version=10)
    (right,) = session_of(message.SerializeToString()).run(None, {x: array})
    found = dt.onnx.load(message)(array)
    found = found.numpy()
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    gap = np.abs(found.astype("float64") - right.astype("float64")).max()
    assert gap <= (1 if right.dtype.kind in "iu" else 1e-4 * max(1, np.abs(right).max()))


def test_a_model_that_onnx_runtime_fused_is_read(tmp_path: Path):
    N = helper.make_node
    nodes = [
        N("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        N("LeakyRelu", ["c"], ["r"], alpha=0.2),
        N("GlobalAveragePool", ["r"], ["p"]),
        N("Flatten", ["p"], ["f"]),
        N("Gemm", ["f", "v"], ["g"]),
        N("Relu", ["g"], ["y"]),
    ]
    arrays = {"w": KERNEL, "b": floats(4), "v": floats(4, 5)}
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", 1, ("batch", 3, 6, 6))],
        [helper.make_tensor_value_info("y", 1, ("batch", 5))],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(message.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert {node.op_type for node in onnx.load(tmp_path / "fused.onnx").graph.node} >= {"FusedConv", "FusedGemm"}
    (right,) = session_of(message.SerializeToString()).run(None, {"x": IMAGE})
    assert np.allclose(dt.onnx.load(tmp_path / "fused.onnx")(IMAGE).numpy(), right, atol=1e-5)
