"""Checkpoints, their states, meta graphs and event files of old programs: TensorFlow and TensorBoard open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dovetail as dt
from dovetail.cli.main import main
from dovetail.compat import tensorflow as tf
from tests import foreign
from tests.libraries import require

require("google_crc32c", "the files have its checksums")

v1: Any = tf.compat.v1
X = np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2)
MODELS = Path(__file__).parents[2] / "formats" / "tensorflow" / "models"
Events = dict[
    str, tuple[list[int], Any]
]  # tag → the steps, and the numbers or the texts; None if they are not compared


class Written(NamedTuple):
    """A checkpoint, its values, the loss of its meta graph for X, and the events beside it."""

    path: str
    values: dict[str, Any]
    loss: float | None = None
    events: Events | None = None


def build() -> tuple[Any, Any]:
    """The loss and a step of training of a small network, in the graph that is open."""
    x = v1.placeholder("float32", [None, 2], "x")
    with v1.variable_scope("net"):
        hidden = v1.layers.batch_normalization(v1.layers.dense(x, 3, v1.tanh), training=True)
    loss = v1.reduce_mean(v1.square(v1.layers.dense(hidden, 1) - 1.0), name="loss")
    v1.summary.scalar("error", loss)
    with v1.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        return loss, v1.train.AdamOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())


def values(session: Any) -> dict[str, Any]:
    """The values of all variables by their names."""
    return {variable.op.name: session.run(variable, {"x:0": X}) for variable in v1.global_variables()}


def saver(folder: str) -> Written:
    with v1.Graph().as_default(), v1.Session() as session:
        loss, step = build()
        v1.get_variable("half", initializer=np.array([1.5, -2], tf.bfloat16.numpy), trainable=False)
        v1.get_variable("a.b-c>d", initializer=np.array([True, False]), trainable=False)
        v1.get_variable("z", initializer=np.array([1 + 2j], "complex64"), trainable=False)
        session.run(v1.global_variables_initializer())
        session.run(step, {"x:0": X})
        path = v1.train.Saver().save(session, f"{folder}/model", global_step=1)
        return Written(path, values(session), session.run(loss, {"x:0": X}))


def monitored(folder: str) -> Written:
    with v1.Graph().as_default():
        loss, step = build()
        options = {"checkpoint_dir": folder, "save_checkpoint_steps": 3, "save_summaries_steps": 2}
        with v1.train.MonitoredTrainingSession(**options) as session:
            losses = [session.run([loss, step], {"x:0": X})[0] for _ in range(5)]
            written = values(session), session.run(loss, {"x:0": X})
    return Written(f"{folder}/model.ckpt-5", *written, {"error": ([1, 3, 5], losses[::2])})


def supervisor(folder: str) -> Written:
    with v1.Graph().as_default():
        loss, step = build()
        supervised = v1.train.Supervisor(logdir=folder, save_model_secs=0, summary_op=None)
        with supervised.managed_session() as session:
            session.run(step, {"x:0": X})
            path = supervised.saver.save(session, supervised.save_path, global_step=supervised.global_step)
            supervised.request_stop()
            return Written(path, values(session), session.run(loss, {"x:0": X}), {"global_step/sec": ([0], None)})


def averages(folder: str) -> Written:
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("v", initializer=4.0)
        optimizer = v1.contrib.opt.MovingAverageOptimizer(v1.train.GradientDescentOptimizer(1.0), average_decay=0.75)
        step = optimizer.minimize(1.0 * v1.trainable_variables()[0])
        swapping = optimizer.swapping_saver()
        session.run(v1.global_variables_initializer())
        session.run(step)
        path = swapping.save(session, f"{folder}/model", write_meta_graph=False)
    return Written(path, {"v": np.float32(3.75), "v/ExponentialMovingAverage": np.float32(3.0)})


def estimated(folder: str) -> Written:
    def model(features: Any, labels: Any, mode: str) -> Any:
        y = v1.layers.dense(features["x"], 1, kernel_initializer=v1.zeros_initializer())[:, 0]
        loss = v1.losses.mean_squared_error(labels, y)
        step = v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, v1.train.get_global_step())
        return v1.estimator.EstimatorSpec(mode, {"y": y}, loss, step)

    estimator = v1.estimator.Estimator(model, folder)
    estimator.train(v1.estimator.inputs.numpy_input_fn({"x": X}, X[:, 0], 3, num_epochs=4, shuffle=False))
    names = estimator.get_variable_names()
    values = {name: estimator.get_variable_value(name) for name in names}
    return Written(f"{folder}/model.ckpt-4", values, events={"loss": ([1], [np.mean(X[:, 0] ** 2)])})


def managed(folder: str) -> Written:
    net = tf.Module()
    net.parts, net.table = [tf.Variable(X), tf.Variable([[3]])], {"a/b": tf.Variable(4.0)}
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(net=net), folder, max_to_keep=1)
    path = [manager.save() for _ in range(2)][-1]
    values = {"net/parts/0": X, "net/parts/1": np.int32([[3]]), "net/table/a.Sb": np.float32(4), "save_counter": 2}
    return Written(path, {f"{key}/.ATTRIBUTES/VARIABLE_VALUE": np.asarray(value) for key, value in values.items()})


def converted(folder: str) -> Written:
    assert main(["convert", str(MODELS / "mlp"), f"{folder}/model.ckpt"]) == 0
    return Written(f"{folder}/model.ckpt", {v.name: v.numpy() for v in dt.saved_model.load(MODELS / "mlp").variables})


PROGRAMS = [saver, monitored, supervisor, averages, estimated, managed, converted]


@pytest.mark.parametrize("write", PROGRAMS, ids=lambda one: one.__name__)
def test_tensorflow_opens_a_checkpoint_its_state_and_its_meta_graph(write: Any, tmp_path: Path):
    path, expected, result, events = write(str(tmp_path))
    found = foreign.checkpoint(path)
    assert {*found} == {*expected}
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        np.testing.assert_array_equal(found[name], value, name)
    if write is not converted:  # the command writes arrays alone
        assert foreign.latest(tmp_path)["latest"] == path
    if result is not None:
        (loss,) = foreign.meta_graph(f"{path}.meta", {"x:0": X}, fetches=["loss:0"]).values()
        np.testing.assert_allclose(loss, result, rtol=1e-5)
    check_events(tmp_path, events or {})


def check_events(folder: Path, expected: Events) -> None:
    """Check that TensorBoard shows the events in the files of a folder, and no others."""
    found = [foreign.events(path) for path in folder.glob("events*")]
    assert {tag for one in found for tag in one["tags"].tolist()} == {*expected}
    for tag, (steps, values) in expected.items():
        (one,) = [one for one in found if tag in one["tags"]]
        assert {*steps} <= {*one["steps"].tolist()}
        if values is not None:
            same = np.testing.assert_array_equal if one[tag].dtype.kind == "U" else np.testing.assert_allclose
            same(one[tag].reshape(np.shape(values)), values)


# -- event files ------------------------------------------------------------------------------------------------------


def old_words(folder: str) -> Events:
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x, word = v1.placeholder("float32", [None, 2], "x"), v1.placeholder("string", [])
        with v1.name_scope("net"):
            v1.summary.scalar("loss", v1.reduce_sum(x))
        v1.summary.histogram("spread", x)
        v1.summary.image("picture", v1.reshape(x, [1, 3, 2, 1]))
        v1.summary.text("words", v1.constant(["some", "more"]))
        v1.summary.text("word", word)
        times, options = v1.RunMetadata(), v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        with v1.summary.FileWriter(folder, graph) as writer:
            for step in (1, 2):
                feeds = {x: X + step, word: f"word {step}"}
                writer.add_summary(session.run(v1.summary.merge_all(), feeds, options, times), step)
            writer.add_run_metadata(times, "a run", 3)
            writer.add_session_log(v1.SessionLog(status=v1.SessionLog.STOP), 4)
            writer.add_meta_graph(v1.train.export_meta_graph(), 5)
            writer.add_summary(v1.Summary(value=[v1.Summary.Value(tag="own", simple_value=0.5)]), 6)
    shown = {name: ([1, 2], None) for name in ("spread", "picture/image/0")}
    shown |= {"words": ([1, 2], [["some", "more"]] * 2), "word": ([1, 2], ["word 1", "word 2"])}
    return shown | {"net/loss": ([1, 2], [6, 12]), "a run": ([3], None), "own": ([6], [0.5])}


def new_words(folder: str) -> Events:
    summary = tf.summary
    with summary.create_file_writer(folder).as_default(step=5):
        summary.scalar("loss", 1.5)
        summary.scalar("loss", 2.5, step=6)
        summary.histogram("spread", X)
        summary.image("picture", X.reshape(1, 3, 2, 1))
        summary.text("words", "some")
        summary.write("own", X[0])
        summary.graph(dt.function(lambda x: x * 2.0).graph(dt.spec((2,))))
    shown = {name: ([5], None) for name in ("spread", "picture")}
    return shown | {"words": ([5], ["some"]), "own": ([5], [X[0]]), "loss": ([5, 6], [1.5, 2.5])}


@pytest.mark.parametrize("write", [old_words, new_words], ids=lambda one: one.__name__)
def test_tensorboard_opens_event_files(write: Any, tmp_path: Path):
    check_events(tmp_path, write(str(tmp_path)))
