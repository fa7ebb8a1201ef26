"""Nodes that need shapes stay in the graph until they are known: edits count in calls, gradients and functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt
from dovetail.formats.nodes.waiting import WaitingOp
from tests import foreign
from tests.formats.onnx.running import session_of
from tests.libraries import require

require("onnxruntime", "it says what is right")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 8, 10)).astype("float32")
OPEN = (None,) * 4
N = helper.make_node


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
    return helper.make_graph([*nodes], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])


POOL = {"kernel_shape": [3, 3], "strides": [2, 2]}
SIZES = [N("Shape", ["h"], ["s"]), N("Slice", ["s", "0", "2"], ["nc"]), N("Concat", ["nc", "hw"], ["sizes"], axis=0)]
KINDS: dict[str, tuple[list[onnx.NodeProto], dict[str, Any]]] = {  # nodes from h to k, and their weights
    "Conv": ([N("Conv", ["h", "w"], ["k"], auto_pad="SAME_UPPER", strides=[2, 2])], {"w": drawn(5, 3, 3, 3)}),
    "MaxPool": ([N("MaxPool", ["h"], ["k"], ceil_mode=1, **POOL)], {}),
    "AveragePool": ([N("AveragePool", ["h"], ["k"], pads=[1, 1, 1, 1], **POOL)], {}),
    "LpPool": ([N("LpPool", ["h"], ["k"], kernel_shape=[3, 3])], {}),
    "Resize": ([N("Resize", ["h", "", "w"], ["k"], mode="linear")], {"w": np.array([1, 1, 2, 2], "float32")}),
    "Resize to sizes": ([*SIZES, N("Resize", ["h", "", "", "sizes"], ["k"])], {"0": [0], "2": [2], "hw": [7, 9]}),
    "Pad": ([N("Pad", ["h", "p"], ["k"], mode="reflect")], {"p": [0, 0, 1, 1, 0, 0, 1, 1]}),
    "ConvTranspose": (
        [N("ConvTranspose", ["h", "w"], ["k"], strides=[2, 2], auto_pad="SAME_UPPER")],
        {"w": drawn(3, 4, 3, 3)},
    ),
    "Slice": (
        [N("Slice", ["h", "a", "b", "c", "d"], ["k"])],
        {"a": [-1], "b": [-1000], "c": [3], "d": [-2]},
    ),
    "Split": ([N("Split", ["h"], ["k", "other"], axis=2, num_outputs=2)], {}),
    "LRN": ([N("LRN", ["h"], ["k"], size=3)], {}),
    "CenterCropPad": ([N("CenterCropPad", ["h", "hw"], ["k"], axes=[2, 3])], {"hw": [5, 6]}),
    "sequence": (
        [N("SplitToSequence", ["h"], ["q"], axis=2), N("ConcatFromSequence", ["q"], ["k"], axis=3)],
        {},
    ),
    "If": (
        [
            N("ReduceMean", ["h"], ["r"], keepdims=0),
            N("Greater", ["r", "0"], ["c"]),
            N(
                "If",
                ["c"],
                ["k"],
                then_branch=branch("t", N("MaxPool", ["h"], ["t"], ceil_mode=1, **POOL)),
                else_branch=branch("e", N("Neg", ["h"], ["e"])),
            ),
        ],
        {"0": np.array(0, "float32")},
    ),
}


def model(kind: str, shape: Sequence[Any] = OPEN, is_edited: bool = False) -> onnx.ModelProto:
    """Relu, the nodes of a kind, Neg; edited, the result of Relu is doubled, and one is added before Neg."""
    nodes, weights = KINDS[kind]
    first, last = [N("Relu", ["x"], ["h"], "relu")], [N("Neg", ["k"], ["y"], "neg")]
    if is_edited:
        first = [N("Relu", ["x"], ["h0"]), N("Mul", ["h0", "2f"], ["h"])]
        last = [N("Add", ["k", "1f"], ["k1"]), N("Neg", ["k1"], ["y"])]
    arrays = {**weights, "1f": np.array(1, "float32"), "2f": np.array(2, "float32")}
    graph = helper.make_graph(
        [*first, *nodes, *last],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def edit(graph: dt.Graph) -> None:
    graph.insert_after(graph.get_tensor("relu:0"), lambda t: t * 2)
    graph.insert_after(graph.get_operation("neg").inputs[0], lambda t: t + 1)


def results(message: onnx.ModelProto, x: np.ndarray = X) -> np.ndarray:
    (found,) = session_of(message.SerializeToString()).run(None, {"x": x})
    return found


def same(found: Any, right: np.ndarray) -> bool:
    return found.shape == right.shape and np.allclose(found.numpy(), right, atol=1e-4)


AT_ONCE = ("Slice", "Pad", "Split", "CenterCropPad", "ConvTranspose", "LRN")  # they take any sizes


@pytest.mark.each("kind")
@pytest.mark.parametrize("kind", KINDS)
def test_edits_count_while_a_node_waits(kind: str, engine: str):
    right, edited = results(model(kind)), results(model(kind, is_edited=True))
    loaded = dt.onnx.load(model(kind))
    assert kind in AT_ONCE or any(isinstance(op.op, WaitingOp) for op in loaded.graph)
    edit(loaded.graph)
    assert same(loaded(X), edited)
    later = dt.onnx.load(model(kind))
    assert same(later(X), right)
    edit(later.graph)
    assert same(later(X), edited)
    inside = dt.function(lambda x: later(x), input_signature=[dt.spec(OPEN)])
    assert same(inside(X), edited)


@pytest.mark.each("kind")
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_pass_a_node_that_waits(kind: str):
    step, edited = drawn(*X.shape), model(kind, is_edited=True)
    x, step = X.astype("float64"), step / 64
    ends = [results(edited, (x + sign * step).astype("float32")).astype("float64") for sign in (1, -1)]
    right = (ends[0] ** 2 - ends[1] ** 2).sum() / 2
    loaded = dt.onnx.load(model(kind))
    edit(loaded.graph)

    def by_hand(x: Any) -> Any:
        return dt.gradients(dt.ops.sum(dt.ops.square(loaded(x))), x)[0]

    x = dt.ops.convert(X)
    with dt.GradientTape() as tape:
        tape.watch(x)
        loss = dt.ops.sum(dt.ops.square(loaded(x)))
    found = tape.gradient(loss, x).numpy()
    assert np.allclose((found * step).sum(), right, rtol=0.1, atol=0.1)
    assert np.allclose(dt.function(by_hand, input_signature=[dt.spec(OPEN)])(x).numpy(), found, atol=1e-3)


def test_a_file_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(model("Conv").SerializeToString())
    count, read = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: count.append(path) or read(path))
    loaded = dt.onnx.load(tmp_path / "model.onnx")
    first = loaded._model.read
    monkeypatch.setattr(type(loaded._model), "read", lambda *args: count.append(args) or first(*args[1:]))
    for size in (4, 6):
        loaded(X[:, :, :size])
    assert len(count) == 1


@dt.RegisterGradient("NoneOfIt")
def _none(op: Any, gradient: Any) -> Any:
    return [dt.ops.zeros_like(x) for x in op.inputs]


def test_names_places_and_overrides_stay_with_a_node_that_waits():
    loaded = dt.onnx.load(model("Conv"))
    (conv,) = [op for op in loaded.graph if isinstance(op.op, WaitingOp)]
    conv.change(name="stem")
    conv.engine = "numpy"
    loaded.graph.override_gradients({"Conv2D": "NoneOfIt", "Relu": "NoneOfIt"})
    inside = dt.function(lambda x: loaded(x), input_signature=[dt.spec(X.shape)])
    (stem,) = [op for op in inside.graph(X) if op.name == "stem"]
    assert (stem.engine, isinstance(stem.op, WaitingOp)) == ("numpy", False)
    x = dt.ops.convert(X)
    with dt.GradientTape() as tape:
        tape.watch(x)
        loss = dt.ops.sum(loaded(x))
    assert not tape.gradient(loss, x).numpy().any()


def test_weights_of_a_node_that_waits_are_variables():
    loaded = dt.onnx.load(model("Conv"))
    assert [variable.name for variable in loaded.variables] == ["w"]
    assert dt.onnx.load(model("Resize")).variables == []  # its scales are no weights
    loaded.graph.replace_variables({loaded.variables[0]: dt.Variable(np.zeros((5, 3, 3, 3), "float32"))})
    assert not loaded(X).numpy().any()


def test_a_node_waits_in_the_body_of_a_loop():
    loaded = dt.onnx.load(model("MaxPool"))

    def repeated(x: Any) -> Any:
        return dt.ops.scan(lambda carry, step: (carry, step * dt.ops.sum(loaded(carry))), x, dt.ops.ones(3))[1]

    found = dt.function(repeated, input_signature=[dt.spec(OPEN)])(X)
    assert np.allclose(found.numpy(), [results(model("MaxPool")).sum()] * 3, rtol=1e-4)


@pytest.mark.parametrize("is_in_function", [False, True])
def test_a_result_that_nobody_needs_has_a_type_though_no_line_declares_it(is_in_function: bool, tmp_path: Path):
    """The positions of TopK, of which a number of elements is an input."""
    top, opsets = N("TopK", ["x", "k"], ["y", "at"]), [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    function = helper.make_function("my", "Top", ["x", "k"], ["y"], [top], opsets[:1])
    inputs = [helper.make_tensor_value_info(*one) for one in (("x", 1, ["n", 5]), ("k", 7, [1]))]
    nodes = [N("Top", ["x", "k"], ["y"], domain="my") if is_in_function else top]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)])
    functions = [function] if is_in_function else []
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)
    given = {"x": drawn(3, 5), "k": np.array([2])}
    (expected,) = session_of(model.SerializeToString()).run(None, given)
    loaded = dt.onnx.load(model)
    inside = dt.function(lambda x, k: loaded(x, k) * 2.0, input_signature=list(loaded.input_specs.values()))
    np.testing.assert_array_equal(inside(*given.values()).numpy(), 2 * expected)
    dt.saved_model.save(loaded, tmp_path / "model")
    (found,) = foreign.saved_model(tmp_path / "model", given).values()
    np.testing.assert_array_equal(found, expected)


def test_a_graph_of_a_node_that_waits_is_not_saved(tmp_path: Path):
    loaded = dt.onnx.load(model("Conv"))
    (conv,) = [op for op in loaded.graph if isinstance(op.op, WaitingOp)]
    assert conv.outputs[0].shape == OPEN
    advice = (
        r"Conv 'k' waits for shapes.* Load the model with shapes, such as load\(path, shapes={'x': \(1, 224, 224, 224\)"
    )
    for value in (loaded.graph, dt.function(loaded.graph)):
        with pytest.raises(TypeError, match=advice):
            dt.save(value, tmp_path / "file.safetensors")
    fixed = dt.onnx.load(model("Conv"), shapes={"x": X.shape})
    dt.save(fixed.graph, tmp_path / "file.safetensors")
    assert np.allclose(dt.function(dt.load(tmp_path / "file.safetensors"))(X).numpy(), loaded(X).numpy(), rtol=1e-5)
