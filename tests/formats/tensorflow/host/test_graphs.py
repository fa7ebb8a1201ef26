"""Graphs of tables, variants, loops and pictures against TensorFlow; and mixtures that are refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import saved_model
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.calling import tf
from tests.formats.tensorflow.calls import FOLDER, read_calls
from tests.formats.tensorflow.host.cases import longs, words
from tests.formats.tensorflow.host.test_nodes import check
from tests.libraries import require

require("tensorflow", "host nodes are compared with it")


def tables(x: Any) -> list[Any]:
    """A table that changes, in an order that control inputs give."""
    raw = tf.raw_ops
    table = raw.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="counts")
    fill = raw.LookupTableInsertV2(table_handle=table, keys=x, values=tf.range(4, dtype=tf.int64))
    with tf.control_dependencies([fill]):
        found = raw.LookupTableFindV2(table_handle=table, keys=["b", "z"], default_value=tf.constant(-1, tf.int64))
    with tf.control_dependencies([found]):
        remove = raw.LookupTableRemoveV2(table_handle=table, keys=["a"])
    with tf.control_dependencies([remove]):
        size = raw.LookupTableSizeV2(table_handle=table)
        keys, values = raw.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
    return [found, size, tf.sort(values), tf.size(keys)]


def variants(x: Any) -> list[Any]:
    """Ragged tensors in variants, whole and as a batch of rows."""
    raw, splits = tf.raw_ops, longs(0, 1, 1, 4)
    whole = raw.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=x, batched_input=False)
    batch = raw.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=x, batched_input=True)
    found: list[Any] = []
    for variant, rank in ((whole, 1), (batch, 0)):
        made = raw.RaggedTensorFromVariant(
            encoded_ragged=variant, input_ragged_rank=rank, output_ragged_rank=1, Tvalues=tf.string, Tsplits=tf.int64
        )
        found += [*made.output_nested_splits, made.output_dense_values]
    return found


def loop(x: Any) -> list[Any]:
    """A loop of TensorFlow 1 that writes strings to an array, and a branch by a string."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        out = tf.TensorArray(tf.string, 4)

        def step(i: Any, text: Any, out: Any) -> Any:
            text = tf.strings.join([text, x[i]])
            return i + 1, text, out.write(i, text)

        _, text, out = v1.while_loop(lambda i, text, out: i < 4, step, [0, "", out])
        chosen = v1.cond(tf.equal(text, "abab"), lambda: tf.strings.upper(text), lambda: text)
        return [out.stack(), chosen, tf.strings.length(chosen)]
    finally:
        v1.enable_control_flow_v2()


def mapped(x: Any) -> list[Any]:
    """A map over strings, and numbers of it that a graph takes."""
    turned = tf.map_fn(lambda text: tf.strings.join([text, "!"]), x)
    numbers = tf.cast(tf.strings.length(turned), tf.float32)
    return [turned, numbers * 2.5, tf.strings.as_string(numbers * 2.5)]


@pytest.mark.parametrize("make", [tables, variants, loop, mapped])
def test_a_graph_computes_what_tensorflow_computes(make: Callable[[Any], list[Any]]):
    x = words("a", "b", "a", "b")
    with tf.Graph().as_default() as graph:
        outputs = make(tf.compat.v1.placeholder(tf.string, (None,), "x"))
        with tf.compat.v1.Session() as session:
            expected = session.run(outputs, {"x:0": x})
    check(list(read(graph, [output.name for output in outputs])(x).values()), expected)


def read(graph: Any, outputs: list[str], **bundle: np.ndarray) -> saved_model.Signature:
    graph_def = TENSORFLOW.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    inputs = {node.name: f"{node.name}:0" for node in graph_def.node if node.op == "Placeholder"}
    signature = Signature(inputs, {name: name for name in outputs})
    return saved_model.Signature("f", SavedGraph(Path("f.pb"), graph_def, {"f": signature}, bundle).read("f"))


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_pictures_are_decoded_by_pillow(kind: str):
    pytest.importorskip("PIL")
    pixels = np.random.RandomState(0).randint(0, 255, (5, 4, 3)).astype("uint8")
    data = getattr(tf.io, f"encode_{kind}")(pixels).numpy()
    with tf.Graph().as_default() as graph:
        picture = getattr(tf.io, f"decode_{kind}")(tf.compat.v1.placeholder(tf.string, (), "x"), channels=3)
    found = read(graph, [picture.name])(data)[picture.name].numpy()
    exact = {"dct_method": "INTEGER_ACCURATE"} if kind == "jpeg" else {}
    np.testing.assert_allclose(found, getattr(tf.io, f"decode_{kind}")(data, **exact).numpy(), atol=1)


def test_numbers_that_go_through_strings_to_numbers_are_refused_by_name():
    with tf.Graph().as_default() as graph:
        variable = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=(2,), shared_name="w", name="w")
        tf.raw_ops.AssignVariableOp(resource=variable, value=[1.0, 2.0])
        w = tf.raw_ops.ReadVariableOp(resource=variable, dtype=tf.float32) * 3
        text = tf.strings.as_string(w, precision=1)
        number = tf.strings.to_number(text, name="number") * 2
    signature = read(graph, [number.name, text.name], w=np.float32([1, 2]))
    assert [operation.type for operation in signature.graph.find("Mul")] == ["Mul"] * 2
    with pytest.raises(NotImplementedError, match=r"StringToNumber 'number' .*needs the variable 'w'.*signature.keep"):
        signature()
    signature.keep(text.name)
    assert signature()[text.name].tolist() == [b"3.0", b"6.0"]


def test_results_that_are_kept_need_no_other_host_nodes():
    signature = saved_model.load(FOLDER / "labels").signatures["loop"]
    assert {key: spec.dtype for key, spec in signature.output_specs.items()}["joined"] is None
    signature.keep("lengths")
    assert signature(["abc", "ä"])["lengths"].numpy().tolist() == [6, 2]
    with pytest.raises(TypeError, match="strings"):
        signature([1, 2])


def test_a_model_of_texts_is_trained():
    model = saved_model.load(FOLDER / "labels")
    losses = []
    for _ in range(2):
        with dt.GradientTape() as tape:
            losses.append(dt.ops.sum(dt.ops.square(model(["the cat sat"])[0])))
        for variable, gradient in zip(model.variables, tape.gradient(losses[-1], model.variables), strict=True):
            variable.assign_sub(0.1 * gradient)
    assert float(losses[1]) < float(losses[0])


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "none.txt"])
def test_tables_read_files_of_the_model_only(tmp_path: Path, name: str):
    (tmp_path / "secret.txt").write_text("the\n")
    shutil.copytree(FOLDER / "labels", tmp_path / "labels")
    path = tmp_path / "labels" / "saved_model.pb"
    message = TENSORFLOW.SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].asset_file_def[0].filename = name
    path.write_bytes(message.SerializeToString())
    with pytest.raises((NotImplementedError, ValueError), match=f"is not in the folder|No such file.*{name}"):
        saved_model.load(tmp_path / "labels")(read_calls(FOLDER / "labels.npz").calls[0].inputs[0])


def test_errors_name_the_node_and_the_value():
    with tf.Graph().as_default() as graph:
        number = tf.strings.to_number(tf.compat.v1.placeholder(tf.string, (None,), "x"), name="number")
    with pytest.raises(ValueError, match=r"StringToNumber 'number'.*b'two' is no float32"):
        read(graph, [number.name])(["1", "two"])
    with pytest.raises(ValueError, match=r"ParseExample.*the record b'text' is no serialised tf.train.Example"):
        saved_model.load(FOLDER / "classifier1")(["text"])
