"""Files with variables in parts: one tensor of a checkpoint, here and in TensorFlow."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from tests import foreign
from tests.compat.tensorflow import legacy
from tests.libraries import Library, require

for library in ("tensorflow", "tf_keras", "tf_slim"):
    require(library, "the oracle")

IDS = np.array([0, 3, 6, 3], "int32")
KEYS = {f"net/table{end}": [7, 2] for end in ("", "/Adam", "/Adam_1", "/EMA")}


def build(tf: Any, parts: int) -> Any:
    """Rows of a table, and the operation of a step."""
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(parts) if parts else None):
        table = tf.get_variable("table", [7, 2], initializer=tf.random_uniform_initializer(seed=3))
    rows = tf.nn.embedding_lookup(table, tf.placeholder(tf.int32, [None], name="ids"), partition_strategy="div")
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(rows)), name="step")
    with tf.control_dependencies([step]):
        moved = tf.train.ExponentialMovingAverage(0.9, name="EMA").apply(list(table) if parts else [table])
    tf.identity(rows, name="rows")
    tf.group(step, moved, name="train")
    return table


def outputs(tf: Any, restored: str, saved: str, parts: int) -> list[Any]:
    """The rows and those after a step, from a checkpoint or else after a first step, which is saved."""
    with tf.Graph().as_default(), tf.Session() as session:
        build(tf, parts)
        saver, found = tf.train.Saver(), []
        if restored:
            saver.restore(session, restored)
        else:
            session.run(tf.global_variables_initializer())
            session.run("train", {"ids:0": IDS})
            saver.save(session, saved)
        for _ in range(2):
            found.append(session.run("rows:0", {"ids:0": IDS}).tolist())
            session.run("train", {"ids:0": IDS})
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of checkpoints of both libraries, and what each computes with its own and the other's."""
    import dovetail.compat.tensorflow.compat.v1 as tf

    folder = tmp_path_factory.mktemp("parts")
    mine = {parts: outputs(tf, "", f"{folder}/ours{parts}", parts) for parts in (0, 2, 3)}
    own, restored = legacy.answer(__name__, str(folder))
    return folder, own, mine, restored


@pytest.mark.parametrize("parts", [0, 2, 3])
def test_each_restores_the_checkpoint_of_the_other(files, parts):
    import dovetail.compat.tensorflow.compat.v1 as tf

    folder, own, mine, restored = files
    np.testing.assert_allclose(outputs(tf, f"{folder}/theirs", "", parts), own, atol=1e-5)
    np.testing.assert_allclose(restored[str(parts)], mine[parts], atol=1e-5)
    found = foreign.checkpoint(folder / f"ours{parts}")
    assert {key: list(found[key].shape) for key in KEYS} == KEYS
    assert sorted(dict(tf.train.list_variables(f"{folder}/ours{parts}"))) == sorted(found)


def test_a_graph_of_tensorflow_with_parts_is_imported(files, engine):
    import dovetail.compat.tensorflow.compat.v1 as tf

    import dovetail as dt

    folder, own, _, _ = files
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{folder}/theirs.meta")
        saver.restore(session, f"{folder}/theirs")
        np.testing.assert_allclose(session.run("rows:0", {"ids:0": IDS}), own[0], atol=1e-5)
        session.run("train", {"ids:0": IDS})
        np.testing.assert_allclose(session.run("rows:0", {"ids:0": IDS}), own[1], atol=1e-5)
        saver.save(session, f"{folder}/again")
        table = np.concatenate([session.run(f"net/table/part_{i}:0") for i in range(3)])
    np.testing.assert_allclose(foreign.checkpoint(folder / "again")["net/table"], table)
    loaded = dt.saved_model.load(f"{folder}/theirs.meta")
    np.testing.assert_allclose(loaded.results("rows")(IDS)["rows"], own[0], atol=1e-5)


def test_parts_that_are_resources_are_imported(tmp_path):
    import dovetail.compat.tensorflow.compat.v1 as ours

    theirs, found = Library("tensorflow").compat.v1, []
    with theirs.Graph().as_default(), theirs.Session() as session, theirs.variable_scope("", use_resource=True):
        build(theirs, 3)
        session.run(theirs.global_variables_initializer())
        first = theirs.train.Saver().save(session, f"{tmp_path}/first")
    for names in (theirs, ours):
        with names.Graph().as_default(), names.Session() as session:
            saver = names.train.import_meta_graph(f"{first}.meta")
            saver.restore(session, first)
            feeds = {"ids:0": IDS}
            rows = [session.run(["rows:0", "train"], feeds)[0] for _ in range(2)]
            saver.save(session, f"{tmp_path}/last", write_meta_graph=False)
        found.append([*rows, foreign.checkpoint(tmp_path / "last")["net/table"]])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_tensorflow_imports_our_graph_with_parts(files):
    folder, _, mine, _ = files
    found = foreign.meta_graph(folder / "ours3.meta", {"ids:0": IDS}, fetches=["rows:0"])
    np.testing.assert_allclose(found["rows:0"], mine[3][0], atol=1e-5)


def test_a_saved_model_has_the_whole_tensor(tmp_path):
    import dovetail.compat.tensorflow.compat.v1 as tf

    import dovetail as dt

    model = tmp_path / "model"
    with tf.Graph().as_default() as graph, tf.Session() as session:
        table = build(tf, 3)
        session.run(tf.global_variables_initializer())
        rows = session.run("rows:0", {"ids:0": IDS})
        ends = {"ids": graph.get_tensor_by_name("ids:0")}, {"rows": graph.get_tensor_by_name("rows:0")}
        tf.saved_model.simple_save(session, str(model), *ends)
        whole = session.run(tf.convert_to_tensor(table))
    np.testing.assert_allclose(foreign.saved_model(model, {"ids": IDS}, old=True)["rows"], rows)
    np.testing.assert_allclose(foreign.checkpoint(model / "variables/variables")["net/table"], whole)
    loaded = dt.saved_model.load(model)
    next(v for v in loaded.variables if v.name.startswith("net/table/part_1")).assign(np.zeros((2, 2), "float32"))
    dt.saved_model.save(loaded, tmp_path / "changed")
    whole[3:5] = 0
    np.testing.assert_allclose(foreign.saved_model(tmp_path / "changed", {"ids": IDS}, old=True)["rows"], whole[IDS])


def _some(tf, table, path, session):
    for part in table:
        tf.train.Saver([part]).restore(session, path)


RESTORES = {
    "saver": lambda tf, table, path, session: tf.train.Saver({"net/table": list(table)}).restore(session, path),
    "whole": lambda tf, table, path, session: tf.train.Saver({"net/table": table}).restore(session, path),
    "slim": lambda tf, table, path, session: session.run(
        *tf.contrib.framework.assign_from_checkpoint(path, list(table))
    ),
    "some": _some,
}
BEGINS = {
    "variable": lambda tf, table, path: tf.train.init_from_checkpoint(path, {"net/table": table}),
    "list": lambda tf, table, path: tf.train.init_from_checkpoint(path, {"net/table": list(table)}),
    "name": lambda tf, table, path: tf.train.init_from_checkpoint(path, {"net/table": "net/table"}),
    "scope": lambda tf, table, path: tf.train.init_from_checkpoint(path, {"net/": "net/"}),
    "warm": lambda tf, table, path: tf.train.warm_start(path),
}


@pytest.mark.parametrize("way", [*RESTORES, *BEGINS])
def test_parts_get_their_slices_of_a_checkpoint(files, way):
    import dovetail.compat.tensorflow.compat.v1 as tf

    path = f"{files[0]}/theirs"
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
            table = tf.get_variable("table", [7, 2])
        if way in BEGINS:
            BEGINS[way](tf, table, path)
        session.run(tf.global_variables_initializer())
        if way in RESTORES:
            RESTORES[way](tf, table, path, session)
        found = session.run(tf.convert_to_tensor(table))
    np.testing.assert_array_equal(found, tf.train.load_variable(path, "net/table"))


def test_parts_under_one_key_are_of_one_variable():
    import dovetail.compat.tensorflow.compat.v1 as tf

    with tf.Graph().as_default():
        a, b = (tf.get_variable(name, [4], partitioner=tf.fixed_size_partitioner(2)) for name in "ab")
        whole = tf.get_variable("whole", [4])
        for wrong in ([*a, *b], [*a, whole]):
            with pytest.raises(ValueError, match="parts of one variable"):
                tf.train.Saver({"a": wrong})


if __name__ == "__main__":
    tf, folder = legacy.oracle(), sys.argv[1]
    own = outputs(tf, "", f"{folder}/theirs", 3)
    print("\n" + json.dumps([own, {n: outputs(tf, f"{folder}/ours{n}", "", n) for n in (0, 2, 3)}]))


def test_nodes_keep_their_names_beside_those_inside_of_others(tmp_path):
    import dovetail.compat.tensorflow.compat.v1 as ours

    theirs, found, model = Library("tensorflow").compat.v1, [], str(tmp_path / "model")
    with theirs.Graph().as_default() as graph, theirs.Session() as session:
        ids = theirs.placeholder(theirs.int32, [None], name="ids")
        table = theirs.get_variable("table", [7, 2], partitioner=theirs.fixed_size_partitioner(3))
        rows = theirs.nn.embedding_lookup(table, ids, partition_strategy="div", name="y")  # y/Reshape_1
        session.run(theirs.global_variables_initializer())
        theirs.saved_model.simple_save(session, model, {"ids": ids}, {"rows": rows})
        names = [one.name for one in graph.get_operations() if one.name.startswith("y/")]
    for tf in (theirs, ours):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            signature = tf.saved_model.load(session, ["serve"], model).signature_def["serving_default"]
            found.append(session.run([signature.outputs["rows"].name, "y:0"], {"ids:0": IDS}))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [name for name in names if graph.get_operation_by_name(name).name != name] == []


def test_parts_say_what_they_are_of_the_whole():
    import dovetail.compat.tensorflow.compat.v1 as tf

    with tf.Graph().as_default():
        table = tf.get_variable("table", [4, 6], partitioner=tf.fixed_size_partitioner(4, axis=1))
    specs = ["4 6 0,4:0,2", "4 6 0,4:2,2", "4 6 0,4:4,1", "4 6 0,4:5,1"]
    assert [one._get_save_slice_info().spec for one in table] == specs
