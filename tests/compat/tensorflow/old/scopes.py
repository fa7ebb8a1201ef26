"""Scopes of variables."""

from __future__ import annotations

from typing import Any

from tests.compat.tensorflow.legacy import array


def reused(tf: Any, fed: Any) -> Any:
    x = fed(array(3, 4))
    for reuse in (None, True):
        with tf.variable_scope("layer", reuse=reuse):
            y = tf.matmul(x, tf.get_variable("w", [4, 2])) + tf.get_variable(
                "b", [2], initializer=tf.zeros_initializer()
            )
    return y


def trained_inside(tf: Any, fed: Any) -> Any:
    """Slots and averages, which have the scope of the step before their own names."""
    v = tf.get_variable("v", [2])
    for scope in ("first", "second"):
        with tf.variable_scope(scope):
            tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
            tf.train.ExponentialMovingAverage(0.9).apply([v])
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v * v))
    with tf.name_scope("named"):
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    return v * 2.0


def of_numbers(tf: Any, fed: Any) -> Any:
    """Variables of the dtype of the numbers that they begin with."""
    first = {"count": 7, "flag": True, "rate": 0.5, "wide": array(2).astype("float64")}
    made = [tf.get_variable(name, initializer=value) for name, value in first.items()]
    return [tf.cast(v, tf.float32) for v in made]


CASES = {"of_numbers": of_numbers, "reused": reused, "trained_inside": trained_inside}
