"""Checkpoints: saved values are restored, files are whole or absent, and errors leave variables unchanged."""

from __future__ import annotations

import os
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.names.saving import kept_checkpoints
from dovetail.core.base.errors import FormatError
from tests import keras_backends
from tests.libraries import Library, require

require("google_crc32c", "checkpoints have its checksums")

real = Library("tensorflow")
v1 = tf.compat.v1


def test_a_saver_saves_and_restores(tmp_path, engine):
    prefix = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("net"):
            w = v1.get_variable("w", [2, 2], initializer=v1.ones_initializer())
        half = v1.get_variable("half", [2], tf.bfloat16, initializer=v1.constant_initializer(1.5))
        step = v1.train.get_or_create_global_step()
        saver = v1.train.Saver(max_to_keep=2)
        session.run(v1.global_variables_initializer())
        paths = []
        for _ in range(3):
            session.run([step.assign_add(1), w.assign_add(np.ones((2, 2)))])
            paths.append(saver.save(session, prefix, global_step=step))
        assert paths == [f"{prefix}-{i}" for i in (1, 2, 3)]
        assert saver.last_checkpoints == paths[1:]
        assert (tf.train.latest_checkpoint(str(tmp_path)), v1.train.checkpoint_exists(paths[0])) == (paths[2], False)
        session.run([w.assign(np.zeros((2, 2))), half.assign([0.0, 0.0])])
        saver.restore(session, paths[1])
        assert (w.numpy().tolist(), int(step.numpy())) == ([[3.0, 3.0], [3.0, 3.0]], 2)
        assert half.numpy().astype("float32").tolist() == [1.5, 1.5]
        v1.train.Saver({"net/w": w}).restore(session, paths[2])
        assert (w.numpy().tolist(), int(step.numpy())) == ([[4.0, 4.0], [4.0, 4.0]], 2)
    reader = v1.train.NewCheckpointReader(paths[2])
    assert reader.get_variable_to_shape_map() == {"net/w": [2, 2], "half": [2], "global_step": []}
    assert (reader.has_tensor("net/w"), reader.get_tensor("global_step").item()) == (True, 3)
    assert tf.train.list_variables(str(tmp_path)) == [("global_step", []), ("half", [2]), ("net/w", [2, 2])]


def test_what_does_not_fit_changes_nothing(tmp_path):
    prefix = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        a, b = v1.get_variable("a", [2], initializer=v1.ones_initializer()), v1.get_variable("b", [2])
        session.run(v1.global_variables_initializer())
        v1.train.Saver([a]).save(session, prefix)
        both = v1.train.Saver([a, b])
        before = b.numpy()
        a.load([5.0, 5.0])
        with pytest.raises(KeyError, match="no variable 'b'; it has a"):
            both.restore(session, prefix)
        v1.train.Saver({"a": v1.Variable(np.zeros(3), name="c")})
        with pytest.raises(ValueError, match=r"has the shape \(2,\)"):
            v1.train.Saver({"a": v1.Variable(np.zeros(3), name="d")}).restore(session, prefix)
        with pytest.raises(ValueError, match="there is no checkpoint"):
            both.restore(session, str(tmp_path / "other"))
        assert (a.numpy().tolist(), b.numpy().tolist()) == ([5.0, 5.0], before.tolist())
    with pytest.raises(ValueError, match="no variables to save"), v1.Graph().as_default():
        v1.train.Saver()


def test_each_session_saves_and_restores_its_own_values(tmp_path, engine):
    prefix = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as one, v1.Session() as other:
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        step, saver = v1.train.get_or_create_global_step(), v1.train.Saver()
        v.load([3.0, 4.0], other)
        step.load(7, other)
        assert saver.save(other, prefix, global_step=step) == f"{prefix}-7"
        saver.restore(one, f"{prefix}-7")
        v.load([0.0, 0.0], other)
        assert (one.run(v).tolist(), other.run(v).tolist()) == ([3.0, 4.0], [0.0, 0.0])


def test_values_are_restored_in_another_shape_where_that_is_said(tmp_path, engine):
    prefix = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        session.run((v := v1.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0])).initializer)
        v1.train.Saver([v]).save(session, prefix)
        square, six = v1.get_variable("square", [2, 2]), v1.get_variable("six", [6])
        v1.train.Saver({"v": square}, reshape=True).restore(session, prefix)
        assert session.run(square).tolist() == [[1.0, 2.0], [3.0, 4.0]]
        for variable, reshape in ((square, False), (six, True)):
            with pytest.raises(ValueError, match=r"has the shape \(4,\)"):
                v1.train.Saver({"v": variable}, reshape=reshape).restore(session, prefix)


def test_a_saver_takes_its_variables_when_it_is_said(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        late, built = v1.train.Saver(defer_build=True, pad_step_number=True), v1.train.Saver(defer_build=True)
        v1.get_variable("v", initializer=1.0)
        built.build()
        v1.get_variable("u", initializer=2.0)
        session.run(v1.global_variables_initializer())
        paths = [
            late.save(session, str(tmp_path / "late"), global_step=12),
            built.save(session, str(tmp_path / "built")),
        ]
    assert [[name for name, _ in tf.train.list_variables(path)] for path in paths] == [["u", "v"], ["v"]]
    assert paths[0] == str(tmp_path / "late-00000012")
    with v1.Graph().as_default(), pytest.raises(ValueError, match="no variables to save"):
        v1.train.Saver(defer_build=True).build()


@pytest.mark.parametrize(("hours", "stay"), [(None, [4, 5]), (2.0, [2, 4, 5]), (1.0, [1, 2, 3, 4, 5]), (10.0, [4, 5])])
def test_a_checkpoint_stays_each_time_the_hours_are_over(tmp_path, monkeypatch, hours, stay):
    clock = [1000.0]
    monkeypatch.setattr(kept_checkpoints.time, "time", lambda: clock[0])
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("v", initializer=1.0)
        given = {} if hours is None else {"keep_checkpoint_every_n_hours": hours}
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(max_to_keep=2, **given)
        for i in range(1, 6):
            clock[0] += 3600 + 60
            saver.save(session, str(tmp_path / "model"), global_step=i)
    assert sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("model*.index")) == stay
    assert [path.rpartition("-")[2] for path in saver.last_checkpoints] == ["4", "5"]


def test_a_manager_waits_for_its_interval_and_makes_the_first_values(tmp_path):
    step, made = tf.Variable(0), []
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(
        checkpoint, str(tmp_path), 3, step_counter=step, checkpoint_interval=2, init_fn=lambda: made.append(True)
    )
    assert (manager.restore_or_initialize(), made) == (None, [True])
    saved = []
    for _ in range(4):
        saved.append(manager.save() is not None)
        step.assign_add(1)
    assert saved == [True, False, True, False]
    assert manager.save(check_interval=False) is not None and len(manager.checkpoints) == 3
    assert (manager.restore_or_initialize(), made) == (manager.latest_checkpoint, [True])


def test_a_checkpoint_leaves_out_the_variables_of_modules(tmp_path):
    library = ModuleType("library")  # as a layer's seeds have the module of their backend
    library.cache = tf.Variable([2.0])
    net = SimpleNamespace(weight=tf.Variable([1.0]), library=library)
    path = tf.train.Checkpoint(net=net).save(str(tmp_path / "model"))
    assert sum("VARIABLE_VALUE" in name for name, _ in tf.train.list_variables(path)) == 2  # with the counter


def test_checkpoints_of_objects(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [tf.Variable([1.0]), tf.Variable([2.0])]

    net, step = Net(), tf.Variable(0)
    checkpoint = tf.train.Checkpoint(net=net, step=step)
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
    for i in range(3):
        step.assign(i)
        manager.save()
    assert [path.rpartition("-")[2] for path in manager.checkpoints] == ["2", "3"]
    net.layers[1].assign([9.0])
    step.assign(9)
    checkpoint.restore(manager.latest_checkpoint).assert_consumed()
    assert (net.layers[1].numpy().tolist(), int(step.numpy())) == ([2.0], 2)
    keys = [f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in ("net/layers/0", "net/layers/1", "save_counter", "step")]
    assert [name for name, _ in tf.train.list_variables(str(tmp_path))] == ["_CHECKPOINTABLE_OBJECT_GRAPH", *keys]
    again = tf.train.CheckpointManager(tf.train.Checkpoint(net=Net(), step=tf.Variable(0)), str(tmp_path), 2)
    assert again.restore_or_initialize() == manager.latest_checkpoint


# -- exchanged with TensorFlow ----------------------------------------------------------------------------------------

OF_SHAPES = {
    "scalar": np.float32(2.5),
    "empty": np.zeros((0, 4), "float32"),
    "vector": np.arange(7, dtype="int64"),
    "transposed": np.arange(24.0, dtype="float32").reshape(2, 3, 4).T,
    "large": np.linspace(-1.0, 1.0, 90_000, dtype="float32").reshape(300, 300),
    "odd": np.array([np.inf, -np.inf, -0.0, 1e-45], "float32"),
}
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
)


def saved_by_a_session(tf1, prefix):
    """The path of what a saver writes, of a variable of each dtype."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        with tf1.variable_scope("net"):
            for dtype in DTYPES:
                start = np.array([[0, 1], [1, 0]]).astype(tf1.as_dtype(dtype).as_numpy_dtype)
                tf1.get_variable(f"of_{dtype}", dtype=dtype, initializer=start)
            for name, array in OF_SHAPES.items():
                tf1.get_variable(name, dtype=array.dtype.name, initializer=array)
        step = tf1.get_variable("step", dtype="int32", initializer=7)
        session.run(tf1.global_variables_initializer())
        return tf1.train.Saver().save(session, prefix, global_step=step)


def restored_by_a_session(tf1, prefix):
    with tf1.Graph().as_default(), tf1.Session() as session:
        with tf1.variable_scope("net"):
            zeros = {dtype: np.zeros((2, 2), tf1.as_dtype(dtype).as_numpy_dtype) for dtype in DTYPES}
            made = [tf1.get_variable(f"of_{dtype}", dtype=dtype, initializer=zeros[dtype]) for dtype in DTYPES]
            for name, array in OF_SHAPES.items():
                made.append(tf1.get_variable(name, dtype=array.dtype.name, initializer=np.zeros_like(array)))
        made += [tf1.get_variable("step", dtype="int32", initializer=0)]
        tf1.train.Saver().restore(session, prefix)
        return [np.asarray(one).astype("complex128").tolist() for one in session.run(made)]


@pytest.mark.parametrize("ours", [True, False], ids=["written", "read"])
def test_savers_exchange_files_with_tensorflow(ours, tmp_path, engine):
    theirs = real.compat.v1
    writer, reader = (v1, theirs) if ours else (theirs, v1)
    path = saved_by_a_session(writer, str(tmp_path / "model"))
    assert path == str(tmp_path / "model-7") == reader.train.latest_checkpoint(str(tmp_path))
    found = reader.train.get_checkpoint_state(str(tmp_path))
    assert (found.model_checkpoint_path, list(found.all_model_checkpoint_paths)) == (path, [path])
    *values, step = restored_by_a_session(reader, path)
    assert values[: len(DTYPES)] == [[[0, 1], [1, 0]]] * len(DTYPES) and step == 7
    assert values[len(DTYPES) :] == [array.astype("complex128").tolist() for array in OF_SHAPES.values()]
    assert len(values) >= 20


def objects(tf2):
    class Net(tf2.Module):
        def __init__(self):
            super().__init__()
            self.kinds = {name: tf2.Variable(array) for name, array in OF_SHAPES.items()}
            self.layers = [tf2.Variable([1.0, 2.0]), tf2.Variable([[3]])]
            self.by_name = {"a/b.c": tf2.Variable(4.0), "same": self.layers[0]}

    return Net(), tf2.Variable(5, dtype="int64")


@pytest.mark.parametrize("ours", [True, False], ids=["written", "read"])
def test_objects_exchange_files_with_tensorflow(ours, tmp_path, engine):
    writer, reader = (tf, real) if ours else (real, tf)
    net, step = objects(writer)
    path = writer.train.Checkpoint(net=net, step=step).save(str(tmp_path / "model"))
    net, step = objects(reader)
    for variable in (*net.layers, net.by_name["a/b.c"], step, *net.kinds.values()):
        variable.assign(variable * 0)
    checkpoint = reader.train.Checkpoint(net=net, step=step)
    checkpoint.restore(reader.train.latest_checkpoint(str(tmp_path))).assert_consumed()
    values = [np.asarray(one).tolist() for one in (*net.layers, net.by_name["a/b.c"], net.by_name["same"], step)]
    assert values == [[1.0, 2.0], [[3]], 4.0, [1.0, 2.0], 5]
    for name, array in OF_SHAPES.items():
        np.testing.assert_array_equal(net.kinds[name], array)
    assert checkpoint.save(str(tmp_path / "model")) == str(tmp_path / "model-2") != path


def test_strings_are_read(tmp_path):
    real.raw_ops.SaveV2(
        prefix=str(tmp_path / "x"),
        tensor_names=["words", "word"],
        shape_and_slices=["", ""],
        tensors=[real.constant([b"one", b"\xff"]), real.constant("two")],
    )
    reader = tf.train.load_checkpoint(str(tmp_path / "x"))
    assert (reader.get_tensor("words").tolist(), reader.get_tensor("word")) == ([b"one", b"\xff"], b"two")
    assert reader.get_variable_to_dtype_map() == {"words": "string", "word": "string"}
    assert reader.get_variable_to_shape_map() == {"words": [2], "word": []}


def test_older_files_are_read(tmp_path):
    half = np.array([1.5], tf.bfloat16.numpy)
    own = np.array('{"half": "bfloat16"}')
    np.savez(tmp_path / "x.npz", w=np.array([1.0, 2.0], "float32"), half=half.view("u2"), __dtypes__=own)
    np.savez(tmp_path / "y.npz", **{"net/0": np.float32(3.0), "__dtypes__": np.array("{}")})
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "x"\n')
    assert tf.train.list_variables(str(tmp_path)) == [("half", [1]), ("w", [2])]
    w, inner = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    tf.train.Checkpoint(w=w).restore(tf.train.latest_checkpoint(str(tmp_path)))
    tf.train.Checkpoint(net=[inner]).restore(str(tmp_path / "y"))
    assert (w.numpy().tolist(), float(inner.numpy())) == ([1.0, 2.0], 3.0)
    assert tf.train.load_variable(str(tmp_path), "half").dtype == tf.bfloat16


@pytest.mark.parametrize("text", ["nonsense", "model_checkpoint_path: 3", 'model_checkpoint_path: ""', b"\xff"])
def test_a_damaged_state_file(text, tmp_path):
    (tmp_path / "checkpoint").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match="checkpoint' cannot be read"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_the_state_is_written_and_read(tmp_path):
    folder = str(tmp_path)
    assert tf.train.get_checkpoint_state(folder) is None and tf.train.latest_checkpoint(folder) is None
    v1.train.update_checkpoint_state(folder, f"{folder}/b", [f"{folder}/a"])
    for names in (tf, real):
        found = names.train.get_checkpoint_state(folder)
        paths = [found.model_checkpoint_path, *found.all_model_checkpoint_paths]
        assert paths == [f"{folder}/b", f"{folder}/a", f"{folder}/b"]
    assert tf.train.latest_checkpoint(folder) is None


def test_a_damaged_checkpoint_changes_nothing(tmp_path):
    v, u = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    path = tf.train.Checkpoint(u=u, v=v).save(str(tmp_path / "model"))
    data = tmp_path / "model-1.data-00000-of-00001"
    changed = bytearray(data.read_bytes())
    changed[changed.index(v.numpy().tobytes())] ^= 1
    data.write_bytes(changed)
    v.assign([0.0, 0.0])
    u.assign(0.0)
    with pytest.raises(FormatError, match=r"data-00000-of-00001' cannot be read: the tensor 'v/.*another checksum"):
        tf.train.Checkpoint(u=u, v=v).restore(path)
    assert (v.numpy().tolist(), float(u.numpy())) == ([0.0, 0.0], 0.0)


def test_a_saver_goes_on_with_the_checkpoints_of_another_one(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("v", [2])
        first, second = v1.train.Saver(max_to_keep=2), v1.train.Saver(max_to_keep=2)
        session.run(v1.global_variables_initializer())
        paths = [first.save(session, str(tmp_path / "model"), step) for step in (1, 2)]
        second.recover_last_checkpoints([*paths, "nowhere"])
        assert second.last_checkpoints == paths == v1.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths
        paths.append(second.save(session, str(tmp_path / "model"), 3))
        assert [v1.train.checkpoint_exists(path) for path in paths] == [False, True, True]
        second.set_last_checkpoints(paths[1:])
        paths.append(second.save(session, str(tmp_path / "model"), 4))
        assert v1.train.checkpoint_exists(paths[1])  # as in TensorFlow, such checkpoints stay for good
        assert second.last_checkpoints == paths[2:]
    assert len(v1.train.get_checkpoint_mtimes(paths)) == 3
    v1.train.remove_checkpoint(paths[3])
    assert [file for file in os.listdir(tmp_path) if "model-4" in file] == []


def test_a_state_has_paths_relative_to_its_folder():
    state = v1.train.generate_checkpoint_state_proto("logs", "logs/model-2", ["logs/model-1", "/far/model-3"])
    assert list(state.all_model_checkpoint_paths) == ["model-1", "/far/model-3", "model-2"]
    assert state.model_checkpoint_path == "model-2"
    whole = v1.train.generate_checkpoint_state_proto("/logs", "/logs/model-2")
    assert list(whole.all_model_checkpoint_paths) == ["/logs/model-2"]


def test_variables_that_a_checkpoint_lacks_do_not_begin_with_it(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [2])
        session.run(v.initializer)
        path = v1.train.Saver().save(session, str(tmp_path / "model"))
        wide = v1.get_variable("wide", [3])
        for given, problem in (
            ({"w": v}, "'w' is not in the checkpoint"),
            ({"v": wide}, r"has the shape \[2\] in the checkpoint"),
            ({"v": "none"}, "no variable 'none'; there are v, wide"),
            ({"v/": "none/"}, "no variables in the scope 'none/'"),
        ):
            with pytest.raises(ValueError, match=problem):
                v1.train.init_from_checkpoint(path, given)


def test_a_variable_without_a_fixed_shape_is_restored_with_another_one(tmp_path, engine):
    v1, path = tf.compat.v1, str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        v1.Variable(np.ones((4, 3), "float32"), name="v")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, path)
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable(np.zeros((2, 3), "float32"), validate_shape=False, name="v")
        sums = v1.reduce_sum(v, 1)
        v1.train.Saver().restore(session, path)
        assert session.run(sums).tolist() == [3.0] * 4
    with v1.Graph().as_default(), v1.Session() as session:  # not even the rank is known, until the program says it
        v = v1.Variable(v1.placeholder("float32"), validate_shape=False, name="v")
        doubled = v * 2.0
        v.set_shape([None, 3])
        assert v.shape.as_list() == [None, 3] and v1.convert_to_tensor(v).shape.as_list() == [None, 3]
        with pytest.raises(ValueError, match="incompatible"):
            v.set_shape([None, 2])
        v1.train.Saver().restore(session, path)
        assert session.run(doubled).tolist() == [[2.0] * 3] * 4 and session.run(v[0]).tolist() == [1.0] * 3
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=np.zeros((2, 3), "float32"), validate_shape=False)
        v1.train.Saver().restore(session, path)
        assert session.run(v).shape == (4, 3)
    with v1.Graph().as_default(), v1.Session() as session:
        v1.Variable(np.zeros((2, 3), "float32"), name="v")
        with pytest.raises(ValueError, match=r"'v' has the shape \(4, 3\) in .*, and the variable \(2, 3\)"):
            v1.train.Saver().restore(session, path)


PAIRS = [("dovetail", "tensorflow", "keras"), ("tensorflow", "dovetail", "keras"), ("dovetail", "dovetail", "keras")]
PAIRS += [("dovetail", "tensorflow", "tf_keras"), ("tensorflow", "dovetail", "tf_keras")]
PAIRS += [("tensorflow", "dovetail", "legacy")]


@pytest.mark.parametrize(("writer", "reader", "library"), PAIRS)
def test_training_goes_on_from_checkpoints_of_keras_objects(writer, reader, library, tmp_path):
    for name in ("keras", "tf_keras", "tensorflow"):
        require(name, "its models and optimizers are saved")
    module = "tests.compat.tensorflow.object_checkpoints"
    wanted, found = (
        keras_backends.result(module, "checkpoints", backend, str(tmp_path), way, library)
        for backend, way in ((writer, "write"), (reader, "read"))
    )
    assert len(found) == len(wanted) >= 49
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=5e-6)


def test_a_model_without_variables_is_not_restored(tmp_path):
    require("keras", "its model is restored")
    module, arguments = "tests.compat.tensorflow.object_checkpoints", (str(tmp_path), "read", "keras")
    (problem,) = keras_backends.result(module, "unbuilt", "dovetail", *arguments)
    assert problem.startswith("tf.train.Checkpoint.restore at object_checkpoints.py:")
    assert "has no variables yet: call it on data, or build it with a shape, first." in problem


def test_variables_of_any_shape_pass_through_files(tmp_path):
    """Their ranks change by assignments; graphs with them are written here and in TensorFlow, and read here."""
    require("tensorflow", "the oracle")
    ours, theirs = tf.compat.v1, Library("tensorflow").compat.v1
    for number, v1 in enumerate((ours, theirs)):
        with v1.Graph().as_default(), v1.Session() as session:
            v = v1.Variable(0.0, validate_shape=False, use_resource=False, name="v")
            w = v1.Variable(v1.zeros([2]), shape=v1.TensorShape(None), use_resource=True, name="w")
            rows = v1.Variable(v1.zeros([2, 3]), validate_shape=False, use_resource=False, name="rows")
            changes = [v1.assign(v, [[1.0, 2.0]], validate_shape=False), w.assign([[1.0, 2.0, 3.0]])]
            session.run(v1.global_variables_initializer())
            session.run([*changes, v1.scatter_update(rows, [1], np.ones([1, 3], "float32"))])
            v1.add(v1.reduce_sum(v, axis=1), v1.reduce_sum(w, axis=[0, 1]) + v1.reduce_sum(rows, axis=[0, 1]), name="y")
            path = v1.train.Saver().save(session, f"{tmp_path}/{number}")
        with ours.Graph().as_default(), ours.Session() as session:
            ours.train.import_meta_graph(f"{path}.meta").restore(session, path)
            assert session.run("y:0").tolist() == [12.0]
            assert [one.shape.rank for one in ours.global_variables()[:2]] == [None, None]
        with ours.Graph().as_default(), ours.Session() as session:
            v = ours.Variable(0.0, validate_shape=False, name="v")
            ours.train.Saver().restore(session, path)
            assert session.run([v, ours.rank(v)])[1] == 2
