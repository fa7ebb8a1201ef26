"""`tf.contrib.eager`: gradients of functions."""

from __future__ import annotations

import numpy as np
from dovetail.compat.tensorflow.compat import v1 as tf

from dovetail.compat import tensorflow

tfe = tf.contrib.eager


def test_gradients_by_variables(engine):
    w, still = tfe.Variable([1.0, 2.0]), tfe.Variable(3.0, trainable=False)
    value, pairs = tfe.implicit_value_and_gradients(lambda x: tf.reduce_sum(w * w * x) * still)(tf.constant(2.0))
    assert value.numpy() == 30.0 and [v is w for _, v in pairs] == [True]
    np.testing.assert_allclose(pairs[0][0].numpy(), [12.0, 24.0])
    tf.train.GradientDescentOptimizer(0.5).apply_gradients(tfe.implicit_gradients(lambda: tf.reduce_sum(w * w))())
    np.testing.assert_allclose(w.numpy(), [0.0, 0.0])


def test_gradients_by_arguments(engine):
    value, slopes = tfe.value_and_gradients_function(lambda x, y: x * x * y)(3.0, 2.0)
    assert [x.numpy() for x in (value, *slopes)] == [18.0, 12.0, 9.0]
    assert [x.numpy() for x in tfe.gradients_function(lambda x, y: x * y, [1])(3.0, 2.0)] == [3.0]


def test_second_names():
    assert (
        tfe.Variable is tensorflow.Variable
        and tfe.defun(lambda x: x + 1.0)(1.0).numpy() == 2.0
        and tfe.executing_eagerly()
    )
