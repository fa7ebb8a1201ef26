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
    ("DynamicQuantizeMatMul", [A, integers("int8", 4, 5) // 2, OF_ROWS, np.zeros(5, "int8"), ROW], {}),
    ("QuantizeLinear", [A, SCALE, ZERO], {}),
    ("DequantizeLinear", [integers("uint8", 3, 4), SCALE, ZERO], {}),
]


@pytest.mark.parametrize(
    ("name", "arrays", "attributes"), CALLS, ids=[f"{i} {call[0]}" for i, call in enumerate(CALLS)]
)
def test_a_node_computes_what_onnx_runtime_does(name: str, arrays: list[Any], attributes: dict[str, Any]):
    ((right, found),) = results(name, arrays, ["y"], DOMAIN, **attributes)
    gap = np.abs(found.astype("float64") - right.astype("float64")).max()
    assert gap <= (1 if right.dtype.kind in "iu" else 1e-4 * max(1, np.abs(right).max()))


def results(
    name: str, arrays: list[Any], outputs: list[str], domain: str, is_open: bool = False, **attributes: Any
) -> list[Any]:
    """The pairs of results of ONNX Runtime and of Dovetail for a node, whose first array with axes is fed.

    The sizes of this array may be open.
    """
    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    given = [(name, np.asarray(array)) for name, array in zip(names, arrays, strict=True) if name]
    x, array = given.pop(next(i for i, (_, array) in enumerate(given) if array.ndim))
    wanted, shape = [name for name in outputs if name], [None] * array.ndim if is_open else array.shape
    graph = helper.make_graph(
        [helper.make_node(name, names, outputs, domain=domain, **attributes)],
        "graph",
        [helper.make_tensor_value_info(x, helper.np_dtype_to_tensor_dtype(array.dtype), shape)],
        [onnx.ValueInfoProto(name=name) for name in wanted],
        [numpy_helper.from_array(one, name) for name, one in given],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    message = helper.make_model(graph, opset_imports=imports, ir_version=10)
    right = session_of(message.SerializeToString()).run(None, {x: array})
    found = dt.onnx.load(message)(array)
    found = [one.numpy() for one in (found.values() if isinstance(found, dict) else [found])]
    assert [(one.dtype, one.shape) for one in found] == [(one.dtype, one.shape) for one in right]
    return list(zip(right, found, strict=True))


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        (f"{DOMAIN}.DynamicQuantizeMatMul", [0 * A, integers("int8", 4, 5), SCALE, np.int8(3)]),
        ("DynamicQuantizeLinear", [0 * A]),
    ],
)
def test_zeros_alone_are_quantized_by_the_scale_1(name: str, arrays: list[Any]):
    domain, _, name = name.rpartition(".")
    outputs = ["y"] if domain else ["y", "scale", "zero"]
    for right, found in results(name, arrays, outputs, domain):
        np.testing.assert_array_equal(found, right)


# -- transformers -----------------------------------------------------------------------------------------------------

WIDE, TEXT = floats(2, 5, 16), RNG.integers(0, 9, (2, 5)).astype("int32")
KERNEL_QKV, BIAS_QKV, KEYS = 0.3 * floats(16, 48), floats(48), [floats(2, 7, 16), floats(2, 7, 24)]
OPEN = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")
ENDS = np.array([3, 5], "int32")
TABLES = [floats(9, 16), floats(9, 16)]
HEADS = {"num_heads": 4}


def packed(bits: int, size: int, rows: int, block: int, *more: Any) -> tuple[str, list[Any], int, dict[str, Any]]:
    """A call of a product with packed weights, with zero points that are packed, too, if `more` has none."""
    blocks = -(-size // block)
    weights = RNG.integers(0, 256, (rows, blocks, block * bits // 8)).astype("uint8")
    scales = RNG.uniform(0.01, 0.1, rows * blocks).astype("float32")
    zeros = more or (RNG.integers(0, 256, rows * -(-blocks * bits // 8)).astype("uint8"),)
    attributes = {"K": size, "N": rows, "bits": bits, "block_size": block}
    return "MatMulNBits", [floats(2, 3, size), weights, scales, *zeros], 1, attributes


TRANSFORMERS: list[tuple[str, list[Any], int, dict[str, Any]]] = [  # type, inputs, number of results, attributes
    packed(4, 64, 8, 32, None),
    packed(4, 70, 9, 32),
    packed(4, 100, 7, 32, RNG.uniform(0, 15, (7, 4)).astype("float32"), None, floats(7)),
    packed(4, 64, 8, 32, None, RNG.permutation(np.arange(64) // 32).astype("int32")),
    packed(8, 64, 8, 32),
    packed(2, 64, 8, 32),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV], 2, HEADS),
    ("Attention", [WIDE, KERNEL_QKV, None, OPEN], 1, {**HEADS, "unidirectional": 1}),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV, ENDS], 1, {**HEADS, "mask_filter_value": -3.0}),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV, np.array([3, 5, 1, 0], "int32")], 1, HEADS),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV, (RNG.random((2, 5, 5)) > 0.3).astype("int32")], 1, HEADS),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV, None, floats(2, 2, 4, 3, 4)], 2, {**HEADS, "unidirectional": 1}),
    ("Attention", [WIDE, KERNEL_QKV, BIAS_QKV, None, None, floats(2, 4, 5, 5)], 1, {**HEADS, "scale": 0.7}),
    ("Attention", [WIDE, KERNEL_QKV[:, :40], BIAS_QKV[:40]], 1, {**HEADS, "qkv_hidden_sizes": [8, 8, 24]}),
    ("MultiHeadAttention", [WIDE, *KEYS, floats(56)], 3, HEADS),
    ("MultiHeadAttention", [WIDE, *KEYS, None, np.array([3, 7], "int32")], 1, HEADS),
    ("MultiHeadAttention", [WIDE, *KEYS, None, None, floats(1, 1, 5, 7)], 1, {**HEADS, "scale": 0.4}),
    ("MultiHeadAttention", [WIDE, WIDE, WIDE, None, None, None, floats(2, 4, 3, 4), floats(2, 4, 3, 4)], 3, HEADS),
    ("MultiHeadAttention", [WIDE, floats(2, 4, 7, 4), floats(2, 4, 7, 4)], 1, HEADS),
    ("EmbedLayerNormalization", [TEXT, TEXT, *TABLES, floats(9, 16), floats(16), floats(16), OPEN], 2, {}),
    ("EmbedLayerNormalization", [TEXT, None, *TABLES, None, floats(16), floats(16), None, TEXT], 3, {"epsilon": 1e-3}),
    ("QLinearAveragePool", [*scaled("uint8", 2, 3, 7, 8), SCALE, ZERO], 1, {"kernel_shape": [3, 2], "strides": [2, 2]}),
    (
        "QLinearAveragePool",
        [*scaled("int8", 2, 7, 8, 3), SCALE, np.int8(7)],
        1,
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "channels_last": 1},
    ),
    ("QLinearSoftmax", [*scaled("uint8", 2, 3, 7), np.float32(1 / 256), np.uint8(0)], 1, {"axis": 1, "opset": 13}),
    ("QLinearSoftmax", [*scaled("int8", 2, 3, 7), np.float32(1 / 256), np.int8(-128)], 1, {"axis": 1, "opset": 12}),
    (
        "QLinearWhere",
        [RNG.random((2, 3)) > 0.5, *scaled("uint8", 2, 3), *scaled("uint8", 2, 3), SCALE, ZERO],
        1,
        {},
    ),
]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("name", "arrays", "count", "attributes"), TRANSFORMERS, ids=[f"{i} {c[0]}" for i, c in enumerate(TRANSFORMERS)]
)
def test_nodes_of_transformers(name: str, arrays: list[Any], count: int, attributes: dict[str, Any], is_open: bool):
    outputs = [f"y{i}" for i in range(count)]
    for right, found in results(name, arrays, outputs, DOMAIN, is_open, **attributes):
        limit = 1 if right.dtype == found.dtype in ("uint8", "int8") else 1e-4
        np.testing.assert_allclose(found.astype("float64"), right.astype("float64"), rtol=1e-4, atol=limit)


def test_a_mean_of_integers_is_rounded_to_their_scale():
    x, scale, zero = scaled("uint8", 2, 3, 4)
    names = ["x", "s", "z", "t", "w"]
    node = helper.make_node("QLinearReduceMean", names, ["y"], domain=DOMAIN, axes=[1], keepdims=0)
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, x.shape)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, None)]
    constants = [
        numpy_helper.from_array(np.asarray(a), n) for a, n in zip((scale, zero, SCALE, ZERO), names[1:], strict=True)
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs, constants)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    found = dt.onnx.load(helper.make_model(graph, opset_imports=imports))(x).numpy()
    mean = ((x.astype("float64") - zero) * scale).mean(1)
    np.testing.assert_allclose(found, np.clip(np.rint(mean / SCALE) + ZERO, 0, 255), atol=1)


# -- recurrent layers -------------------------------------------------------------------------------------------------

UNITS, ROWS = 6, 3
ALL, BOTH = ["y", "h", "c"], ["forward", "reverse", "bidirectional"]
FILLED = {"bias": True, "first": True}
LENGTHS = [{"lengths": one} for one in ([5, 2, 3], [4, 2, 1], [4, 2, 0])]  # all steps, fewer, a row without any
LSTMS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [  # arrays, attributes, outputs
    ({}, {}, ALL),
    *(({**FILLED, "columns": True}, {"direction": way}, ALL) for way in BOTH),
    ({"dtype": "uint8", "zero": 100}, {"direction": "bidirectional"}, ALL),
    ({"dtype": "uint8", "zero": 90, "columns": True}, {"direction": "bidirectional"}, ALL),
    ({"zero": 3}, {}, ALL),
    *(({**FILLED, **one}, {"direction": way}, ALL) for one in LENGTHS for way in BOTH),
    *(({**FILLED, **one}, {"direction": way}, ["", "h", "c"]) for one in LENGTHS[:2] for way in BOTH),
    (FILLED, {}, ["y"]),
    ({**FILLED, "peephole": True}, {"clip": 0.3}, ALL),
    ({**FILLED, "peephole": True}, {"input_forget": 1}, ALL),
    ({}, {"activations": ["HardSigmoid", "Relu", "Tanh"], "activation_alpha": [0.3], "activation_beta": [0.4]}, ALL),
]


def recurrent(
    count: int,
    dtype: str = "int8",
    zero: int = 0,
    columns: bool = False,
    bias: bool = False,
    first: bool = False,
    peephole: bool = False,
    lengths: Any = None,
) -> list[Any]:
    """The inputs of a quantized LSTM of some directions, with scales of them or of their columns.

    The weights are small enough for processors whose products of bytes are kept within 16 bits.
    """
    low, high = (-60, 60) if dtype == "int8" else (zero - 60, zero + 60)
    kernels = [RNG.integers(low, high, (count, rows, 4 * UNITS)).astype(dtype) for rows in (4, UNITS)]
    of_whom = (count, 4 * UNITS) if columns else (count,)
    scales = [(RNG.uniform(0.005, 0.02, of_whom).astype("float32"), np.full(of_whom, zero, dtype)) for _ in range(2)]
    return [
        floats(5, ROWS, 4),
        *kernels,
        floats(count, 8 * UNITS) if bias else None,
        None if lengths is None else np.array(lengths, "int32"),
        *(2 * floats(count, ROWS, UNITS) if first else None for _ in range(2)),
        floats(count, 3 * UNITS) if peephole else None,
        *scales[0],
        *scales[1],
    ]


GIVEN = [recurrent(2 if way.get("direction") == "bidirectional" else 1, **arrays) for arrays, way, _ in LSTMS]


@pytest.mark.parametrize("number", range(len(LSTMS)), ids=lambda i: f"{i} {LSTMS[i]}")
def test_a_quantized_lstm_computes_what_onnx_runtime_does(number: int, engine: str):
    _, attributes, outputs = LSTMS[number]
    pairs = results(
        "DynamicQuantizeLSTM", GIVEN[number], outputs, DOMAIN, number % 2 == 0, hidden_size=UNITS, **attributes
    )
    for right, found in pairs:
        np.testing.assert_allclose(found, right, atol=1e-5)


@pytest.mark.parametrize("per_channel", [False, True])
def test_an_lstm_that_onnx_runtime_quantized_is_read(per_channel: bool, tmp_path: Path):
    from onnxruntime.quantization import quantize_dynamic

    arrays = {"w": floats(2, 4 * UNITS, 4), "r": floats(2, 4 * UNITS, UNITS), "b": floats(2, 8 * UNITS)}
    node = helper.make_node("LSTM", ["x", *arrays], ["y", "h"], hidden_size=UNITS, direction="bidirectional")
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", 1, ("steps", "batch", 4))],
        [helper.make_tensor_value_info(name, 1, None) for name in node.output],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "a.onnx")
    path = tmp_path / "quantized.onnx"
    quantize_dynamic(tmp_path / "a.onnx", path, per_channel=per_channel, reduce_range=True)
    assert [node.op_type for node in onnx.load(path).graph.node] == ["DynamicQuantizeLSTM"]
    x = floats(5, ROWS, 4)
    loaded = dt.onnx.load(path)
    for call in (loaded, dt.function(loaded)):
        found = call(x)
        for name, right in zip(node.output, session_of(str(path)).run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(found[name].numpy(), right, atol=1e-2)  # a number may be rounded to the next one


@pytest.mark.parametrize(("name", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("direction", BOTH)
def test_recurrent_layers_of_rows_of_other_lengths(name: str, gates: int, direction: str):
    count = 2 if direction == "bidirectional" else 1
    kernels = [floats(count, gates * UNITS, size) for size in (4, UNITS)]
    states = [floats(count, ROWS, UNITS) for _ in range(2 if name == "LSTM" else 1)]
    given = [floats(5, ROWS, 4), *kernels, floats(count, 2 * gates * UNITS), np.array([4, 2, 0], "int32"), *states]
    outputs = ALL[: 1 + len(states)]
    for right, found in results(name, given, outputs, "", hidden_size=UNITS, direction=direction):
        np.testing.assert_allclose(found, right, atol=1e-5)


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
