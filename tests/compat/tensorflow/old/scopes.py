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


CASES = {"reused": reused}
