"""A model that nobody edited goes to a library as its file has it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt
from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import require

require("onnxruntime", "it computes the files")

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
W = np.linspace(-0.5, 1, 8, dtype="float32").reshape(4, 2)


def model(opset=17, *nodes):
    """Gemm and Relu, whose batch is not known, and further nodes that make y of h."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", None]) for name in "xy")
    first = [helper.make_node("Gemm", ["x", "w"], ["g"]), helper.make_node("Relu", ["g"], ["h"])]
    last = nodes or [helper.make_node("Neg", ["h"], ["y"])]
    graph = helper.make_graph([*first, *last], "two", [x], [y], [numpy_helper.from_array(W, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def given(monkeypatch):
    """The models that ONNX Runtime gets."""
    models, engine = [], get_engine("onnxruntime")
    load = engine.load
    monkeypatch.setattr(engine, "load", lambda file: (models.append(onnx.load_from_string(file)), load(file))[1])
    with dt.engine("onnxruntime"):
        yield models


def right(w=W):
    return -np.maximum(X @ w, 0)


def test_the_file_is_computed(given):
    file = model()
    loaded = dt.onnx.load(file)
    np.testing.assert_allclose(loaded(X), right(), rtol=1e-5)
    np.testing.assert_allclose(loaded(x=X[:2]), right()[:2], rtol=1e-5)
    assert [one.SerializeToString() for one in given] == [file.SerializeToString()] * len(given) != []


def test_weights_have_the_values_of_now(given):
    loaded = dt.onnx.load(model())
    loaded.variables[0].assign(2 * W)
    np.testing.assert_allclose(loaded(X), right(2 * W), rtol=1e-5)
    (now,) = given
    np.testing.assert_array_equal(numpy_helper.to_array(now.graph.initializer[0]), 2 * W)
    loaded.variables[0].assign(3 * W)
    for _ in range(4):  # they are inputs of another model first, and constants again once they have stayed
        np.testing.assert_allclose(loaded(X), right(3 * W), rtol=1e-5)
    assert len(given) == 3 and [node.op_type for node in given[-1].graph.node] == ["Gemm", "Relu", "Neg"]


def test_an_edited_model_is_written_anew(given):
    loaded = dt.onnx.load(model())
    loaded(X)
    (relu,) = loaded.graph.find("Relu")
    loaded.graph.replace_all_uses(relu.outputs[0], relu.inputs[0])
    np.testing.assert_allclose(loaded(X), -(X @ W), rtol=1e-5)
    assert "Relu" not in [node.op_type for node in given[-1].graph.node]


def test_results_that_are_kept_are_written_anew(given):
    loaded = dt.onnx.load(model())
    loaded.keep(loaded.graph.find("Relu")[0].outputs[0].name)
    np.testing.assert_allclose(loaded(X), -right(), rtol=1e-5)
    assert [len(one.graph.node) for one in given] != [3]


def test_nodes_that_wait_for_shapes_are_in_the_file(given):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["zero"], keepdims=0),
        helper.make_node("Sub", ["zero", "h"], ["y"]),
    ]
    loaded = dt.onnx.load(model(17, *nodes))
    for size in (3, 2, 3):
        np.testing.assert_allclose(loaded(X[:size]), right()[:size], rtol=1e-5)
    assert {len(one.graph.node) for one in given} == {6}


def test_data_of_other_files_goes_into_the_message(given, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model(), path, save_as_external_data=True, location="weights", size_threshold=0)
    assert (tmp_path / "weights").stat().st_size >= W.nbytes
    np.testing.assert_allclose(dt.onnx.load(path)(X), right(), rtol=1e-5)
    np.testing.assert_array_equal(numpy_helper.to_array(given[0].graph.initializer[0]), W)
    assert [node.op_type for node in given[0].graph.node] == ["Gemm", "Relu", "Neg"]


def test_a_file_that_is_too_large_is_written_anew(given, monkeypatch):
    monkeypatch.setattr("dovetail.onnx.loading.MOST", 8)
    np.testing.assert_allclose(dt.onnx.load(model())(X), right(), rtol=1e-5)
    assert [one.opset_import[0].version for one in given] == [18]


def test_other_results_of_the_graph_are_written_anew(given):
    loaded = dt.onnx.load(model())
    (relu,) = loaded.graph.find("Relu")
    loaded.graph.outputs = [relu.outputs[0]]
    np.testing.assert_allclose(dt.function(loaded.graph)(X), -right(), rtol=1e-5)


def test_a_file_that_the_library_refuses_is_written_anew(given, monkeypatch):
    engine, load = get_engine("onnxruntime"), get_engine("onnxruntime").load

    def refuse(file):
        if onnx.load_from_string(file).opset_import[0].version == 13:
            raise engine.errors[-1]("it does not know the version")
        return load(file)

    monkeypatch.setattr(engine, "load", refuse)
    np.testing.assert_allclose(dt.onnx.load(model(13))(X), right(), rtol=1e-5)
    assert [one.opset_import[0].version for one in given] == [18]


@pytest.mark.parametrize("around", ["check_numerics", "passes", "part"])
def test_a_program_around_the_model_is_written(given, around):
    loaded = dt.onnx.load(model())
    if around == "part":
        run = dt.function(lambda x: loaded(x) * 2.0)
        factor = 2
    else:
        options = {"check_numerics": True} if around == "check_numerics" else {"passes": [lambda graph: graph]}
        run, factor = dt.function(loaded.graph, **options), 1
    np.testing.assert_allclose(run(X), factor * right(), rtol=1e-5)


def test_calls_find_what_has_changed_between_them(given):
    loaded = dt.onnx.load(model())
    for _ in range(2):
        np.testing.assert_allclose(loaded(X), right(), rtol=1e-5)
    np.testing.assert_allclose(loaded(X.astype("float64")), right(), rtol=1e-5)
    with dt.engine("numpy"):
        assert loaded(X).engine == "numpy"
    loaded.rename(outputs={"y": "z"})
    np.testing.assert_allclose(loaded(X), right(), rtol=1e-5)
    with pytest.raises(TypeError, match="it takes x"):
        loaded(X, X)
