"""Variables in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

IDS = np.array([0, 3, 6, 3], "int32")


def looked_up(tf: Any, fed: Any) -> Any:
    """Rows of a table in parts, of which a step is taken; its slots are in parts, too."""
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(3)):
        table = tf.get_variable("table", [7, 2])
        tf.get_variable("scale", [])
    rows = [tf.nn.embedding_lookup(table, fed(IDS), partition_strategy=way) for way in ("div", "mod")]
    loss = tf.reduce_sum(tf.square(rows[0]))
    for optimizer in (tf.train.AdagradOptimizer(0.1), tf.train.AdamOptimizer(0.1)):
        optimizer.minimize(loss)
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply(list(table))
    return rows, tf.convert_to_tensor(table), [tf.identity(part) for part in table], tf.constant(len(table))


def operands(tf: Any, fed: Any) -> Any:
    """A matrix in parts along its columns, with a regularizer; assigned as a whole and by parts."""
    halves = tf.fixed_size_partitioner(2, axis=1)
    w = tf.get_variable("w", [4, 5], partitioner=halves, regularizer=tf.nn.l2_loss)
    with tf.variable_scope("own", custom_getter=lambda getter, *args, **kwargs: getter(*args, **kwargs)):
        b = tf.get_variable(
            "b", initializer=tf.constant(array(3)), partitioner=lambda shape, dtype: [shape.dims[0].value]
        )
    other = tf.get_variable("other", [4, 5], partitioner=halves)
    with tf.control_dependencies(other.assign(tf.constant(array(4, 5)))):
        whole = other.assign_sub([array(4, 3), array(4, 2)])[0]
    return (
        tf.matmul(fed(array(3, 4)), w),
        tf.convert_to_tensor(b),
        tf.constant(w.get_shape().as_list()),
        tf.stop_gradient(whole),
    )


def reused(tf: Any, fed: Any) -> Any:
    made = []
    for reuse in (None, True, tf.AUTO_REUSE):
        with tf.variable_scope("v", reuse=reuse, partitioner=tf.fixed_size_partitioner(2)):
            made.append(tf.get_variable("x", [3, 2]))
    with tf.variable_scope("v", reuse=True):
        made.append(tf.get_variable("x", [3, 2]))
    return [tf.convert_to_tensor(one) for one in made], tf.constant([one is made[0] for one in made])


def sizes(tf: Any, fed: Any) -> Any:
    """The numbers of parts by bytes."""
    ways = {
        "fixed": tf.fixed_size_partitioner(9),
        "min": tf.min_max_variable_partitioner(max_partitions=4, min_slice_size=40),
        "few": tf.min_max_variable_partitioner(max_partitions=4, axis=1),
        "axis": tf.variable_axis_size_partitioner(40),
        "shards": tf.variable_axis_size_partitioner(8, axis=1, max_shards=2),
    }
    found = [list(way(shape=tf.TensorShape([7, 3]), dtype=tf.float32)) for way in ways.values()]
    return tf.constant(found), [
        tf.convert_to_tensor(tf.get_variable(name, [7, 3], partitioner=way)) for name, way in ways.items()
    ]


def old_name(tf: Any, fed: Any) -> Any:
    first = tf.create_partitioned_variables([4, 3], [1, 3], tf.zeros_initializer())
    second = tf.create_partitioned_variables([3], [2], tf.constant(array(3)), name="named")
    return tf.concat(first, 1), tf.concat(second, 0)


def layers(tf: Any, fed: Any) -> Any:
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.dense(fed(array(3, 4)), 5, kernel_regularizer=tf.nn.l2_loss)
        y = tf.layers.batch_normalization(y, training=True)
        y = tf.contrib.layers.fully_connected(y, 4, normalizer_fn=tf.contrib.layers.batch_norm)
        cell = tf.nn.rnn_cell.LSTMCell(3)
        y, _ = cell(y, cell.zero_state(3, tf.float32))
        return y


def initial(tf: Any, fed: Any) -> Any:
    """What initializers give parts: the scale is that of the whole variable."""
    thirds = tf.fixed_size_partitioner(3)
    eye = tf.get_variable("eye", [5, 4], initializer=tf.initializers.identity(gain=2.0), partitioner=thirds)

    def places(shape: Any, dtype: Any, partition_info: Any) -> Any:
        return tf.add(tf.zeros(shape, dtype), [*partition_info.full_shape, *partition_info.var_offset])

    own = tf.get_variable("own", [3, 4], initializer=places, partitioner=thirds)
    narrow = tf.get_variable("narrow", [3000, 2], initializer=tf.glorot_uniform_initializer(), partitioner=thirds)
    bound = np.sqrt(6 / 3002)
    near = tf.reduce_max(tf.abs(narrow))
    return tf.convert_to_tensor(eye), tf.convert_to_tensor(own), (near < bound) & (near > 0.9 * bound)


def _error(build: Callable[[Any], Any]) -> Any:
    return lambda tf, fed: build(tf)


def _then(**then: Any) -> Any:
    def build(tf: Any) -> Any:
        with tf.variable_scope("v"):
            tf.get_variable("x", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        more = {key: value(tf) if callable(value) else value for key, value in then.items()}
        with tf.variable_scope("v", reuse=more.pop("reuse", None)):
            tf.get_variable("x", more.pop("shape", [4, 2]), **more)

    return _error(build)


ERRORS = {
    "again": _then(partitioner=lambda tf: tf.fixed_size_partitioner(2)),
    "other_parts": _then(partitioner=lambda tf: tf.fixed_size_partitioner(4), reuse=lambda tf: tf.AUTO_REUSE),
    "other_shape": _then(partitioner=lambda tf: tf.fixed_size_partitioner(2), reuse=True, shape=[4, 3]),
    "without": _then(reuse=lambda tf: tf.AUTO_REUSE),
    "no_function": _error(lambda tf: tf.get_variable("x", [4], partitioner=2)),
    "no_shape": _error(lambda tf: tf.get_variable("x", partitioner=tf.fixed_size_partitioner(2))),
    "two_axes": _error(lambda tf: tf.get_variable("x", [4, 4], partitioner=lambda **_: [2, 2])),
    "no_parts": _error(lambda tf: tf.get_variable("x", [4, 4], partitioner=lambda **_: [0, 1])),
    "few_axes": _error(lambda tf: tf.get_variable("x", [4, 4], partitioner=lambda **_: [2])),
    "no_bytes": _error(lambda tf: tf.variable_axis_size_partitioner(0)),
}
INITIAL = ("initial",)
CASES = {
    **{one.__name__: one for one in (looked_up, operands, reused, sizes, old_name, layers, initial)},
    **{f"refused_{name}": case for name, case in ERRORS.items()},
}
