"""Models as exporters and tools write them: odd, but right."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt
from tests.libraries import Library
from tests.onnx.test_loading import W, X, dense, model, value

onnx_ir = Library("onnx_ir")
DENSE = np.maximum(X @ W, 0)
FLAG = numpy_helper.from_array(np.array(2, "int64"), "two")


def constant(array: np.ndarray, name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def test_weights_as_constants_are_trained_like_others():
    nodes = [constant(W, "w"), *dense().graph.node]
    loaded = dt.onnx.load(model(nodes, [value("x", "batch", 4)], [value("y", "batch", 3)]))
    assert [variable.name for variable in loaded.trainable_variables] == ["w"]
    assert np.allclose(loaded(X).numpy(), DENSE, atol=1e-6)


def branches(condition: str, inputs: list[onnx.ValueInfoProto], *nodes: onnx.NodeProto) -> onnx.ModelProto:
    """A model that squeezes x or leaves it; the weights are in the branches."""
    then = [
        constant(W, "w1"),
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Squeeze", ["a"], ["b"]),
    ]
    other = [constant(-W, "w2"), helper.make_node("MatMul", ["x", "w2"], ["c"])]
    parts = [helper.make_graph(part, "part", [], [value(name)]) for part, name in ((then, "b"), (other, "c"))]
    node = helper.make_node("If", [condition], ["y"], then_branch=parts[0], else_branch=parts[1])
    return model([*nodes, node], inputs, [value("y", None)], FLAG)


def test_branches_of_other_ranks_are_chosen_by_shapes():
    """PyTorch writes such branches for `squeeze`."""
    nodes = helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"])
    nodes = (constant(np.array(0), "zero"), *nodes, helper.make_node("Less", ["n", "two"], ["few"]))
    loaded = dt.onnx.load(branches("few", [value("x", "batch", 4)], *nodes))
    assert np.allclose(loaded(X[:1]).numpy(), X[0] @ W, atol=1e-6)
    assert np.allclose(loaded(X).numpy(), -X @ W, atol=1e-6)


def test_branches_of_other_ranks_are_chosen_by_values():
    loaded = dt.onnx.load(branches("few", [value("x", "batch", 4), value("few", dtype=TensorProto.BOOL)]))
    for few, wanted in ((True, (X @ W).squeeze()), (False, -X @ W)):
        assert np.allclose(loaded(X, np.array(few)).numpy(), wanted, atol=1e-6)


def test_a_wrong_shape_warns_once():
    loaded = dt.onnx.load(model([helper.make_node("Relu", ["x"], ["y"])], [value("x", 5)], [value("y", 7, 7)]))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            assert loaded(X).shape == X.shape
    assert len(found) == 1


def test_domains_that_no_node_uses_are_ignored():
    proto = dense()
    proto.opset_import.add(domain="com.example.none", version=3)
    proto.opset_import.add(domain="ai.onnx.ml", version=99)
    assert np.allclose(dt.onnx.load(proto)(X).numpy(), DENSE, atol=1e-6)


def test_weights_that_are_inputs_too():
    """Files of ir_version 3 list each weight among the inputs."""
    proto = dense()
    proto.ir_version = 3
    proto.graph.input.append(value("w", 4, 3))
    loaded = dt.onnx.load(proto)
    assert loaded.inputs == ["x"]
    assert np.allclose(loaded(X).numpy(), DENSE, atol=1e-6)


@pytest.mark.parametrize(
    ("input", "node", "output"),
    [
        ("x.1", "/layer.0/act/Relu", "/layer.0/act/Relu_output_0"),  # PyTorch
        ("serving_default_x:0", "StatefulPartitionedCall/model/relu/Relu", "StatefulPartitionedCall:0"),  # tf2onnx
        ("image", "p2o.Relu.0", "relu_0.tmp_0"),  # PaddlePaddle
    ],
)
def test_names_stay(input: str, node: str, output: str):
    proto = model([helper.make_node("Relu", [input], [output], node)], [value(input, 2, 4)], [value(output, 2, 4)])
    loaded = dt.onnx.load(proto)
    assert (loaded.inputs, loaded.outputs) == ([input], [output])
    assert loaded.graph.find("Relu")[0].name == node
    assert np.allclose(loaded(**{input: X}).numpy(), np.maximum(X, 0))


def test_functions_with_attributes():
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    found = model(
        [helper.make_node("leak", ["x"], ["y"], domain="own", slope=0.5)], [value("x", 2, 4)], [value("y", 2, 4)]
    )
    found.opset_import.append(imports[1])
    found.functions.append(helper.make_function("own", "leak", ["a"], ["b"], [node], imports, ["slope"]))
    assert np.allclose(dt.onnx.load(found)(X).numpy(), np.where(X < 0, X / 2, X))


@pytest.mark.parametrize("opset", range(7, 29))
def test_opsets(opset: int):
    """Types whose inputs were attributes before: axes, sizes, ratios and limits."""
    sizes, axes = constant(np.array([1, 3]), "sizes"), constant(np.array([0]), "axes")
    limit = constant(np.array(0.25, "float32"), "limit")
    node = helper.make_node
    nodes = [
        node("Split", ["x"], ["a", "b"], axis=1, split=[1, 3]),
        node("Clip", ["b"], ["c"], max=0.25),
        node("ReduceSum", ["c"], ["d"], axes=[0]),
        node("Dropout", ["d"], ["e"]),
        node("Softmax", ["e"], ["y"], axis=1),
    ]
    if opset >= 11:
        nodes[1] = node("Clip", ["b", "", "limit"], ["c"])
    if opset >= 13:
        nodes[0] = node("Split", ["x", "sizes"], ["a", "b"], axis=1)
        nodes[2] = node("ReduceSum", ["c", "axes"], ["d"])
    loaded = dt.onnx.load(model([sizes, axes, limit, *nodes], [value("x", 2, 4)], [value("y", 1, 3)], opset=opset))
    powers = np.exp(np.minimum(X[:, 1:], 0.25).sum(0, keepdims=True))
    assert np.allclose(loaded(X).numpy(), powers / powers.sum(), atol=1e-6)


def test_small_integers(engine: str):
    """A product as quantizers write it: of int8, between QuantizeLinear and DequantizeLinear."""

    def scaled(node: str, *names: str) -> onnx.NodeProto:
        return helper.make_node(node, list(names[:-1]), [names[-1]])

    weights = {"s": np.array(1 / 64, "float32"), "z": np.array(3, "int8"), "t": np.array(1 / 16, "float32")}
    weights |= {"w": np.round(W * 64).clip(-128, 127).astype("int8"), "zero": np.array(0, "int8")}
    nodes = [
        scaled("QuantizeLinear", "x", "s", "z", "q"),
        scaled("QLinearMatMul", "q", "s", "z", "w", "s", "zero", "t", "zero", "p"),
        scaled("DequantizeLinear", "p", "t", "zero", "y"),
    ]
    arrays = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    loaded = dt.onnx.load(model(nodes, [value("x", "rows", 4)], [value("y", "rows", 3)], *arrays))
    assert np.abs(loaded(X).numpy() - X @ W).max() < 0.1


# -- objects of onnx and onnx_ir --------------------------------------------------------------------------------------


def test_models_of_onnx_ir():
    loaded = dt.onnx.load(onnx_ir.from_proto(dense()))
    assert (loaded.inputs, loaded.outputs) == (["x"], ["y"])
    assert np.allclose(loaded(X).numpy(), DENSE, atol=1e-6)


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match=r"a path, bytes, an onnx\.ModelProto or an onnx_ir\.Model is needed, not int"):
        dt.onnx.load(3)


WITHOUT = """
import sys
sys.modules["onnx"] = sys.modules["onnx_ir"] = None  # importing them raises
import numpy as np
import dovetail as dt
x = np.ones((1, 4), "float32")
for source in (sys.argv[1], open(sys.argv[1], "rb").read()):
    print(dt.onnx.load(source)(x).numpy().tolist())
"""


def test_files_need_neither_onnx_nor_onnx_ir(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(dense().SerializeToString())
    command = [sys.executable, "-c", WITHOUT, str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == lines[1]
    assert np.allclose(json.loads(lines[0]), W.sum(0), atol=1e-5)
