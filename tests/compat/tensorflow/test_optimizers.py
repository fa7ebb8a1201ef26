"""Optimizers of `tf.contrib.opt`, which TensorFlow no longer has, against their rules in NumPy."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

START, FACTOR = np.array([1.0, -2.0, 0.5], "float64"), np.array([1.0, 0.5, -3.0])


def adam(x, g, state, t, nesterov=False):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    state["v"] = 0.99 * state.get("v", 0.0) + 0.01 * g * g
    ahead = 0.9 * state["m"] + 0.1 * g if nesterov else state["m"]
    return x - 0.1 * np.sqrt(1 - 0.99**t) / (1 - 0.9**t) * ahead / (np.sqrt(state["v"]) + 1e-8)


def adamax(x, g, state, t):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    state["v"] = np.maximum(0.99 * state.get("v", 0.0), abs(g))
    return x - 0.1 / (1 - 0.9**t) * state["m"] / (state["v"] + 1e-8)


def sign(x, g, state, t, change):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    return x - 0.1 * change(np.sign(g) * np.sign(state["m"])) * g


def momentum(x, g, state, t):
    state["m"] = 0.8 * state.get("m", 0.0) + g
    return x - 0.1 * state["m"]


opt = tf.contrib.opt
ADAM = {"learning_rate": 0.1, "beta2": 0.99}
RULES = {
    "nadam": (lambda: opt.NadamOptimizer(**ADAM), lambda *given: adam(*given, nesterov=True)),
    "adamax": (lambda: opt.AdaMaxOptimizer(**ADAM), adamax),
    "add_sign": (lambda: opt.AddSignOptimizer(alpha=0.7), lambda *given: sign(*given, lambda same: 0.7 + same)),
    "power_sign": (lambda: opt.PowerSignOptimizer(0.1, 2.0), lambda *given: sign(*given, lambda same: 2.0**same)),
    "faded_sign": (
        lambda: opt.AddSignOptimizer(sign_decay_fn=tf.constant(0.5, tf.float64)),
        lambda *given: sign(*given, lambda same: 1.0 + 0.5 * same),
    ),
    "adamw": (lambda: opt.AdamWOptimizer(0.01, **ADAM), lambda x, *given: adam(x, *given) - 0.01 * x),
    "momentumw": (lambda: opt.MomentumWOptimizer(0.01, 0.1, 0.8), lambda x, *given: momentum(x, *given) - 0.01 * x),
    "extended": (
        lambda: opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)(0.02, 0.1),
        lambda x, g, state, t: x - 0.1 * g - 0.02 * x,
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    make, rule = RULES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(START)
        step = make().minimize(tf.reduce_sum(v * v * FACTOR))
        session.run(tf.global_variables_initializer())
        wanted, state = START, {}
        for t in range(1, 5):
            session.run(step)
            wanted = rule(wanted, 2 * wanted * FACTOR, state, t)
            # as in TensorFlow, a beta is of float32 and its first power of float64
            np.testing.assert_allclose(session.run(v), wanted, rtol=3e-6)


def test_weights_of_some_variables_decay():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(1.0), tf.Variable(1.0)
        optimizer = opt.MomentumWOptimizer(weight_decay=0.5, learning_rate=0.0, momentum=0.0)
        step = optimizer.minimize(a + b, decay_var_list=[b])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([a, b]) == [1.0, 0.5]


def test_averages_are_saved_under_the_names_of_their_variables(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v, other = tf.Variable(4.0, name="v"), tf.Variable(7.0, name="other", trainable=False)
        optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), average_decay=0.75)
        with pytest.raises(RuntimeError, match="no step was made"):
            optimizer.swapping_saver()
        step = optimizer.minimize(1.0 * v)
        saver = optimizer.swapping_saver()
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = saver.save(session, str(tmp_path / "model"))
        read = {name: tf.train.load_variable(path, name) for name, _ in tf.train.list_variables(path)}
        assert read == {"v": 3.75, "v/ExponentialMovingAverage": 3.0, "other": 7.0}
        saver.restore(session, path)
        assert session.run([v, other]) == [3.0, 7.0]
