"""Loaded models that were edited and saved: TensorFlow computes the same, and all that nobody touched is as it was."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.formats.wire.bundle import Bundle
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.test_models import FOLDER
from tests.libraries import Library, require

require("tensorflow", "it loads the edited models")
tf = Library("tensorflow")
UNKNOWN = b"\xba\x3e\x01x"  # a field 999, which no row names


def example(name: str) -> list[np.ndarray]:
    found = np.load(FOLDER / f"{name}.npz")
    return [found[f"x{number}"] for number in range(len([key for key in found.files if key[0] == "x"]))]


def message(folder: Path) -> Any:
    return TENSORFLOW.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0]


def functions(folder: Path) -> dict[str, Any]:
    return {one.signature.name: one for one in message(folder).graph_def.library.function}


def in_tensorflow(folder: Path, *inputs: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The results of `serving_default` by both ways of loading."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    keys = list(signature.structured_input_signature[1])
    found = signature(**{key: tf.constant(value) for key, value in zip(keys, inputs, strict=True)})
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.saved_model.loader.load(session, ["serve"], str(folder)).signature_def["serving_default"]
        feeds = {given.inputs[key].name: value for key, value in zip(keys, inputs, strict=True)}
        other = session.run({key: info.name for key, info in given.outputs.items()}, feeds)
    return {key: value.numpy() for key, value in found.items()}, other


def normalize(model: Any) -> None:
    hidden = model.graph.find("Relu")[0].outputs[0]
    model.graph.insert_after(hidden, lambda h: h / ops.max(h, axis=-1, keepdims=True))


def swap(model: Any) -> None:
    for op in model.graph.find("Relu"):
        op.change(op="Gelu")


def cut(model: Any) -> None:
    model.signatures["serving_default"].keep(model.graph.find("Relu")[0].outputs[0].name)
    model.graph.prune()


def join(model: Any) -> None:
    other = dt.saved_model.load(FOLDER / "mlp").graph
    (scores,) = model.graph.import_graph(other, {other.inputs[0]: model.graph.inputs[0]}, name="second")
    model.graph.outputs = [model.graph.outputs[0] - 2.0 * scores]


def halve(model: Any) -> None:
    halves = {v: dt.Variable(v.numpy(), "float16", name=f"{v.name}/half") for v in model.variables}
    model.graph.replace_variables(halves)


def rename(model: Any) -> None:
    model.signatures["serving_default"].rename({"keras_tensor": "x"}, {"output_0": "scores"})


def fix_batch(model: Any) -> None:
    model.graph.set_input_shapes({model.graph.inputs[0]: (3, 6)})


def train(model: Any) -> None:
    for variable in model.trainable_variables:
        variable.assign(variable.numpy() * 0.9)


EDITS = [normalize, swap, cut, join, halve, rename, fix_batch, train]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_tensorflow_runs_an_edited_model(edit: Any, tmp_path: Path):
    model, inputs = dt.saved_model.load(FOLDER / "mlp"), example("mlp")
    edit(model)
    dt.saved_model.save(model, tmp_path / "model")
    expected = model.signatures["serving_default"](*inputs)
    for found in (
        *in_tensorflow(tmp_path / "model", *inputs),
        dt.saved_model.load(tmp_path / "model").signatures["serving_default"](*inputs),
    ):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            np.testing.assert_allclose(np.asarray(found[key]), value.numpy(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("edit", [normalize, cut, halve, train], ids=lambda edit: edit.__name__)
def test_a_model_that_tensorflow_saved_without_export_is_edited(edit: Any, tmp_path: Path):
    """Claims 0.29 and 0.40: `tf.saved_model.save` of a Keras model gives each variable a second handle."""
    model, inputs = dt.saved_model.load(FOLDER / "saved_mlp"), example("mlp")
    edit(model)
    dt.saved_model.save(model, tmp_path / "model")
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    expected = model.signatures["serving_default"](*inputs)
    found = signature(inputs=tf.constant(inputs[0]))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key].numpy(), value.numpy(), atol=1e-5, rtol=1e-5)


def test_an_edited_loop_and_an_edited_function_run(tmp_path: Path):
    model, inputs = dt.saved_model.load(FOLDER / "recurrent"), example("recurrent")
    body = model.graph.find("While")[0].body("body")
    state = next(tensor for tensor in body.outputs if tensor.dtype == "float32")
    body.insert_after(state, lambda h: h * 0.5)
    dt.saved_model.save(model, tmp_path / "recurrent")
    for found in in_tensorflow(tmp_path / "recurrent", *inputs):
        np.testing.assert_allclose(found["output_0"], model(*inputs).numpy(), atol=1e-5)
    module, inputs = dt.saved_model.load(FOLDER / "loop"), example("loop")
    graph = module._own.signatures[0].graph
    body = graph.find("While")[0].body("body")
    body.insert_after(body.find("Tanh")[0].outputs[0], lambda y: y * 0.5)
    graph.insert_after(graph.outputs[0], lambda y: y + 1.0)
    module.signatures["look_up"].rename({"words": "texts"}, {"numbers": "found"})
    dt.saved_model.save(module, tmp_path / "loop")
    theirs = tf.saved_model.load(str(tmp_path / "loop"))
    np.testing.assert_allclose(theirs(*map(tf.constant, inputs)), module(*inputs).numpy(), atol=1e-6)
    assert int(theirs.signatures["look_up"](texts=tf.constant(["b"]))["found"][0]) == 2
    assert (int(theirs.calls), int(theirs.look_up(tf.constant(["b"]))["numbers"][0])) == (1, 2)


def test_without_edits_all_files_are_the_same(tmp_path: Path):
    dt.saved_model.save(dt.saved_model.load(FOLDER / "loop"), tmp_path / "loop")
    compared = filecmp.dircmp(FOLDER / "loop", tmp_path / "loop")
    assert (compared.diff_files, compared.left_only, compared.right_only) == ([], [], [])


def test_untouched_nodes_are_equal_with_unknown_fields(tmp_path: Path):
    shutil.copytree(FOLDER / "mlp", tmp_path / "old")
    whole = TENSORFLOW.SavedModel.FromString((tmp_path / "old" / "saved_model.pb").read_bytes())
    for function in whole.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            node.MergeFromString(UNKNOWN)
    (tmp_path / "old" / "saved_model.pb").write_bytes(whole.SerializeToString())
    model = dt.saved_model.load(tmp_path / "old")
    normalize(model)
    dt.saved_model.save(model, tmp_path / "new")
    old, new = functions(tmp_path / "old"), functions(tmp_path / "new")
    (name,) = new.keys() - old.keys()
    assert all(new[key] == old[key] for key in new.keys() & old.keys())
    known = [node for function in old.values() for node in function.node_def]
    changed = {node.name for node in new[name].node_def if node not in known}
    assert changed == {
        "Max/reduction_indices",
        "Max",
        "RealDiv",
        "sequential_1/dense_1_2/MatMul",
        "Identity_1",
        "NoOp_1",
    }
    matmul = next(node for node in new[name].node_def if node.name.endswith("dense_1_2/MatMul"))
    assert matmul.SerializeToString().endswith(UNKNOWN)
    before, after = (message(tmp_path / name).object_graph_def.nodes for name in ("old", "new"))
    different = [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    signatures = next(child.node_id for child in before[0].children if child.local_name == "signatures")
    assert different == [
        child.node_id for child in before[signatures].children if child.local_name == "serving_default"
    ]


def test_changed_variables_go_to_a_new_shard(tmp_path: Path):
    model = dt.saved_model.load(FOLDER / "mlp")
    bias = next(variable for variable in model.variables if variable.shape == (8,))
    bias.assign(bias.numpy() + 1.0)
    dt.saved_model.save(model, tmp_path / "model")
    prefixes = [str(folder / "variables" / "variables") for folder in (FOLDER / "mlp", tmp_path / "model")]
    old, new = map(Bundle, prefixes)
    changed = {key for key in old.entries if old.entries[key] != new.entries[key]}
    assert changed == {b"variables/1/.ATTRIBUTES/VARIABLE_VALUE", b"_all_variables/3/.ATTRIBUTES/VARIABLE_VALUE"}
    assert new.shards[0].samefile(old.shards[0])
    assert {new.entries[key].shard_id for key in changed} == {1}
    np.testing.assert_array_equal(new["variables/1/.ATTRIBUTES/VARIABLE_VALUE"], bias.numpy())
    np.testing.assert_array_equal(model.serve(*example("mlp")).numpy(), model(*example("mlp")).numpy())


def test_an_edited_frozen_graph_keeps_its_other_nodes(tmp_path: Path):
    model, image = dt.saved_model.load(FOLDER / "frozen.pb"), np.load(FOLDER / "frozen.npz")["x.image"]
    signature = model.signatures["graph"]
    signature.graph.insert_after(signature.graph.get_tensor("conv/Relu:0"), lambda h: h * 0.5)
    dt.saved_model.save(model, tmp_path / "edited.pb")
    old, new = (
        TENSORFLOW.GraphDef.FromString(path.read_bytes()) for path in (FOLDER / "frozen.pb", tmp_path / "edited.pb")
    )
    known = {node.name: node for node in old.node}
    assert known.keys() < {node.name for node in new.node}
    assert [node.name for node in new.node if node != known.get(node.name)] == ["Shape", "flat", "Const", "Mul"]
    signature.keep("scores")
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.compat.v1.import_graph_def(tf.compat.v1.GraphDef.FromString(new.SerializeToString()), name="")
        found = session.run("scores:0", {"image:0": image})
    np.testing.assert_allclose(found, signature(image)["scores"].numpy(), atol=1e-6)
    signature.graph.prune()
    dt.saved_model.save(model, tmp_path / "cut.pb")
    left = TENSORFLOW.GraphDef.FromString((tmp_path / "cut.pb").read_bytes())
    assert "unknown" not in {node.name for node in left.node}


def test_an_edited_loop_of_tensorflow_1_is_written_as_it_was(tmp_path: Path):
    model, given = dt.saved_model.load(FOLDER / "loop2.pb"), np.load(FOLDER / "loop2.npz")
    graph = model.graph
    graph.insert_after(graph.outputs[0], lambda z: z + 1.0)
    dt.saved_model.save(model, tmp_path / "loop.pb")
    old, new = (
        TENSORFLOW.GraphDef.FromString(path.read_bytes()) for path in (FOLDER / "loop2.pb", tmp_path / "loop.pb")
    )
    assert all(node in new.node for node in old.node)
    with tf.Graph().as_default() as whole, tf.compat.v1.Session(graph=whole) as session:
        tf.compat.v1.import_graph_def(tf.compat.v1.GraphDef.FromString(new.SerializeToString()), name="")
        (added,) = {node.name for node in new.node if node.op == "AddV2"} - {node.name for node in old.node}
        found = session.run(f"{added}:0", {f"{key[2:]}:0": given[key] for key in given.files if key[:2] == "x."})
    np.testing.assert_allclose(found, given["y.z"] + 1.0, atol=1e-6)


def test_models_of_tensorflow_1_and_single_signatures(tmp_path: Path):
    model, x = dt.saved_model.load(FOLDER / "simple"), np.load(FOLDER / "simple.npz")["x.x"]
    (signature,) = model.signatures.values()
    signature.graph.insert_after(signature.graph.outputs[0], lambda y: y * 2.0)
    expected = next(iter(signature(x).values())).numpy()
    dt.saved_model.save(model, tmp_path / "model")
    before = TENSORFLOW.SavedModel.FromString((FOLDER / "simple" / "saved_model.pb").read_bytes()).meta_graphs[0]
    assert all(node in message(tmp_path / "model").graph_def.node for node in before.graph_def.node)
    for path in ("alone", "frozen.pb"):
        dt.saved_model.save(signature, tmp_path / path)
        np.testing.assert_allclose(dt.saved_model.load(tmp_path / path)(x).numpy(), expected, atol=1e-6)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.saved_model.loader.load(session, ["serve"], str(tmp_path / "model")).signature_def[signature.name]
        (output,) = given.outputs.values()
        found = session.run(output.name, {next(iter(given.inputs.values())).name: x})
    np.testing.assert_allclose(found, expected, atol=1e-6)
