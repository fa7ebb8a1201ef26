"""Tools for definitions of graphs against TensorFlow's own, whose results TensorFlow also runs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from dovetail.compat.tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from dovetail.compat.tensorflow.tools.graph_transforms import TransformGraph

from dovetail.compat import tensorflow as ours
from tests import foreign
from tests.libraries import Library, require

require("google_crc32c", "the files need the extra")

real = Library("tensorflow")
X = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")


def build(tf, folder):
    """A graph with variables, a dropout and nodes that only training needs; its files, and what it computes."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        keep = tf.placeholder_with_default(False, [], name="train")
        with tf.device("/cpu:0"):
            w = tf.get_variable("net/w", [2, 3], initializer=tf.zeros_initializer(), use_resource=False)
        y = tf.matmul(tf.identity(x, name="same"), w)
        y = tf.where(keep, y * 2.0, y)
        tf.nn.relu(tf.stop_gradient(y), name="y")
        tf.identity(tf.check_numerics(x, "x"), name="checked")
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(w, np.arange(6, dtype="float32").reshape(2, 3)))
        saver = tf.train.Saver()
        saver.save(session, f"{folder}/model")
        with open(f"{folder}/graph.pb", "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
        return graph.as_graph_def(), session.run("y:0", {"x:0": X})


def _tool(library, module, name):
    root = "tensorflow" if library == "tensorflow" else "dovetail.compat.tensorflow"
    return getattr(importlib.import_module(f"{root}.python.tools.{module}"), name)


def _freeze(library, folder, **options):
    how = {
        "input_graph": f"{folder}/graph.pb",
        "input_saver": "",
        "input_binary": True,
        "clear_devices": True,
        "input_checkpoint": f"{folder}/model",
        "output_graph": f"{folder}/frozen.pb",
        "output_node_names": "y",
        **dict.fromkeys(("restore_op_name", "filename_tensor_name", "initializer_nodes"), ""),
    }
    return _tool(library, "freeze_graph", "freeze_graph")(**{**how, **options})


def _words(graph_def):
    return sorted((node.name, node.op, node.device) for node in graph_def.node)


@pytest.fixture(scope="module", params=["ours", "theirs"])
def files(request, tmp_path_factory):
    """A folder of files that one of the libraries wrote."""
    folder = tmp_path_factory.mktemp(request.param)
    return folder, *build(real.compat.v1 if request.param == "theirs" else ours.compat.v1, folder)


WAYS = {
    "graph": lambda folder: {},
    "meta": lambda folder: {"input_graph": None, "input_meta_graph": f"{folder}/model.meta"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_graph_is_frozen_with_its_checkpoint(files, way):
    folder, _, expected = files
    made = _freeze("dovetail", folder, **WAYS[way](folder))
    assert not {node.op for node in made.node} & {"VarHandleOp", "VariableV2", "Assign", "AssignVariableOp"}
    assert not any(node.device for node in made.node)
    (found,) = foreign.graph_def(folder / "frozen.pb", {"x:0": X}, fetches=["y:0"]).values()
    np.testing.assert_allclose(found, expected)
    if way == "graph" and folder.name.startswith("theirs"):
        with real.Graph().as_default():  # it imports the graph into the open one
            assert _words(made) == _words(_freeze("tensorflow", folder))


def test_what_cannot_be_frozen_is_refused(files):
    folder, _, _ = files
    for wrong, words in (({"input_checkpoint": "no"}, "no checkpoint"), ({"output_node_names": ""}, "needs the name")):
        with pytest.raises(ValueError, match=words):
            _freeze("dovetail", folder, **wrong)
    _freeze("dovetail", folder)
    with pytest.raises(ValueError, match="frozen before"):
        _freeze("dovetail", folder, input_graph=f"{folder}/frozen.pb")


def _frozen(files):
    return _freeze("dovetail", files[0])


@pytest.mark.parametrize("dtype", [1, [1]])
def test_unused_nodes_are_stripped_as_by_tensorflow(files, dtype):
    frozen = _frozen(files)
    theirs = real.compat.v1.GraphDef.FromString(frozen.SerializeToString())
    for names in ((["x"], ["y"]), (["same"], ["y"])):
        found = _tool("dovetail", "strip_unused_lib", "strip_unused")(frozen, *names, dtype)
        expected = _tool("tensorflow", "strip_unused_lib", "strip_unused")(theirs, *names, dtype)
        assert _words(found) == _words(expected)
        for node in found.node:
            if node.op == "Placeholder":
                assert node.attr["dtype"].type == 1
    for wrong, error in ((["x:0"], ValueError), (["z"], KeyError)):
        with pytest.raises(error, match=wrong[0][0]):
            _tool("dovetail", "strip_unused_lib", "strip_unused")(frozen, wrong, ["y"], 1)


def test_a_graph_is_optimized_for_inference(files):
    frozen = _frozen(files)
    tool = _tool("dovetail", "optimize_for_inference_lib", "optimize_for_inference")
    for said in ("True", "False"):
        found = tool(frozen, ["x"], ["y"], 1, placeholder_to_const_names=[f"train={said}"])
        theirs = real.compat.v1.GraphDef.FromString(frozen.SerializeToString())
        expected = _tool("tensorflow", "optimize_for_inference_lib", "optimize_for_inference")(
            theirs, ["x"], ["y"], 1, placeholder_to_const_names=[f"train={said}"]
        )
        assert _words(found) == _words(expected)
        (files[0] / "small.pb").write_bytes(found.SerializeToString())
        (values,) = foreign.graph_def(files[0] / "small.pb", {"x:0": X}, fetches=["y:0"]).values()
        np.testing.assert_allclose(values, files[2] * (2 if said == "True" else 1))
    broken = type(frozen)(node=[node for node in frozen.node if node.name != "x"])
    with pytest.raises(ValueError, match="'x', which is not there"):
        tool(broken, [], ["y"], 1)


def test_a_definition_is_transformed(files):
    frozen = _frozen(files)
    transforms = [
        'strip_unused_nodes(type=float, shape="-1,2")',
        "remove_nodes(op=Identity, op=CheckNumerics, op=StopGradient)",
        "remove_attribute(attribute_name=_class)",
        'set_device(device="/cpu:0", if_default=true)',
        "remove_device",
        "sort_by_execution_order",
    ]
    made = TransformGraph(frozen, ["x"], ["y"], transforms)
    assert not {node.op for node in made.node} & {"Identity", "CheckNumerics", "StopGradient"}
    seen = set()
    for node in made.node:
        assert {text.split(":")[0] for text in node.input} <= seen
        seen.add(node.name)
    (files[0] / "made.pb").write_bytes(made.SerializeToString())
    (values,) = foreign.graph_def(files[0] / "made.pb", {"x:0": X}, fetches=["y:0"]).values()
    np.testing.assert_allclose(values, files[2])
    renamed = TransformGraph(made, ["x"], ["y"], ["rename_op(old_op_name=Relu, new_op_name=Elu)"])
    assert "Elu" in {node.op for node in renamed.node} and "Relu" in {node.op for node in made.node}
    names = "rename_attribute(old_attribute_name=T, new_attribute_name=U, op_name=Relu)"
    (relu,) = (n for n in TransformGraph(made, ["x"], ["y"], [names]).node if n.op == "Relu")
    assert "U" in relu.attr and "T" not in relu.attr
    assert TransformGraph(frozen, ["x"], ["y"], ["set_device(device=a)"]).node[0].device == "a"
    refused = {
        "quantize_weights": (NotImplementedError, "ops.cast"),
        "fold_constants(ignore_errors=true)": (NotImplementedError, "leave it out"),
        "invent": (NotImplementedError, "no transform 'invent'"),
        "remove_nodes": (ValueError, "lacks the argument 'op'"),
        "remove_nodes(op=": (ValueError, "is no transform"),
        "remove_nodes(=a)": (ValueError, "no argument at"),
    }
    for wrong, (error, words) in refused.items():
        with pytest.raises(error, match=words):
            TransformGraph(frozen, ["x"], ["y"], [wrong])


def test_a_concrete_function_is_frozen(engine):
    v = ours.Variable([1.0, 2.0])
    made = ours.function(lambda x: (x * v, x + 1.0)).get_concrete_function(ours.TensorSpec([None, 2], ours.float32))
    frozen = convert_variables_to_constants_v2(made)
    v.assign([0.0, 0.0])
    product, more = frozen(X)
    np.testing.assert_allclose(product.numpy(), X * [1, 2])
    np.testing.assert_allclose(more.numpy(), X + 1)
    assert "VarHandleOp" not in {node.op for node in frozen.graph.as_graph_def().node}
    assert [t.shape for t in frozen.outputs] == [t.shape for t in made.outputs]
    with pytest.raises(TypeError, match="get_concrete_function makes"):
        convert_variables_to_constants_v2(lambda x: x)


def test_a_meta_graph_loses_what_its_training_does_not_need():
    from dovetail.compat.tensorflow.python.grappler import tf_optimizer

    old = ours.compat.v1
    with old.Graph().as_default():
        x = old.placeholder(old.float32, [], name="x")
        old.multiply(x, 2.0, name="other")
        whole = old.train.export_meta_graph()
        old.add_to_collection("train_op", old.add(x, 1.0, name="y"))
        meta = old.train.export_meta_graph()
    kept = [{n.name for n in tf_optimizer.OptimizeGraph(old.ConfigProto(), each).node} for each in (whole, meta)]
    assert {"x", "other"} <= kept[0] and {"x", "y"} <= kept[1] and "other" not in kept[1]
