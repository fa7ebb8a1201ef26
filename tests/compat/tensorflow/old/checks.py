"""Checks of dtypes, ranks and numbers; counters, and first values from checkpoints."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array
from tests.compat.tensorflow.old.framework import saved

INITIAL = ("orthogonal", "identities")


def counted(tf: Any, fed: Any) -> Any:
    v = tf.Variable(0, trainable=False, name="v")
    step = tf.count_up_to(v, 3)
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        try:
            for _ in range(9):
                found.append(session.run(step))
        except tf.errors.OutOfRangeError:
            return tf.constant([*found, session.run(v)])


def _started(*arguments: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """A case: variables after `warm_start`, some of which a checkpoint has."""

    def case(tf: Any, fed: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            with tf.Graph().as_default():
                path, *_ = saved(tf, folder)
            with tf.Graph().as_default(), tf.Session() as session:
                names = {"a": [2], "b": [2, 2], "other": [2]}
                made = [
                    tf.get_variable(name, shape, initializer=tf.ones_initializer()) for name, shape in names.items()
                ]
                given = [[made[0]] if one == "variables" else one for one in arguments]
                tf.train.warm_start(path, *given, **options)
                session.run(tf.global_variables_initializer())
                values = session.run(made)
        return [tf.constant(value) for value in values]

    return case


def pairs(tf: Any, fed: Any) -> Any:
    x, y, weights = tf.constant(array(3, 4)), fed(array(3, 4, seed=1)), np.array([0.5, 0.0, 2.0], "float32")
    old, new = tf.contrib.losses.mean_pairwise_squared_error, tf.losses.mean_pairwise_squared_error
    wide = fed(array(2, 3, 2))
    return [
        new(x, y), new(x, y, 0.0), new(x, y, weights[:, None]), new(x, y, 0.5, loss_collection=None),
        new(wide * 2.0, wide), old(y, x), old(y, x, weights), old(y, x, 0.5, "scope"),
    ]  # fmt: skip


def orthogonal(tf: Any, fed: Any) -> Any:
    """The products of the columns, or of the rows if these are fewer; the draws differ."""
    shapes = {"square": [4, 4], "high": [6, 3], "wide": [2, 7], "window": [3, 3, 2, 5]}
    found = []
    for name, shape in shapes.items():
        made = tf.get_variable(name, shape, initializer=tf.orthogonal_initializer(1.5))
        w = tf.reshape(made, [-1, shape[-1]])
        found.append(tf.matmul(w, w, transpose_b=True) if name == "wide" else tf.matmul(w, w, transpose_a=True))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [tf.constant(value) for value in session.run(found)]


def identities(tf: Any, fed: Any) -> Any:
    return [
        tf.initializers.identity()([3, 3]),
        tf.initializers.identity(2.0)([2, 4]),
        tf.get_variable("w", [2, 2], initializer=tf.initializers.identity(gain=0.5)) + 0.0,
    ]


def right(tf: Any, fed: Any) -> Any:
    x, n = fed(array(2, 3)), tf.constant([1, 2])
    tf.assert_integer(n)
    tf.assert_rank_in(x, [1, 2])
    tf.assert_proper_iterable([x, n])
    questions = [tf.is_numeric_tensor(x), tf.is_numeric_tensor(n > 1), tf.is_numeric_tensor(3.0)]
    dtypes = [
        tf.assert_same_float_dtype(),
        tf.assert_same_float_dtype([x, None]),
        tf.assert_same_float_dtype(dtype=x.dtype),
    ]
    return tf.constant(questions), [tf.zeros([2], dtype) for dtype in dtypes]


def _refused(ask: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda tf, fed: ask(tf, fed(array(2, 3)))


CASES = {
    "counted": counted,
    "started": _started(),
    "started_by_names": _started(["a"]),
    "started_by_scope": _started("b"),
    "started_by_variables": _started("variables", var_name_to_prev_var_name={"a": "b"}),
    "started_by_none": _started(None),
    "started_renamed": _started("other|a", var_name_to_prev_var_name={"other": "a"}),
    "started_by_no_name": _started("a", var_name_to_prev_var_name={"z": "b"}),
    "pairs": pairs,
    "pairs_of_nothing": _refused(lambda tf, x: tf.losses.mean_pairwise_squared_error(x, None)),
    "orthogonal": orthogonal,
    "orthogonal_vector": _refused(lambda tf, x: tf.get_variable("w", [3], initializer=tf.orthogonal_initializer())),
    "identities": identities,
    "identity_of_three_axes": _refused(lambda tf, x: tf.initializers.identity()([3, 3, 3])),
    "right": right,
    "no_integer": _refused(lambda tf, x: tf.assert_integer(x)),
    "no_such_rank": _refused(lambda tf, x: tf.assert_rank_in(x, [1, 3])),
    "no_items": _refused(lambda tf, x: tf.assert_proper_iterable(x)),
    "no_float": _refused(lambda tf, x: tf.assert_same_float_dtype(dtype=tf.int32)),
    "two_floats": _refused(lambda tf, x: tf.assert_same_float_dtype([x, tf.constant(1.0, tf.float64)])),
}
