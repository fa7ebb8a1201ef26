"""What programs call around their steps: shapes, dense tensors of places, changes of variables, checkpoints."""

from __future__ import annotations

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


CASES = {"dimensions": dimensions, "dense": dense, "scattered": scattered, "referred": referred}
INITIAL = ("scattered", "referred")
