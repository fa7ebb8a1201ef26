"""Monitored sessions, and the hooks that they call around each run."""

from __future__ import annotations

import threading

import dovetail.compat.tensorflow.compat.v1 as tf
import pytest

from tests.libraries import Library


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


def test_the_error_of_a_runner_is_raised_at_the_end():
    """A run that lacks elements says so; the coordinator raises the reason."""
    may_fail = threading.Event()

    def fail():
        may_fail.wait(60.0)
        raise ValueError("no data")

    with tf.Graph().as_default():
        x, queue = tf.py_func(fail, [], tf.float32), tf.FIFOQueue(2, tf.float32)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(x)]))
        with pytest.raises(ValueError, match="no data"), tf.train.MonitoredSession() as session:
            threading.Timer(0.5, may_fail.set).start()
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(queue.dequeue())


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


def _monitored(lib, folder):
    """Sessions that write summaries, rates and checkpoints into one folder, the second as the first goes on."""
    for last in (3, 5):
        with lib.Graph().as_default():
            w, step = lib.get_variable("w", initializer=[1.0, -1.0]), lib.train.get_or_create_global_step()
            loss = lib.reduce_mean((w - 3.0) ** 2, name="loss")
            lib.summary.scalar("loss", loss)
            lib.summary.histogram("weights/w", w)
            train = lib.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
            hooks = [lib.train.StopAtStepHook(last_step=last)]
            options = {"save_summaries_steps": 2, "save_checkpoint_steps": 2, "log_step_count_steps": 1}
            with lib.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, **options) as session:
                while not session.should_stop():
                    session.run(train)


def _saved(lib, folder):
    """A session with hooks of its own."""
    with lib.Graph().as_default():
        step = lib.train.get_or_create_global_step()
        lib.summary.scalar("step", step)
        hook = lib.train.SummarySaverHook(save_steps=2, output_dir=folder, summary_op=lib.summary.merge_all())
        more = lib.assign_add(step, 1)
        with lib.train.MonitoredSession(hooks=[hook, lib.train.StopAtStepHook(last_step=3)]) as session:
            while not session.should_stop():
                session.run(more)


@pytest.mark.parametrize("program", [_monitored, _saved])
def test_event_files_have_the_events_of_tensorflows(program, tmp_path):
    loaders = Library("tensorboard.backend.event_processing.event_file_loader")
    found = {}
    for name, lib in (("ours", tf), ("theirs", Library("tensorflow").compat.v1)):
        program(lib, str(tmp_path / name))
        lib.summary.FileWriterCache.clear()
        (path,) = (tmp_path / name).glob("events.*")
        found[name] = []
        for event in loaders.LegacyEventFileLoader(str(path)).Load():
            what = event.WhichOneof("what")
            if what == "graph_def":
                nodes = {"w", "loss"} & {node.name for node in parsed_graph(event.graph_def).node}
                found[name].append((what, event.step, nodes))
            elif what == "session_log":
                found[name].append((what, event.step, event.session_log.status))
            elif what != "meta_graph_def":  # which TensorBoard shows where there is no graph
                found[name] += [(v.tag, event.step, v.WhichOneof("value")) for v in event.summary.value]
        files = {file.name for file in (tmp_path / name).iterdir() if file.name in ("graph.pbtxt", "checkpoint")}
        found[name].append(files)
    assert found["ours"] == found["theirs"] and len(found["ours"]) >= 4


def parsed_graph(data):
    return Library("tensorflow").compat.v1.GraphDef.FromString(data)


def test_writers_are_shared_until_their_files_are_gone(tmp_path):
    with tf.Graph().as_default():
        writer = tf.summary.FileWriterCache.get(str(tmp_path))
        assert tf.summary.FileWriterCache.get(str(tmp_path)) is writer
        (tmp_path / next(tmp_path.iterdir()).name).unlink()
        assert (other := tf.summary.FileWriterCache.get(str(tmp_path))) is not writer
        tf.summary.FileWriterCache.clear()
        assert tf.summary.FileWriterCache.get(str(tmp_path)) is not other
        tf.summary.FileWriterCache.clear()
