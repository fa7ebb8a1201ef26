"""What watches over threads and sessions: coordinators, runners, checkpoints of folders."""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext

import dovetail.compat.tensorflow.compat.v1 as tf
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
