"""Quantized weights of files: they are saved as the integers that they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import dovetail as dt
from tests.formats.onnx.running import session, session_of, types_in
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
    files = message.SerializeToString(), (tmp_path / "model.onnx").read_bytes()
    right, found = (session_of(one).run(None, {"x": X})[0] for one in files)
    assert np.array_equal(found, right)
    (right,) = ReferenceEvaluator(message).run(None, {"x": X})  # ONNX Runtime rounds between the products
    assert np.allclose(dt.onnx.load(message)(X).numpy(), right, rtol=1e-3, atol=1e-3)


V = helper.make_tensor_value_info


def of_four_bits(number: int) -> onnx.ModelProto:
    low, high = (-8, 8) if number == TensorProto.INT4 else (0, 16)
    weights = helper.make_tensor("w", number, (33, 65), RNG.integers(low, high, 33 * 65).tolist())
    nodes = [N("DequantizeLinear", ["w", "s"], ["d"], "scaled"), N("MatMul", ["x", "d"], ["y"], "product")]
    scale = numpy_helper.from_array(np.array(0.1, "float32"), "s")
    inputs, outputs = [V("x", TensorProto.FLOAT, ("b", 33))], [V("y", TensorProto.FLOAT, ("b", 65))]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, [weights, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("way", ["unedited", "edited", "newer", "beside"])
@pytest.mark.parametrize("number", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_of_four_bits_stay(number: int, way: str, tmp_path: Path):
    message = of_four_bits(number)
    loaded = dt.onnx.load(message)
    if way == "edited":
        loaded.graph.find("MatMul")[0].change(name="other")
    loaded.save(tmp_path / "model.onnx", opset=23 if way == "newer" else None, external=way == "beside")
    saved = onnx.load(tmp_path / "model.onnx")
    assert [one.data_type for one in saved.graph.initializer if one.name == "w"] == [number]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 1.01 * message.ByteSize() + 100
    x = RNG.normal(size=(2, 33)).astype("float32")
    expected = dt.onnx.load(message)(x).numpy()
    for read in (ReferenceEvaluator(message), ReferenceEvaluator(saved)):
        np.testing.assert_allclose(read.run(None, {"x": x})[0], expected, atol=1e-5)


def shared() -> onnx.ModelProto:
    """A model whose weights are also taken in a branch."""
    arrays = {"w": RNG.normal(size=(64, 64)).astype("f"), "q": RNG.integers(-9, 9, (64, 64)).astype("int8")}
    arrays["s"] = np.array(0.1, "float32")
    inner = [N("MatMul", ["x", "w"], ["p"]), N("DequantizeLinear", ["q", "s"], ["e"]), N("MatMul", ["p", "e"], ["t"])]
    y = V("t", TensorProto.FLOAT, None)
    branches = {
        "then_branch": helper.make_graph(inner, "then", [], [y]),
        "else_branch": helper.make_graph([N("Neg", ["x"], ["t"])], "else", [], [y]),
    }
    nodes = [N("MatMul", ["x", "w"], ["a"]), N("DequantizeLinear", ["q", "s"], ["d"]), N("MatMul", ["a", "d"], ["b"])]
    nodes += [N("If", ["c"], ["i"], **branches), N("Add", ["b", "i"], ["y"])]
    inputs = [V("x", TensorProto.FLOAT, ("b", 64)), V("c", TensorProto.BOOL, ())]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "graph", inputs, [V("y", TensorProto.FLOAT, ("b", 64))], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("opset", [None, 23])
def test_weights_of_branches_are_saved_once(opset: int | None, tmp_path: Path):
    message = shared()
    dt.onnx.load(message).save(tmp_path / "model.onnx", opset=opset)
    assert (tmp_path / "model.onnx").stat().st_size < 1.02 * message.ByteSize()
    given = {"x": RNG.normal(size=(2, 64)).astype("float32"), "c": np.array(True)}
    right, found = (ReferenceEvaluator(one).run(None, given)[0] for one in (message, str(tmp_path / "model.onnx")))
    np.testing.assert_allclose(found, right, atol=1e-4)


STEP = [V("i", TensorProto.INT64, ()), V("on", TensorProto.BOOL, ())]
C, X64, A, T, OUT = (
    V(name, *of) for name, of in zip("cxato", [(TensorProto.BOOL, ())] + 4 * [(1, (2, 64))], strict=True)
)
GIVEN = {"c": np.array(True), "n": np.array(3), "rows": RNG.normal(size=(3, 2, 64)).astype("float32")}


def inside(kind: str, number: int, is_own: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model whose weights of four bits are taken inside a branch or a loop, which has them if they are its own."""
    low, high = (-8, 8) if number == TensorProto.INT4 else (0, 16)
    drawn = RNG.integers(low, high, (65, 64))
    weights = [
        helper.make_tensor("w", number, (64, 64), drawn[1:].ravel()),
        helper.make_tensor("z", number, (64,), drawn[0]),
    ]
    weights.append(numpy_helper.from_array(RNG.uniform(0.001, 0.002, 64).astype("float32"), "s"))
    nodes = [
        N("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1),
        N("MatMul", ["a", "d"], ["m"]),
        N("Tanh", ["m"], ["t"]),
    ]
    own, outer = (weights, []) if is_own else ([], weights)
    if kind == "If":
        nodes[1].input[0] = "x"
        other = helper.make_graph([N("Neg", ["x"], ["o"])], "other", [], [OUT])
        then = helper.make_graph(nodes, "then", [], [T], own)
        for result in ("r", "y"):  # a branch in a branch
            node = N("If", ["c"], [result], then_branch=then, else_branch=other)
            then = helper.make_graph([node], "outer", [], [V(result, 1, None)])
        inputs = [C]
    elif kind == "Loop":
        nodes.append(N("Identity", ["on"], ["go"]))
        body = helper.make_graph(nodes, "body", [*STEP, A], [V("go", TensorProto.BOOL, ()), T], own)
        node, inputs = N("Loop", ["n", "c", "x"], ["y"], body=body), [V("n", TensorProto.INT64, ()), C]
    else:
        nodes.append(N("Add", ["t", "row"], ["o"]))
        body = helper.make_graph(nodes, "body", [A, V("row", 1, (2, 64))], [T, OUT], own)
        node, inputs = N("Scan", ["x", "rows"], ["y", "all"], body=body, num_scan_inputs=1), [V("rows", 1, (3, 2, 64))]
    graph = helper.make_graph([node], "graph", [X64, *inputs], [V("y", 1, (2, 64))], outer)
    given = {"x": RNG.normal(size=(2, 64)).astype("float32")} | {one.name: GIVEN[one.name] for one in inputs}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), given


def large(graph: onnx.GraphProto) -> list[int]:
    """The dtypes of the large initializers of a graph, and of the graphs inside."""
    inner = [one.g for node in graph.node for one in node.attribute if one.HasField("g")]
    own = [one.data_type for one in graph.initializer if np.prod(one.dims) > 64]
    return own + [number for one in inner for number in large(one)]


@pytest.mark.parametrize("way", ["edited", "newer", "edited inside", "edited node"])
@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("number", [TensorProto.INT4, TensorProto.UINT4])
@pytest.mark.parametrize("kind", ["If", "Loop", "Scan"])
def test_weights_of_four_bits_stay_inside_branches_and_loops(
    kind: str, number: int, is_own: bool, way: str, tmp_path: Path
):
    message, given = inside(kind, number, is_own)
    loaded = dt.onnx.load(message)
    if way == "edited":
        with loaded.graph.as_default():
            loaded.graph.outputs = [loaded.graph.outputs[0] * 2.0]
    elif way != "newer":
        (product,) = (op for part in loaded.graph.everywhere() for op in part.find("MatMul"))
        changed, body = product if way == "edited inside" else product.inputs[1].op.inputs[0].op, product.graph
        with body.insert_after(changed):
            body.replace_all_uses(changed.outputs[0], changed.outputs[0] * 2.0)
    loaded.save(tmp_path / "model.onnx", opset=23 if way == "newer" else None)
    saved = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(saved, full_check=True)
    assert large(saved.graph) == [number if way != "edited node" else {22: 3, 21: 2}[number]]
    expected = loaded(**given).numpy()
    np.testing.assert_allclose(ReferenceEvaluator(saved).run(None, given)[0], expected, atol=1e-5)
    if is_own:  # ONNX Runtime wants the weights of a product of four bits in its own graph
        np.testing.assert_allclose(session_of(str(tmp_path / "model.onnx")).run(None, given)[0], expected, atol=0.01)


U8, I8, I32 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
SCALES = {"xs": np.float32(0.02), "ws": np.float32(0.01), "ys": np.float32(4)}
ZEROS = {"xz": np.uint8(120), "wz": np.int8(3), "yz": np.uint8(128)}
SCALED = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
INTEGERS = {  # type → its inputs, its result, and whether it is a convolution
    "QLinearConv": (SCALED, U8, True),
    "QLinearMatMul": (SCALED, U8, False),
    "ConvInteger": (["x", "w", "xz"], I32, True),
    "MatMulInteger": (["x", "w", "xz", "wz"], I32, False),
}


def of_integers(type: str) -> tuple[onnx.ModelProto, np.ndarray]:
    inputs, result, is_image = INTEGERS[type]
    shape, kernel = ((2, 40, 6, 6), (8, 40, 3, 3)) if is_image else ((2, 300), (300, 8))
    kind = "uint8" if type == "ConvInteger" else "int8"
    weights = {**SCALES, **ZEROS, "w": RNG.integers(0, 127, kernel).astype(kind)}
    if is_image:
        weights |= {"wz": np.int8(0)}
    graph = helper.make_graph(
        [N(type, inputs, ["y"], "whole")],
        "graph",
        [V("x", U8, ("b", *shape[1:]))],
        [V("y", result, ("b", 8, 4, 4) if is_image else ("b", 8))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items() if name in inputs],
    )
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return message, RNG.integers(0, 255, shape).astype("uint8")


@pytest.mark.parametrize("way", ["unedited", "edited", "newer", "older"])
@pytest.mark.parametrize("type", INTEGERS)
def test_nodes_of_integers_stay_where_nobody_edits_them(type: str, way: str, tmp_path: Path):
    message, x = of_integers(type)
    loaded = dt.onnx.load(message)
    if way == "edited":
        with loaded.graph.as_default():
            loaded.graph.outputs = [dt.ops.cast(loaded.graph.outputs[0], "float32") * 2.0]
    loaded.save(tmp_path / "model.onnx", opset={"newer": 23, "older": 18}.get(way))
    ready = session(tmp_path / "model.onnx")
    (right,) = session_of(message.SerializeToString()).run(None, {"x": x})
    (found,) = ready.run(None, {"x": x})
    assert np.array_equal(found, 2 * right.astype("float32") if way == "edited" else right)
    if (type, way) != ("QLinearMatMul", "older"):  # opset 21 has other ones
        assert types_in(onnx.load(tmp_path / "model.onnx").graph)[0] == type


def test_an_edited_node_of_integers_is_written_anew(tmp_path: Path):
    message, x = of_integers("QLinearMatMul")
    loaded = dt.onnx.load(message)
    (product,) = loaded.graph.find("MatMul")
    with loaded.graph.insert_after(product):
        loaded.graph.replace_all_uses(product.outputs[0], product.outputs[0] * 2)
    loaded.save(tmp_path / "model.onnx")
    assert np.array_equal(session(tmp_path / "model.onnx").run(None, {"x": x})[0], loaded(x).numpy())
    assert "QLinearMatMul" not in types_in(onnx.load(tmp_path / "model.onnx").graph)


@pytest.mark.parametrize("type", INTEGERS)
def test_nodes_of_integers_inside_a_function_are_saved_as_nodes_that_run(type: str, tmp_path: Path):
    message, x = of_integers(type)
    loaded = dt.onnx.load(message)
    graph = dt.function(lambda x: dt.ops.cast(loaded(x), "float64") * 2.0).graph(dt.spec((None, *x.shape[1:]), "uint8"))
    dt.onnx.save(graph, tmp_path / "model.onnx")
    ready = session(tmp_path / "model.onnx")
    (found,) = ready.run(None, {ready.get_inputs()[0].name: x})
    (right,) = session_of(message.SerializeToString()).run(None, {"x": x})
    assert np.array_equal(found, 2 * right.astype("float64"))


WINDOWS = {  # spatial sizes, groups, strides, padding, data format, dilations
    "plain": ((9, 8), 1, 1, "valid", "channels_last", 1),
    "same": ((9, 8), 1, 2, "same", "channels_last", 1),
    "dilated": ((9,), 1, 1, "same", "channels_first", 2),
    "groups": ((9, 8), 2, (2, 1), ((1, 0), (2, 1)), "channels_first", 1),
    "deep": ((5, 6, 7), 1, 2, "same", "channels_last", 1),
}


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_convolutions_of_float64_and_their_gradients_run(name: str, is_dynamic: bool, tmp_path: Path):
    sizes, groups, strides, padding, layout, dilations = WINDOWS[name]
    shape = (2, 4, *sizes) if layout == "channels_first" else (2, *sizes, 4)
    dims = tuple(size if size == 4 or not is_dynamic else None for size in shape)
    x, kernel = (
        RNG.integers(-9, 9, shape).astype("float64"),
        RNG.normal(size=(*(3, 2, 2)[: len(sizes)], 4 // groups, 8)),
    )

    def convolved(x, kernel):
        return dt.ops.conv(x, kernel, strides, padding, layout, dilations)

    def whole(x, kernel):
        y = convolved(x, kernel)
        of = [x, kernel][groups > 1 :]  # a gradient by an image of groups is a ConvTranspose, without a kernel
        return [y, *dt.gradients(dt.ops.sum(y * y), of)]

    graph = dt.function(whole).graph(dt.spec(dims, "float64"), dt.spec(kernel.shape, "float64"))
    dt.onnx.save(graph, tmp_path / "model.onnx")
    ready = session(tmp_path / "model.onnx")
    found = ready.run(None, dict(zip([one.name for one in ready.get_inputs()], (x, kernel), strict=True)))
    with dt.GradientTape() as tape:
        given = [dt.ops.convert(x), dt.ops.convert(kernel)]
        tape.watch(given)
        y = convolved(*given)
        total = dt.ops.sum(y * y)
    for one, right in zip(found, [y, *tape.gradient(total, given)[groups > 1 :]], strict=True):
        np.testing.assert_allclose(one, right.numpy(), rtol=1e-12, atol=1e-10)
