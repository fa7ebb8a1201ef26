"""`tf.contrib.eager`: gradients of functions."""

from __future__ import annotations

import numpy as np
from dovetail.compat.tensorflow.compat import v1 as tf

from dovetail.compat import tensorflow
from dovetail.compat.tensorflow.names.train import steps as train

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


def test_metrics_are_over_all_calls(engine):
    mean, share = tfe.metrics.Mean(), tfe.metrics.Accuracy()
    for values, labels in (([1.0, 2.0], [0, 1]), ([6.0], [1])):
        mean(tf.constant(values))
        share(labels, tf.ones_like(labels))
    assert float(mean.result()) == 3.0 and round(float(share.result()), 4) == 0.6667


def test_a_step_opens_no_graph(monkeypatch):
    monkeypatch.setattr(train, "_EAGER_STEP", [])
    tf.enable_eager_execution()
    step = tf.train.get_or_create_global_step()
    assert step.numpy() == 0 and tf.train.get_global_step() is step
    w = tfe.Variable(4.0)
    tf.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant(2.0), w)], global_step=step)
    assert (w.numpy(), step.numpy()) == (3.0, 1) and (tf.ones([]) + 1.0).numpy() == 2.0


def test_second_names():
    assert (
        tfe.Variable is tensorflow.Variable
        and tfe.defun(lambda x: x + 1.0)(1.0).numpy() == 2.0
        and tfe.executing_eagerly()
    )
