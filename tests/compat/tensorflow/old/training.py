"""What programs call around their steps: shapes, dense tensors of places, changes of variables, checkpoints."""

from __future__ import annotations

import glob
import os
import tempfile
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array


def dimensions(tf: Any, fed: Any) -> Any:
    x = fed(array(2, 3, 4))
    batch, rows, columns = x.get_shape()
    assert (batch.value, rows.value, int(columns)) == (None, 3, 4) and isinstance(rows, tf.Dimension)
    assert (str(x.get_shape()), x.get_shape()[1:].as_list(), x.shape[2].value) == ("(?, 3, 4)", [3, 4], 4)
    assert ((rows * columns).value, (batch + 1).value, rows == 3, batch == 3) == (12, None, True, None)
    assert x.get_shape().ndims == 3 and x.get_shape().with_rank(3)[2].value == 4 and tf.Dimension(None).value is None
    w = tf.get_variable("w", [rows * columns, columns // 2])
    again = tf.placeholder(tf.float32, x.get_shape())
    assert again.shape.as_list() == [None, 3, 4] and w.get_shape()[1].value == 2
    return tf.matmul(tf.reshape(x, [-1, rows * columns]), w) / columns.value


def dense(tf: Any, fed: Any) -> Any:
    rows = tf.expand_dims(tf.range(0, 3), 1)
    labels = fed(np.array([[2], [0], [1]], "int32"))
    return [
        tf.sparse_to_dense(tf.concat([rows, labels], 1), tf.stack([3, 4]), 1.0, 0.0),
        tf.sparse_to_dense([1, 3], [5], [7, 8], -1),
        tf.sparse_to_dense(2, [4], 5),
    ]


def scattered(tf: Any, fed: Any) -> Any:
    found = []
    for name in ("update", "add", "sub", "mul", "div", "max", "min"):
        v = tf.get_variable(name, initializer=[1.0, 2.0, 3.0], trainable=False, use_resource=True)
        delta = tf.IndexedSlices(tf.constant([4.0, 5.0]), tf.constant([2, 0]))
        found.append(getattr(v, f"scatter_{name}")(delta))
    return found


def referred(tf: Any, fed: Any) -> Any:
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0], trainable=False, use_resource=False)
    return tf.scatter_update(tf.assign(v, tf.zeros([3])), [1], [5.0])


def warm(tf: Any, fed: Any) -> Any:
    def variables(scope: str) -> list[Any]:
        with tf.variable_scope(scope):
            return [tf.get_variable(name, initializer=array(2, seed=ord(name))) for name in "abc"]

    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default(), tf.Session() as session:
            variables("old")
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, f"{folder}/model")
        with tf.Graph().as_default(), tf.Session() as session:
            a, b, c = [2.0 * v for v in variables("new")]
            other = tf.get_variable("other", initializer=array(2))
            tf.train.init_from_checkpoint(folder, {"old/": "new/", "old/c": other})
            tf.train.init_from_checkpoint(f"{folder}/model", {"old/c": "new/b"})
            session.run(tf.global_variables_initializer())
            return [tf.constant(x) for x in session.run([a, b, c, other])]


# -- sessions with hooks: a case runs a program, and returns what it saw ----------------------------------------------


def _numbers(tf: Any, seen: list[Any]) -> Any:
    return tf.constant([float(x) for x in seen])


def _checkpoints(tf: Any, folder: str) -> list[int]:
    state = tf.train.get_checkpoint_state(folder)
    return [int(path.rpartition("-")[2]) for path in state.all_model_checkpoint_paths]


def _summaries(tf: Any, folder: str) -> list[int]:
    """The steps of the last summaries of the loss in a folder."""
    events = [e for path in glob.glob(f"{folder}/events*") for e in tf.train.summary_iterator(path)]
    return sorted(e.step for e in events if any(v.tag == "loss" for v in e.summary.value))[-2:]


def _program(tf: Any) -> Any:
    """A loss that goes down from 8 by 1, and the operation of a step."""
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=8.0)
    tf.summary.scalar("loss", v)
    return v, tf.group(v.assign_sub(1.0), step.assign_add(1))


def monitored(tf: Any, fed: Any) -> Any:
    seen: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            seen.append(1)

        def after_create_session(self, session, coord):
            seen.extend([2, session.run(tf.train.get_global_step()), coord.should_stop()])

        def before_run(self, run_context):
            assert run_context.original_args.feed_dict is None and not run_context.stop_requested
            return tf.train.SessionRunArgs([x, twice], feed_dict={x: len(seen)})

        def after_run(self, run_context, run_values):
            seen.extend([3, *run_values.results])

        def end(self, session):
            seen.extend([4, session.run(tf.train.get_global_step())])

    with tempfile.TemporaryDirectory() as folder:
        for last in (5, 7):
            with tf.Graph().as_default():
                x = tf.placeholder(tf.float32)
                twice = x * 2.0
                v, step = _program(tf)
                final = tf.train.FinalOpsHook(v * 10.0)
                hooks = [tf.train.StopAtStepHook(last_step=last), final, Hook()]
                options = {"save_checkpoint_steps": 2, "save_summaries_steps": 3, "log_step_count_steps": None}
                with tf.train.MonitoredTrainingSession(
                    checkpoint_dir=folder, hooks=hooks, save_checkpoint_secs=None, **options
                ) as session:
                    while not session.should_stop():
                        session.run(step)
                seen.append(final.final_ops_values)
        seen += [100, *_checkpoints(tf, folder)]
    return _numbers(tf, seen)


def singular(tf: Any, fed: Any) -> Any:
    seen: list[Any] = []
    with tf.Graph().as_default():
        v, step = _program(tf)
        x = tf.placeholder(tf.float32)
        total, product = v + x, v * x
        with tf.control_dependencies([step]):  # else TensorFlow reads v before the step or after it, as threads have it
            nan, below = tf.log(v.read_value() - 7.5), tf.log(-v.read_value())
        scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: seen.append(session.run(v)))
        hooks = [tf.train.StopAtStepHook(num_steps=9), tf.train.FeedFnHook(lambda: {x: len(seen)})]
        with tf.train.SingularMonitoredSession(hooks, scaffold) as session:
            for _ in range(2):
                session.run(step)
                seen += [session.run(total), session.raw_session().run(v)]
            seen.append(session.run_step_fn(lambda step_context: step_context.run_with_hooks(product)))
            session.run_step_fn(lambda step_context: step_context.request_stop())
            seen.append(-1)
        seen.append(session.should_stop())
        stopping = tf.train.NanTensorHook(nan, fail_on_nan_loss=False)
        with tf.train.MonitoredSession(hooks=[stopping]) as session:
            while not session.should_stop():
                session.run(step)
                seen.append(7)
        try:
            with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(below)]) as session:
                session.run(step)
        except tf.train.NanLossDuringTrainingError:
            seen.append(8)
    return _numbers(tf, seen)


def timers(tf: Any, fed: Any) -> Any:
    timer, seen = tf.train.SecondOrStepTimer(every_steps=3), []
    for step in (4, 4, 5, 6, 7, 12, 13):
        seen.append(timer.should_trigger_for_step(step))
        if seen[-1]:
            seen.append(timer.update_last_triggered_step(step)[1] or 0)
    return _numbers(tf, [*seen, timer.last_triggered_step()])


def supervisor(tf: Any, fed: Any) -> Any:
    seen: list[Any] = []

    def started(session: Any) -> None:
        seen.append(50)

    with tempfile.TemporaryDirectory() as folder:
        for last in (3, 5):
            with tf.Graph().as_default():
                v, step = _program(tf)
                options = {"logdir": folder, "save_model_secs": 0, "save_summaries_secs": 0, "summary_op": None}
                loss = tf.summary.merge_all()
                sv = tf.train.Supervisor(init_fn=started, **options)
                with sv.managed_session() as session:
                    while not sv.should_stop():
                        session.run(step)
                        count = session.run(sv.global_step)
                        sv.summary_computed(session, session.run(loss))
                        if count == last:
                            sv.saver.save(session, sv.save_path, global_step=sv.global_step)
                            sv.request_stop()
                    seen += [session.run(v), sv.coord.should_stop(), sv.is_chief]
        seen += [100, *_checkpoints(tf, folder), 100, *_summaries(tf, folder), os.path.exists(f"{folder}/graph.pbtxt")]
        with tf.Graph().as_default():
            v, step = _program(tf)
            sv = tf.train.Supervisor(logdir=None, saver=None)
            try:
                with sv.managed_session() as session:
                    seen.append(session.run(v))
                    raise KeyError("mine")
            except KeyError:
                seen.append(60)
            with sv.managed_session() as session:
                raise tf.errors.OutOfRangeError(None, None, "the end")
    return _numbers(tf, seen)


def unranked(tf: Any, fed: Any) -> Any:
    """Variables of which not even the rank is known while the graph is built."""
    first = tf.placeholder_with_default(array(3, 2), None)
    v = tf.Variable(first, validate_shape=False, trainable=False, use_resource=False)
    w = tf.get_variable("w", initializer=first, validate_shape=False, trainable=False, use_resource=False)
    change = tf.assign(v, first, validate_shape=False)
    assert v.shape.ndims is None and w.shape.ndims is None
    fetches = [tf.matmul(v, v, transpose_a=True), v[..., :1], tf.shape(w), w * 2.0, tf.transpose(v, [1, 0])]
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in (2, 4):
            session.run(change, {first: array(rows, 2, seed=rows)})
            found += session.run(fetches)
    return [tf.constant(x) for x in found]


CASES = {
    "unranked": unranked,
    "dimensions": dimensions, "dense": dense, "scattered": scattered, "referred": referred, "monitored": monitored,
    "warm": warm, "singular": singular, "timers": timers, "supervisor": supervisor,
}  # fmt: skip
INITIAL = ("scattered", "referred")
