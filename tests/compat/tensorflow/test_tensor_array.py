"""Arrays of tensors that grow in loops of graphs, on all engines."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf

v1 = tf.compat.v1


def grown(array, first, build):
    """The numbers of an array into which a loop writes from a position on: build(i, array) → the tensor."""
    count = v1.placeholder(v1.int32, [])
    _, array = v1.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(i, build(i, a))), (first, array))
    with v1.Session() as session:
        return session.run([array.stack(), array.size()], {count: 5})


@pytest.mark.parametrize("size", [0, 1])
def test_arrays_grow_in_loops(engine, size):
    with v1.Graph().as_default():
        array = v1.TensorArray(v1.float32, size=size, dynamic_size=True)
        numbers, count = grown(array, 0, lambda i, a: v1.fill([2], v1.cast(i, v1.float32)))
        assert numbers.tolist() == [[i, i] for i in range(5)] and count == 5


def test_what_is_written_is_read_in_later_steps(engine):
    with v1.Graph().as_default():
        array = v1.TensorArray(v1.float32, 0, dynamic_size=True, clear_after_read=False).write(0, 1.0).write(1, 1.0)
        assert grown(array, 2, lambda i, a: a.read(i - 1) + a.read(i - 2))[0].tolist() == [1, 1, 2, 3, 5]


def test_gradients_go_through_what_grew(engine):
    with v1.Graph().as_default():
        w = v1.Variable(np.float32([[2.0]]))
        array, count = v1.TensorArray(v1.float32, 0, dynamic_size=True), v1.placeholder(v1.int32, [])

        def body(i, h, array):
            return i + 1, v1.matmul(h, w), array.write(i, h)

        *_, array = v1.while_loop(lambda i, *_: i < count, body, (0, v1.ones([1, 1]), array))
        slope = v1.gradients(v1.reduce_sum(array.stack()), w)[0]
        with v1.Session() as session:
            session.run(w.initializer)
            assert session.run([array.stack(), slope], {count: 4})[0].ravel().tolist() == [1, 2, 4, 8]
            assert session.run(slope, {count: 4}).tolist() == [[1 + 2 * 2 + 3 * 4]]


def test_arrays_of_a_fixed_size_do_not_grow(engine):
    with v1.Graph().as_default():
        numbers, count = grown(v1.TensorArray(v1.float32, size=5), 1, lambda i, a: v1.cast(i, v1.float32))
        assert numbers.tolist() == [0, 1, 2, 3, 4] and count == 5
