"""Monitored sessions, and the hooks that they call around each run."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import pytest


def _steps():
    step = tf.train.get_or_create_global_step()
    loss = tf.Variable(8.0, name="loss")
    tf.summary.scalar("loss_of_step", loss)
    return tf.group(loss.assign_sub(1.0), step.assign_add(1))


def test_listeners_are_called_around_each_checkpoint_and_may_stop(tmp_path):
    calls = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            calls.append("begin")

        def before_save(self, session, step):
            calls.append(("before", step, tf.train.checkpoint_exists(str(tmp_path / f"model.ckpt-{step}"))))

        def after_save(self, session, step):
            calls.append(("after", step, tf.train.checkpoint_exists(str(tmp_path / f"model.ckpt-{step}"))))
            return step == 2

        def end(self, session, step):
            calls.append(("end", step))

    with tf.Graph().as_default():
        step = _steps()
        hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[Listener()])
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            while not session.should_stop():
                session.run(step)
            with pytest.raises(RuntimeError, match="it is closed, or should_stop"):
                session.run(step)
    around = [(what, n, what == "after") for n in (0, 2) for what in ("before", "after")]
    assert calls == ["begin", *around, ("end", 2)]


def test_summaries_are_written_every_so_many_steps(tmp_path):
    with tf.Graph().as_default():
        step = _steps()
        hooks, options = [tf.train.StopAtStepHook(8)], {"save_summaries_steps": 3, "log_step_count_steps": None}
        with tf.train.MonitoredTrainingSession(hooks=hooks, summary_dir=str(tmp_path), **options) as session:
            while not session.should_stop():
                session.run(step)
    (path,) = tmp_path.glob("events*")
    assert [event.step for event in tf.train.summary_iterator(str(path)) if event.summary.value] == [1, 4, 7]


def test_logs(caplog, tmp_path):
    with tf.Graph().as_default(), caplog.at_level("INFO", "dovetail.compat.tensorflow"):
        step = _steps()
        hooks = [
            tf.train.LoggingTensorHook({"now": "loss:0"}, every_n_iter=2),
            tf.train.LoggingTensorHook(["global_step"], at_end=True, formatter=lambda found: f"end {found}"),
            tf.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path)),
        ]
        with tf.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(5):
                session.run(step)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(" (")[0] for line in lines if "now" in line] == ["now = 8.0", "now = 6.0", "now = 4.0"]
    assert lines[-1].startswith("end {'global_step': ") and sum("global_step/sec: " in line for line in lines) == 2


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: tf.train.MonitoredTrainingSession(is_chief=False), NotImplementedError, "one process computes"),
        (lambda: tf.train.StopAtStepHook(), ValueError, "either num_steps or last_step"),
        (lambda: tf.train.SecondOrStepTimer(1, 1), ValueError, "either every_secs or every_steps"),
        (lambda: tf.train.SummarySaverHook(1), ValueError, "either scaffold or summary_op"),
        (lambda: tf.train.StopAtStepHook(3).begin(), RuntimeError, "no global step"),
        (lambda: tf.train.StepCounterHook().begin(), RuntimeError, "no global step"),
        (lambda: tf.train.SessionCreator().create_session(), NotImplementedError, "define create_session"),
        (lambda: _run_fed_twice(), RuntimeError, "fed by feed_dict and by a hook"),
    ],
)
def test_wrong_calls(call, error, problem):
    with tf.Graph().as_default(), pytest.raises(error, match=problem):
        call()


def _run_fed_twice():
    x = tf.placeholder(tf.float32)
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 1.0})]) as session:
        session.run(x, {x: 2.0})
