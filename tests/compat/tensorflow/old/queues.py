"""Queues: what several runs put in and take out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

X = array(4, 2)


def one_by_one(tf: Any, fed: Any) -> Any:
    queue = tf.FIFOQueue(4, tf.float32, shapes=[(2,)])
    puts = [queue.enqueue(tf.constant(row)) for row in X]
    taken, count = queue.dequeue(), queue.size()
    assert taken.shape.as_list() == [2]
    with tf.Session() as session:
        session.run(puts[:3])
        found = [session.run(count), session.run(taken * 2), session.run(count)]
        session.run(puts[3])
        rest = np.sort([session.run(taken) for _ in range(3)], 0)
    return [tf.constant(x) for x in [found[0], found[2], rest.shape]]


def in_order(tf: Any, fed: Any) -> Any:
    queue = tf.FIFOQueue(9, [tf.float32, tf.int32], shapes=[(2,), ()], names=["x", "y"])
    put = queue.enqueue_many({"x": X, "y": np.arange(4)})
    first, others = queue.dequeue(), queue.dequeue_many(3)
    assert others["x"].shape.as_list() == [3, 2]
    with tf.Session() as session:
        session.run(put)
        found = session.run(first), session.run(others)
    return [tf.constant(each[key]) for each in found for key in ("x", "y")]


def at_the_end(tf: Any, fed: Any) -> Any:
    queue = tf.FIFOQueue(9, tf.float32, shapes=())
    put, taken, close = queue.enqueue(3.0), queue.dequeue(), queue.close()
    with tf.Session() as session:
        session.run(put)
        session.run(close)
        found = session.run(taken)
        try:
            session.run(taken)
        except tf.errors.OutOfRangeError:
            return tf.constant(found)


CASES = {"one_by_one": one_by_one, "in_order": in_order, "at_the_end": at_the_end}
