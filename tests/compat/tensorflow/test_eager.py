"""`tf.contrib.eager`: gradients of functions."""

from __future__ import annotations

import numpy as np
import pytest
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


def test_a_saver(tmp_path):
    first, second = tfe.Variable([1.0, 2.0], name="a"), tfe.Variable(3.0, name="b")
    saver = tfe.Saver([first, second])
    path = saver.save(str(tmp_path / "v"), global_step=4)
    assert path.endswith("-4") and tf.train.latest_checkpoint(str(tmp_path)) == path
    first.assign([0.0, 0.0])
    second.assign(0.0)
    saver.restore(path)
    assert first.numpy().tolist() == [1, 2] and second.numpy() == 3


class Pair(tfe.Network):
    """Two layers, one after the other."""

    def __init__(self):
        super().__init__(name="pair")
        ones = tf.ones_initializer()
        self.first = self.track_layer(tf.layers.Dense(2, kernel_initializer=ones))
        self.last = self.track_layer(tf.layers.Dense(1, use_bias=False, kernel_initializer=ones, name="last"))

    def call(self, x):
        return self.last(self.first(x))


def test_a_network_has_the_variables_of_its_layers(engine):
    tf.enable_eager_execution()
    network = Pair()
    y, pairs = tfe.implicit_value_and_gradients(lambda: tf.reduce_sum(network(tf.constant([[1.0, 2.0]]))))()
    assert y.numpy() == 6.0 and network.layers == [network.first, network.last]
    assert network.get_layer("last") is network.get_layer(index=1) is network.last
    slopes = {id(v): slope.numpy().tolist() for slope, v in pairs}
    wanted = [[[1.0, 1.0], [2.0, 2.0]], [1.0, 1.0], [[3.0], [3.0]]]
    assert [slopes[id(v)] for v in network.variables] == wanted and len(network.trainable_variables) == 3
    tf.train.GradientDescentOptimizer(0.5).apply_gradients(pairs)
    np.testing.assert_allclose(network.last.kernel.numpy(), [[-0.5], [-0.5]])


def test_a_network_tracks_layers_alone():
    network = Pair()
    with pytest.raises(TypeError, match="it takes a layer"):
        network.track_layer(tf.nn.relu)
    with pytest.raises(ValueError, match="no layer has the name 'other'"):
        network.get_layer("other")
    network.trainable = False
    assert network.trainable_variables == [] and tfe.num_gpus() >= 0


def test_layers_keep_variables_that_have_values(engine):
    tf.enable_eager_execution()
    x = tf.constant([[1.0, 3.0], [3.0, 7.0]])
    layer = tf.layers.BatchNormalization(momentum=0.5, epsilon=0.0)
    for moved in ([1.0, 2.5], [1.5, 3.75]):
        np.testing.assert_allclose(layer(x, training=True).numpy(), [[-1.0, -1.0], [1.0, 1.0]], rtol=1e-6)
        np.testing.assert_allclose(layer.moving_mean.numpy(), moved)
    assert [len(layer.trainable_variables), len(layer.variables), layer.updates] == [2, 4, []]
    dense = tf.layers.Dense(1, kernel_initializer=tf.ones_initializer(), kernel_regularizer=tf.reduce_sum)
    assert dense(x).numpy().tolist() == [[4.0], [10.0]] and dense(x).numpy().tolist() == [[4.0], [10.0]]
    dense.kernel.assign_add([[1.0], [2.0]])
    assert [loss.numpy() for loss in dense.losses] == [5.0] and tf.executing_eagerly()
    assert tf.layers.dense(x, 3, name="same").shape == tf.layers.dense(x, 3, name="same").shape == (2, 3)
