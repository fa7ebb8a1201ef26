"""Queues between threads: taking out waits until another thread puts in."""

from __future__ import annotations

import threading

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
