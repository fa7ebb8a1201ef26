"""Models of ONNX as programs use them: called, trained, edited; files that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model

import dovetail as dt
from dovetail.core.base.errors import FormatError

X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
W = np.linspace(0, 1, 12, dtype="float32").reshape(4, 3)


def value(name: str, *shape: object, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes: list, inputs: list, outputs: list, *weights: onnx.TensorProto, opset: int = 18) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def dense() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "product"), helper.make_node("Relu", ["h"], ["y"])]
    return model(nodes, [value("x", "batch", 4)], [value("y", "batch", 3)], numpy_helper.from_array(W, "w"))


def test_calls_take_any_batch_by_place_or_name(engine: str):
    loaded = dt.onnx.load(dense())
    for batch in (1, 2):
        found = loaded(x=X[:batch])
        assert np.allclose(found.numpy(), np.maximum(X[:batch] @ W, 0), atol=1e-6)
    assert (loaded.inputs, loaded.outputs) == (["x"], ["y"])
    assert loaded.graph.find("MatMul")[0].name == "product"


def test_weights_are_variables_with_gradients():
    loaded = dt.onnx.load(dense().SerializeToString())
    (w,) = loaded.trainable_variables
    with dt.GradientTape() as tape:
        y = dt.ops.sum(loaded(X))
    gradient = tape.gradient(y, w)
    assert np.allclose(gradient.numpy(), X.T @ (X @ W > 0), atol=1e-6)
    w.assign(np.zeros_like(W))
    assert not loaded(X).numpy().any()


def test_edits_change_the_next_call():
    loaded = dt.onnx.load(dense())
    (relu,) = loaded.graph.find("Relu")
    loaded.graph.replace_all_uses(relu.outputs[0], relu.inputs[0])
    assert np.allclose(loaded(X).numpy(), X @ W, atol=1e-6)


def test_models_are_read_again_for_values_that_nodes_must_know():
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    loaded = dt.onnx.load(
        model(nodes, [value("x", 2, 4), value("axes", 1, dtype=TensorProto.INT64)], [value("y", None)])
    )
    for axis in (0, 1, 0):
        assert np.allclose(loaded(X, np.array([axis])).numpy(), X.sum(axis))


def test_shapes_that_are_computed_count():
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    loaded = dt.onnx.load(model(nodes, [value("x", 5)], [value("y", 7, 7)]))
    with pytest.warns(UserWarning, match=r"'x' has the shape \(2, 4\), and the file declares \(5,\)"):
        assert np.allclose(loaded(X).numpy(), np.maximum(X, 0))


def external(folder: Path, location: str, **said: int) -> onnx.ModelProto:
    found = dense()
    (tensor,) = found.graph.initializer
    (folder / "weights.bin").write_bytes(b"0123" + tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, entry in {"location": location, **said}.items():
        tensor.external_data.add(key=key, value=str(entry))
    return found


def test_external_data_is_in_the_folder_of_the_model(tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(external(tmp_path, "weights.bin", offset=4, length=48).SerializeToString())
    assert np.allclose(dt.onnx.load(tmp_path / "model.onnx")(X).numpy(), np.maximum(X @ W, 0), atol=1e-6)


@pytest.mark.parametrize(
    ("location", "said", "words"),
    [
        ("../weights.bin", {}, "a file in the folder"),
        ("/etc/passwd", {}, "a file in the folder"),
        ("weights.bin", {"offset": 8, "length": 48}, "bytes within its 52"),
        ("weights.bin", {"offset": -1}, "bytes within its 52"),
        ("weights.bin", {"offset": 8}, "12 of float32"),
    ],
)
def test_external_data_elsewhere_is_refused(tmp_path: Path, location: str, said: dict[str, int], words: str):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(external(folder, location, **said).SerializeToString())
    with pytest.raises(FormatError, match=words):
        dt.onnx.load(folder / "model.onnx")


def relu(x: str, y: str) -> onnx.NodeProto:
    return helper.make_node("Relu", [x], [y])


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (b"no model", "no ModelProto"),
        (b"", "no graph"),
        (model([relu("a", "b"), relu("b", "a")], [], [value("a")]), "nodes without circles"),
        (model([relu("a", "y")], [], [value("y")]), "'a'"),
        (model([relu("x", "y"), relu("x", "y")], [value("x", 1)], [value("y", 1)]), "two nodes with the result 'y'"),
        (model([relu("x", "y")], [value("x", 1)], [value("y", 1)], opset=99), "at most 28"),
    ],
)
def test_damaged_models_are_refused(broken: object, words: str):
    with pytest.raises(FormatError, match=words):
        dt.onnx.load(broken if isinstance(broken, bytes) else broken.SerializeToString())


def test_functions_that_call_themselves_are_refused():
    found = model([helper.make_node("f", ["x"], ["y"], domain="d")], [value("x", 1)], [value("y", 1)])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]
    found.opset_import.append(imports[1])
    node = helper.make_node("f", ["a"], ["b"], domain="d")
    found.functions.append(helper.make_function("d", "f", ["a"], ["b"], [node], imports))
    with pytest.raises(FormatError, match="a function that calls itself"):
        dt.onnx.load(found)


def test_unknown_types_are_opaque_and_named():
    found = model([helper.make_node("Odd", ["x"], ["y"], "odd", domain="own")], [value("x", 2)], [value("y", 2)])
    loaded = dt.onnx.load(found)
    assert list(loaded.opaque) == ["odd"]
    with pytest.raises(NotImplementedError, match=r"own\.Odd 'odd' is an opaque operation"):
        loaded(np.zeros(2, "float32"))


def test_a_loop_whose_first_step_gives_a_rank():
    inner = [helper.make_node("Identity", ["goes_on"], ["more"]), helper.make_node("Add", ["before", "x"], ["after"])]
    ends = [value("more", dtype=TensorProto.BOOL), value("after", None, None), value("row", None, None)]
    inner.append(helper.make_node("Identity", ["after"], ["row"]))
    starts = [value("step", dtype=TensorProto.INT64), value("goes_on", dtype=TensorProto.BOOL), value("before", 1)]
    body = helper.make_graph(inner, "body", starts, ends)
    nodes = [helper.make_node("Loop", ["steps", "go", "zero"], ["last", "rows"], body=body)]
    weights = [
        numpy_helper.from_array(np.array(array), name)
        for name, array in (("steps", 3), ("go", True), ("zero", np.zeros(1, "float32")))
    ]
    ends = [value("last", None, None), value("rows", None, None, None)]
    found = dt.onnx.load(model(nodes, [value("x", 2, 4)], ends, *weights))(X)
    assert np.allclose(found["last"].numpy(), 3 * X)
    assert np.allclose(found["rows"].numpy(), np.stack([X, 2 * X, 3 * X]))


@pytest.mark.parametrize(
    ("most", "last", "steps"), [("", 3, 3), ("", 1500, 1500), (2**63 - 1, 3, 3), (2, 1500, 2)], ids=str
)
def test_a_loop_over_a_sequence_has_the_steps_that_its_body_asks_for(most, last, steps):
    found = parse_model(f"""<ir_version: 8, opset_import: ["": 20]> g (float[n] x) => (int64 y)
        <int64 most = {{{most or 0}}}, bool go = {{1}}, int64 one = {{1}}, int64 last = {{{last}}}> {{
        none = SequenceEmpty ()
        q = Loop ({"most" if most else ""}, go, none) <
            body = b (int64 i, bool c, seq(float[n]) q) => (bool d, seq(float[n]) r) {{
            r = SequenceInsert (q, x) j = Add (i, one) d = Less (j, last) }}>
        y = SequenceLength (q) }}""")
    assert dt.onnx.load(found)(X[0]).numpy() == steps


def test_a_branch_in_a_branch_that_gives_a_rank():
    def branch(name: str, *inner: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph([*inner], name, [], [value(name, None)])

    deep = [branch("a", helper.make_node("Relu", ["x"], ["a"])), branch("b", helper.make_node("Abs", ["first"], ["b"]))]
    choice = helper.make_node("If", ["inner"], ["c"], then_branch=deep[0], else_branch=deep[1])
    other = branch("d", helper.make_node("Neg", ["x"], ["d"]))
    nodes = [
        helper.make_node("Gather", ["x", "zero"], ["first"]),
        helper.make_node("If", ["outer"], ["y"], then_branch=branch("c", choice), else_branch=other),
    ]
    conditions = [value(name, dtype=TensorProto.BOOL) for name in ("outer", "inner")]
    zero = numpy_helper.from_array(np.array(0), "zero")
    loaded = dt.onnx.load(model(nodes, [value("x", 2, 4), *conditions], [value("y", None)], zero))
    assert np.allclose(loaded(X, np.array(True), np.array(True)).numpy(), np.maximum(X, 0))
    assert np.allclose(loaded(X, np.array(True), np.array(False)).numpy(), np.abs(X[0]))
    assert np.allclose(loaded(X, np.array(False), np.array(False)).numpy(), -X)


def test_functions_may_give_one_name_to_two_constants():
    functions = []
    for name, values in (("F", [1, 2]), ("G", [10, 20])):
        constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32(values), "c"))
        nodes, imports = [constant, helper.make_node("Mul", ["a", "c"], ["b"])], [helper.make_opsetid("", 18)]
        functions.append(helper.make_function("local", name, ["a"], ["b"], nodes, imports))
    nodes = [helper.make_node("F", ["x"], ["h"], domain="local"), helper.make_node("G", ["h"], ["y"], domain="local")]
    message = model(nodes, [value("x", 2)], [value("y", 2)])
    message.functions.extend(functions)
    message.opset_import.add(domain="local", version=1)
    assert dt.onnx.load(message)(np.ones(2, "float32")).numpy().tolist() == [10, 40]
