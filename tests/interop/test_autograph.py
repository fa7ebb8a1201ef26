"""Dovetail inside a `tf.function` that AutoGraph rewrites."""

from __future__ import annotations

import pytest

from dovetail import backend as K
from dovetail import ops

tf = pytest.importorskip("tensorflow")


def test_the_user_s_code_is_rewritten_and_dovetail_s_is_not():
    @tf.function
    def step(x):
        if tf.reduce_sum(x) > 0:
            x = K.sigmoid(ops.relu(x, max_value=2.0))
        return K.foldl(lambda total, row: total + row, x)

    assert step(tf.zeros((2, 3))).numpy().tolist() == [0, 0, 0]
    assert step(tf.ones((2, 3))).numpy() == pytest.approx([1.4621172] * 3)
