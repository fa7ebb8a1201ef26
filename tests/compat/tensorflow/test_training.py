"""What a program trains by: coordinators, supervisors and the managers of their sessions."""

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


# -- supervisors ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: tf.train.Supervisor(is_chief=False), NotImplementedError, "one process computes"),
        (lambda: tf.train.SessionManager().prepare_session(""), RuntimeError, "give init_op, init_fn or local_init_op"),
        (lambda: tf.train.Supervisor().summary_computed(None, b""), RuntimeError, "give logdir, or summary_writer"),
    ],
)
def test_wrong_calls(call, error, problem):
    with tf.Graph().as_default(), pytest.raises(error, match=problem):
        call()
