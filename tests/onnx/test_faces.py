"""A loaded model has one face: shapes that are given, results that are kept, keys, variables, and files of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt
from tests import foreign
from tests.formats.onnx.running import session, session_of, types_in
from tests.libraries import require
from tests.onnx.test_waiting import KINDS, OPEN, X, model, results, same

require("onnxruntime", "it says what is right")

MODELS = Path(__file__).parents[1] / "formats" / "tensorflow" / "models"
W = np.arange(12, dtype="float32").reshape(4, 3)
N = helper.make_node


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_given_shapes_are_saved(kind: str, tmp_path: Path):
    loaded = dt.onnx.load(model(kind), shapes={"x": X.shape})
    loaded.save(tmp_path / "model.onnx")
    (found,) = session_of(str(tmp_path / "model.onnx")).run(None, {"x": X})
    right = results(model(kind))
    assert found.shape == right.shape
    assert np.allclose(found, right, atol=1e-4)
    dt.saved_model.save(loaded, tmp_path / "folder")
    assert same(dt.saved_model.load(tmp_path / "folder")(X), right)
    for is_old in (False, True):
        found = foreign.saved_model(tmp_path / "folder", {"x": X}, old=is_old)["y"]
        np.testing.assert_allclose(found, right, atol=1e-4)


SMALL = X[:1, :, 1:, :7].copy()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sequence"])
def test_models_of_unknown_sizes_are_saved(kind: str, tmp_path: Path):
    loaded = dt.onnx.load(model(kind))
    loaded.save(tmp_path / "model.onnx", opset=20)
    dt.saved_model.save(loaded, tmp_path / "folder")
    for x in (X, SMALL):
        right = results(model(kind), x)
        (found,) = session_of(str(tmp_path / "model.onnx")).run(None, {"x": x})
        for one in (found, foreign.saved_model(tmp_path / "folder", {"x": x})["y"]):
            assert one.shape == right.shape
            np.testing.assert_allclose(one, right, atol=1e-4)


def made(node: onnx.NodeProto, *nodes: onnx.NodeProto, **weights: Any) -> onnx.ModelProto:
    """A model of nodes from x to y, whose sizes the file does not say."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", OPEN), ("y", None)))
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph([node, *nodes], "graph", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


POOL = {"kernel_shape": [3, 3], "strides": [2, 2]}
SCALES = np.array([1, 1, 1.7, 0.6], "float32")
HALF = helper.make_graph(
    [N("MaxPool", ["state"], ["next"], auto_pad="SAME_UPPER", **POOL), N("Identity", ["on"], ["goes_on"])],
    "body",
    [helper.make_tensor_value_info(name, number, shape) for name, number, shape in (("i", 7, []), ("on", 9, []))]
    + [helper.make_tensor_value_info("state", 1, None)],
    [helper.make_tensor_value_info("goes_on", 9, []), helper.make_tensor_value_info("next", 1, None)],
)
OF_ANY_SIZE = {
    "same lower": made(N("MaxPool", ["x"], ["y"], auto_pad="SAME_LOWER", **POOL)),
    "dilated": made(N("MaxPool", ["x"], ["y"], dilations=[2, 1], ceil_mode=1, pads=[1, 1, 1, 1], **POOL)),
    "places": made(
        N("MaxPool", ["x"], ["k", "i"], ceil_mode=1, storage_order=1, **POOL), N("Cast", ["i"], ["y"], to=1)
    ),
    "means": made(N("AveragePool", ["x"], ["y"], ceil_mode=1, pads=[1, 0, 1, 1], **POOL)),
    "padded means": made(N("AveragePool", ["x"], ["y"], ceil_mode=1, count_include_pad=1, pads=[1, 1, 1, 1], **POOL)),
    "groups": made(
        N("Conv", ["x", "w"], ["y"], auto_pad="SAME_LOWER", strides=[2, 3], group=3),
        w=np.ones((6, 1, 3, 3), "float32"),
    ),
    "cubic": made(N("Resize", ["x", "", "s"], ["y"], mode="cubic"), s=SCALES),
    "antialias": made(N("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1), s=SCALES),
    "asymmetric": made(
        N("Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode="asymmetric", nearest_mode="floor"), s=SCALES
    ),
    "aspect ratio": made(
        N("Resize", ["x", "", "", "n"], ["y"], mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
        n=[7, 9],
    ),
    "loop": made(N("Loop", ["n", "on", "x"], ["y"], body=HALF), n=np.array(2), on=np.array(True)),
}


@pytest.mark.parametrize("kind", OF_ANY_SIZE)
def test_nodes_of_any_sizes_are_saved(kind: str, tmp_path: Path):
    loaded = dt.onnx.load(OF_ANY_SIZE[kind])
    loaded.save(tmp_path / "model.onnx", opset=20)
    dt.saved_model.save(loaded, tmp_path / "folder")
    for x in (X, SMALL):
        right = results(OF_ANY_SIZE[kind], x)
        assert same(loaded(x), right)
        (found,) = session_of(str(tmp_path / "model.onnx")).run(None, {"x": x})
        for one in (found, foreign.saved_model(tmp_path / "folder", {"x": x})["y"]):
            assert one.shape == right.shape
            np.testing.assert_allclose(one, right, atol=1e-4)


def test_an_unknown_batch_stays_unknown_and_other_sizes_are_asked_for(tmp_path: Path):
    dt.onnx.load(model("Conv", (None, 3, 8, 10))).save(tmp_path / "model.onnx")
    for size in (1, 2):
        (found,) = session_of(str(tmp_path / "model.onnx")).run(None, {"x": X[:size]})
        assert np.allclose(found, results(model("Conv"), X[:size]), atol=1e-4)
    words = r"ConcatFromSequence 'k' waits .* load\(path, shapes=\{'x': \(1, 3, 224, 224\)\}\)"
    loaded = dt.onnx.load(model("sequence", (None, 3, None, None)))
    with pytest.raises(ValueError, match=words):
        dt.onnx.save(loaded.signature, tmp_path / "model.onnx")
    loaded.save(tmp_path / "model.onnx", opset=20)  # its nodes stay, so they need no sizes
    assert types_in(onnx.load(tmp_path / "model.onnx").graph) == types_in(model("sequence").graph)
    with pytest.raises(KeyError, match="there is no input 'z'; there are x"):
        dt.onnx.load(model("Conv"), shapes={"z": (1,)})


def test_the_command_takes_shapes_and_an_opset(tmp_path: Path):
    from dovetail.cli.main import main

    (tmp_path / "model.onnx").write_bytes(told(model("MaxPool")).SerializeToString())
    options = ["--shape", "x=2,3,8,10", "--opset", "20"]
    assert not main(["convert", str(tmp_path / "model.onnx"), str(tmp_path / "other.onnx"), *options])
    found = onnx.load(tmp_path / "other.onnx")
    assert (found.opset_import[0].version, found.metadata_props[0].value) == (20, "cats")
    assert np.allclose(session(tmp_path / "other.onnx").run(None, {"x": X})[0], results(model("MaxPool")), atol=1e-5)


def told(message: onnx.ModelProto) -> onnx.ModelProto:
    message.metadata_props.add(key="classes", value="cats")
    return message


def test_a_model_is_saved_with_its_names_metadata_and_opset(tmp_path: Path):
    message = told(model("LpPool", X.shape))
    message.opset_import[0].version = 20
    loaded = dt.onnx.load(message)
    dt.onnx.save(loaded, tmp_path / "model.onnx")
    found = onnx.load(tmp_path / "model.onnx")
    assert [one.name for one in (*found.graph.input, *found.graph.output)] == ["x", "y"]
    assert found.opset_import[0].version == 20
    assert {one.key: one.value for one in found.metadata_props} == {"classes": "cats"}
    loaded.rename({"x": "image"}, {"y": "scores"})
    assert same(loaded(image=X), results(message))
    loaded.keep("scores", "relu:0")
    loaded.save(tmp_path / "kept.onnx", opset=18)
    both = session(tmp_path / "kept.onnx")
    assert [one.name for one in both.get_outputs()] == ["scores", "relu:0"]
    for ours, theirs in zip(loaded(X).values(), both.run(None, {"image": X}), strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize("name", ["cnn", "keras2", "model.onnx"])
def test_the_face_is_that_of_the_main_signature(name: str, tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(model("Conv").SerializeToString())
    loaded: Any = dt.onnx.load(tmp_path / name) if name.endswith("onnx") else dt.saved_model.load(MODELS / name)
    for one in (loaded, loaded.signature):
        assert one.graph is loaded.graph
        assert {*one.variables} == {*loaded.variables} >= {*one.trainable_variables}
        frozen = {variable.name.rpartition("/")[2][:7] for variable in {*one.variables} - {*one.trainable_variables}}
        assert frozen == ({"moving_"} if name in ("cnn", "keras2") else set())
        with dt.GradientTape() as tape:
            found = one(
                X if name.endswith("onnx") else np.ones((1, *next(iter(one.signature.input_specs.values())).shape[1:]))
            )
            loss = dt.ops.sum(next(iter(found.values())) if isinstance(found, dict) else found)
        assert all(g is not None for g in tape.gradient(loss, one.trainable_variables))
    loaded.rename(outputs={next(iter(loaded.signature.outputs)): "scores"})
    loaded.keep("scores")
    assert list(loaded.signature.outputs) == ["scores"]


def test_a_model_of_tensorflow_takes_shapes():
    loaded = dt.saved_model.load(MODELS / "cnn")
    ((key, spec),) = loaded.signature.input_specs.items()
    fixed = dt.saved_model.load(MODELS / "cnn", shapes={key: (2, *spec.shape[1:])})
    assert {**fixed.signature.input_specs}[key].shape == (2, *spec.shape[1:])
    assert next(iter(fixed.signature.output_specs.values())).shape[0] == 2
    with pytest.raises(KeyError, match="there is no input 'z'"):
        dt.saved_model.load(MODELS / "cnn", shapes={"z": (1,)})


def test_an_input_that_an_edit_made_needless_is_gone():
    loaded = dt.onnx.load(
        helper.make_model(
            helper.make_graph(
                [N("Add", ["x", "z"], ["h"]), N("MaxPool", ["h"], ["y"], kernel_shape=[2, 2], ceil_mode=1)],
                "graph",
                [helper.make_tensor_value_info(name, TensorProto.FLOAT, (None,) * 4) for name in "xz"],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            ),
            opset_imports=[helper.make_opsetid("", 18)],
        )
    )
    whole = loaded(X, np.zeros_like(X)).numpy()
    loaded.graph.replace_all_uses(loaded.graph.get_tensor("h:0"), loaded.graph.get_tensor("x:0"))
    loaded.graph.prune(inputs=True)
    assert loaded.inputs == ["x"]
    assert same(loaded(X), whole)


def with_defaults(version: int) -> onnx.ModelProto:
    nodes = [N("MatMul", ["x", "w"], ["h"]), N("Mul", ["h", "scale"], ["m"]), N("ReduceSum", ["m", "axes"], ["y"])]
    arrays = {"w": W, "scale": np.array(2, "float32"), "axes": np.array([1])}
    numbers = {"axes": TensorProto.INT64}
    inputs = [("x", (None, 4)), *((name, array.shape) for name, array in arrays.items())]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, numbers.get(name, TensorProto.FLOAT), shape) for name, shape in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (None, None))],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=version)


FED = {"w": W[::-1].copy(), "scale": np.array(3, "float32"), "axes": np.array([0])}


@pytest.mark.parametrize("names", [[], ["w"], ["scale"], ["axes"], [*FED]])
def test_values_of_the_file_can_be_fed(names: list[str], engine: str):
    x, given = np.ones((5, 4), "float32"), {name: FED[name] for name in names}
    loaded = dt.onnx.load(with_defaults(8))
    assert (loaded.inputs, loaded.defaults) == (["x"], [*FED])
    (right,) = session_of(with_defaults(8).SerializeToString()).run(None, {"x": x, **given})
    assert same(loaded(x, **given), right)
    assert same(loaded(x, **given), right)
    assert same(loaded(x), session_of(with_defaults(8).SerializeToString()).run(None, {"x": x})[0])


def test_values_that_are_fed_have_gradients_and_meet_edits():
    x, w = np.ones((5, 4), "float32"), dt.ops.convert(W)
    loaded = dt.onnx.load(with_defaults(8))
    (product,) = loaded.graph.find("MatMul")
    loaded.graph.insert_after(product.outputs[0], lambda t: t * 10)
    with dt.GradientTape() as tape:
        tape.watch(w)
        loss = dt.ops.sum(loaded(x, w=w))
    assert np.allclose(tape.gradient(loss, w).numpy(), 100)
    with pytest.raises(ValueError, match="the graph was edited for what the file says of axes"):
        loaded(x, axes=FED["axes"])
    assert dt.onnx.load(with_defaults(3)).defaults == []  # ONNX Runtime takes them for constants, too


def test_weights_that_can_be_fed_stay_inputs_of_an_edited_file(tmp_path: Path):
    x, message = np.ones((5, 4), "float32"), with_defaults(8)
    loaded = dt.onnx.load(message)
    loaded.graph.insert_after(loaded.graph.outputs[0], lambda t: t + 1)
    loaded.rename({"x": "image"})
    loaded.save(tmp_path / "model.onnx")
    ready, right = session(tmp_path / "model.onnx"), session_of(message.SerializeToString())
    assert [one.name for one in ready.get_overridable_initializers()] == [*FED]
    for fed in ({}, *({name: value} for name, value in FED.items())):
        (found,), (expected,) = ready.run(None, {"image": x, **fed}), right.run(None, {"x": x, **fed})
        np.testing.assert_allclose(found, expected + 1, atol=1e-5)


def described() -> onnx.ModelProto:
    """A model of opset 17 whose descriptions are texts."""
    message = told(model("Pad", X.shape))
    message.opset_import[0].version, message.ir_version = 17, 8
    message.producer_name, message.producer_version, message.domain, message.model_version = "us", "1.2", "here", 7
    message.doc_string, message.graph.doc_string, message.graph.node[0].doc_string = "a model", "a graph", "a node"
    return message


@pytest.mark.parametrize(("opset", "now"), [(None, 17), (17, 17), (18, 18), (21, 21)])
def test_descriptions_and_the_opset_stay(opset: int | None, now: int, tmp_path: Path):
    message = described()
    dt.onnx.save(dt.onnx.load(message), tmp_path / "model.onnx", opset)
    found = onnx.load(tmp_path / "model.onnx")
    names = ("producer_name", "producer_version", "domain", "model_version", "doc_string")
    assert [getattr(found, name) for name in names] == [getattr(message, name) for name in names]
    assert (found.graph.doc_string, found.graph.node[0].doc_string) == ("a graph", "a node")
    assert (found.opset_import[0].version, found.metadata_props[0].value) == (now, "cats")
    assert np.allclose(session_of(str(tmp_path / "model.onnx")).run(None, {"x": X})[0], results(message), atol=1e-5)
    if now == 17:
        assert found == message
