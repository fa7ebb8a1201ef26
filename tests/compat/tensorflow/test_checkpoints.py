"""Checkpoints: what is saved is restored, files are whole or not there, and mistakes leave variables as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf

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
    assert [name for name, _ in tf.train.list_variables(str(tmp_path))] == ["net/layers/0", "net/layers/1", "step"]
    again = tf.train.CheckpointManager(tf.train.Checkpoint(net=Net(), step=tf.Variable(0)), str(tmp_path), 2)
    assert again.restore_or_initialize() == manager.latest_checkpoint


def test_files(tmp_path):
    path = str(tmp_path / "folder")
    tf.io.gfile.makedirs(path)
    with v1.gfile.GFile(f"{path}/text", "w") as file:
        file.write("words")
    assert (tf.io.gfile.exists(f"{path}/text"), v1.gfile.Glob(f"{path}/*")) == (True, [f"{path}/text"])
    with v1.Graph().as_default() as graph:
        v1.placeholder(v1.float32, [2], name="x")
        v1.square(graph.get_tensor_by_name("x:0"), name="y")
        text = Path(tf.io.write_graph(graph, path, "graph.txt")).read_text()
    assert 'name: "y"\nop: "Square"' in text
