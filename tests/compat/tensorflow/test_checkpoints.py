"""Checkpoints: saved values are restored, files are whole or absent, and errors leave variables unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.names import kept_checkpoints

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
        v1.train.Saver([v1.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0])]).save(session, prefix)
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
        saver = v1.train.Saver(max_to_keep=2, **given)
        for i in range(1, 6):
            clock[0] += 3600 + 60
            saver.save(session, str(tmp_path / "model"), global_step=i)
    assert sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("model*")) == stay
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
