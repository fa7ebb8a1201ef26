"""Queues between threads: taking out waits until another thread puts in."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf


def test_each_side_waits_for_the_other():
    with tf.Graph().as_default(), tf.Session() as session:
        queue, found = tf.FIFOQueue(1, "float32", shapes=()), []
        x = tf.placeholder("float32", ())
        put, taken = queue.enqueue(x), queue.dequeue()
        thread = threading.Thread(target=lambda: found.extend(session.run(taken) for _ in range(3)))
        thread.start()
        for number in range(3):  # more than its capacity
            session.run(put, {x: number})
        thread.join()
        assert found == [0, 1, 2]


def test_a_closed_queue_takes_nothing():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, "float32", name="mine")
        session.run(queue.close())
        with pytest.raises(RuntimeError, match="the queue 'mine' is closed"):
            session.run(queue.enqueue(1.0))


# -- runners ----------------------------------------------------------------------------------------------------------


def test_batches_come_from_threads(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = np.arange(10, dtype="float32"), np.arange(10) * 2
        coord = tf.train.Coordinator()
        one, two = tf.train.slice_input_producer([x, y], num_epochs=3, shuffle=False)
        batches = tf.train.batch([one, two], 4, capacity=7, allow_smaller_final_batch=True)
        twice = batches[0] * 2.0
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(session, coord)
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while not coord.should_stop():
                first, (a, b) = session.run([twice, batches])
                np.testing.assert_array_equal(first, b)
                found.extend(a)
        coord.request_stop()
        coord.join(threads)
    assert [len(first), *found] == [2, *range(10), *range(10), *range(10)]


def test_shuffled_batches_have_each_example_once(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        row = tf.train.range_input_producer(20, num_epochs=1, seed=3).dequeue()
        batches = tf.train.shuffle_batch({"a": row}, 5, capacity=12, min_after_dequeue=6, num_threads=2, seed=3)
        session.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(session)
        found = np.concatenate([session.run(batches)["a"] for _ in range(4)])
    assert sorted(found) == list(range(20)) and list(found) != sorted(found)


def test_examples_are_padded_and_several_at_once():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.PaddingFIFOQueue(3, "int32", [[None, 1]])
        for rows in (1, 3, 2):
            session.run(queue.enqueue(np.ones([rows, 1], "int32") * rows))
        size = tf.placeholder(tf.int32, ())
        first, second = session.run(queue.dequeue_many(size), {size: 2})
        assert (first.ravel().tolist(), second.ravel().tolist()) == ([1, 0, 0], [3, 3, 3])
        queue = tf.PaddingFIFOQueue(2, ["int32", "float32", tf.string], [[], [None], [None]])
        for n in (2, 1):
            session.run(queue.enqueue([n, np.ones(n, "float32"), ["word"] * n]))
        numbers, rows, words = session.run(queue.dequeue_many(2))
        assert (numbers.tolist(), rows.tolist()) == ([2, 1], [[1, 1], [1, 0]])
        assert words.tolist() == [[b"word", b"word"], [b"word", b""]]
        many = tf.train.batch_join([[tf.constant([[1.0], [2.0]])]] * 2, 4, enqueue_many=True)
        tf.train.start_queue_runners(session)
        assert many.shape == (4, 1) and sorted(session.run(many).ravel()) == [1, 1, 2, 2]
        with pytest.raises(ValueError, match="All shapes must be fully defined"):
            tf.train.batch([tf.placeholder(tf.float32, [None])], 2)


def test_the_lowest_priority_comes_first():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.PriorityQueue(5, [tf.float32], [()])
        session.run(queue.enqueue_many([[3, 1, 2], [0.3, 0.1, 0.2]]))
        assert session.run(queue.dequeue())[1] == np.float32(0.1) and session.run(queue.size()) == 2


def test_errors_of_threads_are_raised_where_they_are_joined():
    with tf.Graph().as_default(), tf.Session() as session:
        queue, coord = tf.FIFOQueue(1, tf.float32, [()]), tf.train.Coordinator()
        v = tf.Variable(1.0, name="never")
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(v)]))
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value never"):
            coord.join(threads)


def test_stopping_cancels_what_waits_for_room():
    with tf.Graph().as_default(), tf.Session() as session:
        coord = tf.train.Coordinator()
        tf.train.batch([tf.constant(1.0)], 2, capacity=3)
        threads = tf.train.start_queue_runners(session, coord)
        assert tf.train.start_queue_runners(session, coord) == []
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
        assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("waits", ["enqueue", "dequeue", "dequeue_many"])
def test_closing_a_session_cancels_what_waits(waits):
    with tf.Graph().as_default():
        queue, errors = tf.FIFOQueue(2, tf.float32, [()]), []
        session = tf.Session()
        session.run(queue.enqueue(1.0))
        calls = {"enqueue": queue.enqueue_many([[2.0, 3.0, 4.0]]), "dequeue_many": queue.dequeue_many(4)}
        calls["dequeue"] = [queue.dequeue(), tf.Variable(0.0).assign_add(queue.dequeue())]
        session.run(tf.global_variables_initializer())

        def run():
            try:
                session.run(calls[waits])
            except tf.errors.CancelledError as error:
                errors.append(str(error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(1.0)
        session.close()
        thread.join(60.0)
    (error,) = errors
    assert "the session was closed while a run waited for the queue 'fifo_queue'" in error


def test_leaving_a_session_ends_a_runner_that_waits_with_a_variable(engine):
    """The run of the runner counts epochs, so that it holds a variable while the queue is full."""
    with tf.Graph().as_default(), tf.Session() as session:
        item = tf.train.string_input_producer([*map(str, range(100))], num_epochs=1, shuffle=False).dequeue()
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(session)
        assert session.run(item) == b"0"
    for thread in threads:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in threads)


def test_a_runner_that_waits_for_room_lends_variables(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        (item,) = tf.train.slice_input_producer([tf.range(50)], num_epochs=2, shuffle=False, capacity=4)
        word = tf.train.string_input_producer(["a", "b"], num_epochs=50, shuffle=False, capacity=1).dequeue()
        total = tf.Variable(0)
        step = total.assign_add(item)
        session.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        tf.train.start_queue_runners(session)
        words = [session.run([step, word])[1] for _ in range(100)]
        assert session.run(total) == 2 * sum(range(50)) and words == [b"a", b"b"] * 50
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(word)


def test_a_batch_may_be_larger_than_its_queue(engine):
    """Steps of training wait for examples, and the runner of the numbers counts epochs meanwhile."""
    with tf.Graph().as_default(), tf.Session() as session:
        (item,) = tf.train.slice_input_producer([tf.range(60)], num_epochs=3, shuffle=False)
        total = tf.Variable(0)
        step = total.assign_add(tf.reduce_sum(tf.train.batch([item], 50, capacity=32)))
        session.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        tf.train.start_queue_runners(session)
        assert [session.run(step) for _ in range(3)] == [1225, 2550, 3975]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)


def test_a_run_that_fails_gives_elements_back():
    with tf.Graph().as_default(), tf.Session() as session:
        queue, never = tf.FIFOQueue(3, tf.int32, [()]), tf.Variable(1, name="never")
        session.run(queue.enqueue_many([[1, 2, 3]]))
        pair = queue.dequeue_many(2)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run([pair, never])
        assert session.run(pair).tolist() == [1, 2] and session.run(queue.size()) == 1


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


# -- buckets ----------------------------------------------------------------------------------------------------------


def batches_of_lengths(count, **given):
    """The batches of rows of the lengths 0 to count, in a random order."""
    with tf.Graph().as_default(), tf.Session() as session:
        length = tf.train.range_input_producer(count, num_epochs=1, seed=3).dequeue()
        example = {"row": tf.range(length) + 1, "text": tf.as_string(length)}
        lengths, batch = tf.contrib.training.bucket_by_sequence_length(length, example, dynamic_pad=True, **given)
        session.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(session)
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run([lengths, batch["row"], batch["text"]]))
    return lengths.shape.as_list(), found


def test_batches_have_examples_of_one_bucket(engine):
    shape, found = batches_of_lengths(12, batch_size=3, bucket_boundaries=[3, 8], num_threads=4)
    assert shape == [3] and len(found) == 3
    for lengths, rows, text in found:
        assert len({int(np.searchsorted([3, 8], n, "right")) for n in lengths}) == 1
        assert rows.shape == (3, lengths.max()) and text.tolist() == [b"%d" % n for n in lengths]
        np.testing.assert_array_equal(
            rows, np.arange(1, rows.shape[1] + 1) * (np.arange(rows.shape[1]) < lengths[:, None])
        )


def test_last_batches_and_buckets_of_other_sizes(engine):
    given = {"batch_size": [2, 4], "allow_smaller_final_batch": True, "keep_input": tf.constant(True)}
    shape, found = batches_of_lengths(9, bucket_boundaries=[4], capacity=2, **given)
    assert shape == [None] and sorted(len(lengths) for lengths, *_ in found) == [1, 2, 2, 4]
    assert sorted(n for lengths, *_ in found for n in lengths) == [*range(9)]


def test_the_number_of_a_bucket_and_examples_that_are_left_out():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
        which, (batch,) = tf.contrib.training.bucket([x], x % 2, 2, 2, keep_input=tf.not_equal(x, 2))
        session.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(session)
        found = [session.run([which, batch]) for _ in range(3)]
        assert sorted((int(n), x.tolist()) for n, x in found) == [(0, [0, 4]), (1, [1, 3]), (1, [5, 7])]
        with pytest.raises(ValueError, match="for each of 2 buckets"):
            tf.contrib.training.bucket([x], x % 2, [1, 2, 3], 2)
        with pytest.raises(ValueError, match="ascend"):
            tf.contrib.training.bucket_by_sequence_length(x, [x], 2, [5, 3])
