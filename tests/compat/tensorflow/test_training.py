"""What watches over threads and sessions: coordinators, runners, checkpoints of folders."""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

# -- threads ----------------------------------------------------------------------------------------------------------


def test_threads_stop_together_and_their_first_error_is_raised_where_they_are_joined():
    coord, steps = tf.train.Coordinator(), []

    def work(number):
        with coord.stop_on_exception():
            while not coord.should_stop():
                steps.append(number)
                if number == 1:
                    raise ValueError(f"no data for {number}")
                time.sleep(0.001)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="no data for 1"):
        coord.join(threads)
    assert not any(thread.is_alive() for thread in threads) and 1 in steps and coord.joined
    coord.clear_stop()
    assert not coord.should_stop() and not coord.wait_for_stop(0.001)
    coord.raise_requested_exception()


@pytest.mark.parametrize(
    ("error", "types", "raised"),
    [
        (tf.errors.OutOfRangeError("the end"), None, None),
        (KeyError("end"), [KeyError], None),
        (tf.errors.OutOfRangeError("the end"), [KeyError], IndexError),
    ],
)
def test_the_end_of_inputs_is_no_error(error, types, raised):
    coord = tf.train.Coordinator(types)
    coord.request_stop(error)
    with nullcontext() if raised is None else pytest.raises(raised):
        coord.join()


def test_threads_that_do_not_stop_are_named():
    coord, end = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, name="reader")
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match=r"still run after 0.01 s: reader"):
        coord.join(stop_grace_period_secs=0.01)
    coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    end.set()
    thread.join()


def test_a_looper_calls_until_its_coordinator_stops():
    coord, calls = tf.train.Coordinator(), []

    def call(number):
        calls.append(number)
        if len(calls) == 3:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, 0.001, call, (7,))
    coord.join()
    assert calls == [7, 7, 7]


def test_runners_are_those_that_the_program_added():
    class Runner:
        def create_threads(self, session, coord, daemon, start):
            return [threading.Thread(daemon=daemon)] * 2

    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="no default session"):
            tf.train.start_queue_runners()
        with tf.Session() as session:
            assert tf.train.start_queue_runners(session, tf.train.Coordinator()) == []
            tf.train.add_queue_runner(Runner())
            assert len(tf.train.start_queue_runners()) == 2


# -- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_saver_goes_on_with_the_checkpoints_of_another_one(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [2])
        first, second = tf.train.Saver(max_to_keep=2), tf.train.Saver(max_to_keep=2)
        session.run(tf.global_variables_initializer())
        paths = [first.save(session, str(tmp_path / "model"), step) for step in (1, 2)]
        second.recover_last_checkpoints([*paths, "nowhere"])
        assert second.last_checkpoints == paths == tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths
        paths.append(second.save(session, str(tmp_path / "model"), 3))
        assert [tf.train.checkpoint_exists(path) for path in paths] == [False, True, True]
        second.set_last_checkpoints(paths[1:])
        paths.append(second.save(session, str(tmp_path / "model"), 4))
        assert tf.train.checkpoint_exists(paths[1])  # as in TensorFlow, such checkpoints stay for good
        assert second.last_checkpoints == paths[2:]
    assert len(tf.train.get_checkpoint_mtimes(paths)) == 3
    tf.train.remove_checkpoint(paths[3])
    assert [file for file in os.listdir(tmp_path) if "model-4" in file] == []


def test_a_state_has_paths_relative_to_its_folder():
    state = tf.train.generate_checkpoint_state_proto("logs", "logs/model-2", ["logs/model-1", "/far/model-3"])
    assert list(state.all_model_checkpoint_paths) == ["model-1", "/far/model-3", "model-2"]
    assert state.model_checkpoint_path == "model-2"
    whole = tf.train.generate_checkpoint_state_proto("/logs", "/logs/model-2")
    assert list(whole.all_model_checkpoint_paths) == ["/logs/model-2"]


def test_variables_that_a_checkpoint_lacks_do_not_begin_with_it(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [2])
        session.run(v.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        wide = tf.get_variable("wide", [3])
        for given, problem in (
            ({"w": v}, "'w' is not in the checkpoint"),
            ({"v": wide}, r"has the shape \[2\] in the checkpoint"),
            ({"v": "none"}, "no variable 'none'; there are v, wide"),
            ({"v/": "none/"}, "no variables in the scope 'none/'"),
        ):
            with pytest.raises(ValueError, match=problem):
                tf.train.init_from_checkpoint(path, given)


# -- supervisors and hooks --------------------------------------------------------------------------------------------


def _steps():
    step = tf.train.get_or_create_global_step()
    loss = tf.Variable(8.0, name="loss")
    tf.summary.scalar("loss_of_step", loss)
    return tf.group(loss.assign_sub(1.0), step.assign_add(1))


def test_threads_of_a_supervisor_write_checkpoints_and_summaries(tmp_path):
    with tf.Graph().as_default():
        step = _steps()
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0.01, save_summaries_secs=0.01)
        calls = []
        with supervisor.managed_session() as session:
            supervisor.loop(0.01, calls.append, (1,))
            session.run(step)
            for _ in range(200):
                time.sleep(0.01)
                tags = [v.tag for path in tmp_path.glob("events*") for v in _values(supervisor, path)]
                written = {"loss_of_step", "global_step/sec"} <= set(tags) and calls
                if written and tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-1"):
                    break
            else:
                raise AssertionError((tags, os.listdir(tmp_path)))


def test_a_supervisor_of_a_graph_that_calls_python_trains(tmp_path):
    with tf.Graph().as_default():
        tf.train.create_global_step()
        found = tf.py_func(lambda: np.float32(3), [], tf.float32)
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, summary_op=None)
        with (
            pytest.warns(UserWarning, match="writes no graph.pbtxt: .*PyFunc"),
            supervisor.managed_session() as session,
        ):
            assert session.run(found) == 3
    assert not (tmp_path / "graph.pbtxt").exists()


def _values(supervisor, path):
    supervisor.summary_writer.flush()
    return [v for event in tf.train.summary_iterator(str(path)) for v in event.summary.value]


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
        (lambda: tf.train.Supervisor(is_chief=False), NotImplementedError, "one process computes"),
        (lambda: tf.train.MonitoredTrainingSession(is_chief=False), NotImplementedError, "one process computes"),
        (lambda: tf.train.StopAtStepHook(), ValueError, "either num_steps or last_step"),
        (lambda: tf.train.SecondOrStepTimer(1, 1), ValueError, "either every_secs or every_steps"),
        (lambda: tf.train.SummarySaverHook(1), ValueError, "either scaffold or summary_op"),
        (lambda: tf.train.StopAtStepHook(3).begin(), RuntimeError, "no global step"),
        (lambda: tf.train.StepCounterHook().begin(), RuntimeError, "no global step"),
        (lambda: tf.train.SessionManager().prepare_session(""), RuntimeError, "give init_op, init_fn or local_init_op"),
        (lambda: tf.train.SessionCreator().create_session(), NotImplementedError, "define create_session"),
        (lambda: tf.train.Supervisor().summary_computed(None, b""), RuntimeError, "give logdir, or summary_writer"),
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


def test_a_matrix_of_confusion_has_as_many_classes_as_the_numbers():
    found = np.asarray(tf.confusion_matrix([0, 3, 1], [0, 1, 1]))
    assert found.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_the_best_predictions_have_an_axis_for_the_samples():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="axis for the samples"):
        tf.metrics.precision_at_top_k(tf.constant([2, 7], tf.int64), tf.constant([9, 4, 6], tf.int64))
