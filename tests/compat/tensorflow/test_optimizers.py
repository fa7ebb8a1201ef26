"""Optimizers of `tf.contrib.opt`, which TensorFlow no longer has, against their rules in NumPy; steps of lookups."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from tests.libraries import Library

theirs = Library("tensorflow")
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


def test_gradients_clipped_by_their_norm(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable([3.0, 0.0]), tf.Variable(4.0)
        loss = tf.reduce_sum(v * v) / 2 + w * w / 2
        optimizer = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 2.5)
        step = optimizer.minimize(loss, tf.train.get_or_create_global_step())
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v), [1.5, 0])
        np.testing.assert_allclose(session.run([w, tf.train.get_global_step()]), [2, 1])


# -- lookups ----------------------------------------------------------------------------------------------------------

OPTIMIZERS = {  # of tf.train → what makes them
    "GradientDescent": lambda train: train.GradientDescentOptimizer(0.1),
    "Momentum": lambda train: train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda train: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda train: train.AdamOptimizer(0.1),
    "RMSProp": lambda train: train.RMSPropOptimizer(0.1, 0.8, 0.7),
    "CenteredRMSProp": lambda train: train.RMSPropOptimizer(0.1, 0.8, 0.7, centered=True),
    "Adagrad": lambda train: train.AdagradOptimizer(0.1),
    "Adadelta": lambda train: train.AdadeltaOptimizer(0.5, 0.8),
    "Ftrl": lambda train: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.1),
    "ProximalGradientDescent": lambda train: train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.3),
    "ProximalAdagrad": lambda train: train.ProximalAdagradOptimizer(0.1, 0.1, 0.2, 0.3),
}
ROWS = [[1, 3, 0], [0, 1, 4], [4, 0, 3]]  # that the steps look up
TABLE = np.arange(1, 11, dtype="float32").reshape(5, 2) / 10


LOOKUPS = {  # (tf, table, ids) → a loss
    "gather": lambda tf, table, ids: tf.square(tf.gather(table, ids)),
    "embedding_lookup": lambda tf, table, ids: tf.square(tf.nn.embedding_lookup(table, ids)),
    "gather_nd": lambda tf, table, ids: tf.square(tf.gather_nd(table, tf.expand_dims(ids, -1))),
    "a row twice": lambda tf, table, ids: tf.square(tf.gather(table, tf.stack([ids[:2], ids[:2] * 0 + ids[0]]))),
    "two lookups": lambda tf, table, ids: tf.gather(table, ids[:1]) * tf.gather(table, ids[1:]),
    "all rows, too": lambda tf, table, ids: tf.square(tf.gather(table, ids)) + 0.1 * tf.reduce_sum(tf.square(table)),
    "of a product": lambda tf, table, ids: tf.square(tf.gather(table * 2.0, ids)),
    "a column": lambda tf, table, ids: tf.square(tf.gather(table, ids[:1] * 0, axis=1)),
}
CHANGES = {  # (tf, gradients) → gradients
    "clip_by_value": lambda tf, gradients: [tf.clip_by_value(g, -0.2, 0.5) for g in gradients],
    "clip_by_norm": lambda tf, gradients: [tf.clip_by_norm(g, 0.5) for g in gradients],
    "clip_by_global_norm": lambda tf, gradients: tf.clip_by_global_norm(gradients, 0.5)[0],
    "doubled": lambda tf, gradients: [tf.convert_to_tensor(g) * 2.0 for g in gradients],
}


def trained(tf, optimizer, loss, change=lambda tf, gradients: gradients, partitioner=None):
    """The variables after each of three steps of lookups."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=tf.constant(TABLE), partitioner=partitioner)
        ids = tf.placeholder(tf.int32, [None])
        optimizer = OPTIMIZERS[optimizer](tf.train)
        gradients, variables = zip(*optimizer.compute_gradients(tf.reduce_sum(loss(tf, table, ids))), strict=True)
        step = optimizer.apply_gradients(zip(change(tf, gradients), variables, strict=True))
        session.run(tf.global_variables_initializer())
        slots = [optimizer.get_slot(v, name) for v in variables for name in optimizer.get_slot_names()]
        values = []
        for rows in ROWS:
            session.run(step, {ids: rows})
            values.append(session.run([*variables, *slots]))
    return values


def check(*case, **options):
    for one, other in zip(trained(tf, *case, **options), trained(theirs.compat.v1, *case, **options), strict=True):
        for value, wanted in zip(one, other, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_of_lookups(optimizer, engine):
    check(optimizer, LOOKUPS["gather"])


@pytest.mark.parametrize("optimizer", ["Momentum", "Adam"])
@pytest.mark.parametrize("loss", LOOKUPS)
def test_steps_of_lookups_and_of_others(loss, optimizer):
    check(optimizer, LOOKUPS[loss])


@pytest.mark.parametrize("change", CHANGES)
def test_steps_by_changed_gradients_of_lookups(change):
    check("Momentum", LOOKUPS["gather"], CHANGES[change])


def test_steps_of_lookups_in_a_table_in_parts():
    def cut(shape, dtype):
        return [2] + [1] * (len(shape) - 1)

    def loss(tf, table, ids):
        return tf.square(tf.nn.embedding_lookup(table, ids, partition_strategy="div"))

    check("RMSProp", loss, partitioner=cut)


def test_slices_are_gradients():
    def given(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            table = tf.get_variable("table", initializer=TABLE)
            slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]] * 2), tf.constant([3, 1]), tf.constant([5, 2]))
            optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
            step = optimizer.apply_gradients([(slices, table)])
            session.run(tf.global_variables_initializer())
            session.run(step)
            return session.run([table, optimizer.get_slot(table, "momentum")])

    for one, other in zip(given(tf), given(theirs.compat.v1), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_lazy_adam_moves_rows_that_were_looked_up():
    """Check a table of which a step looks up one row, after a step that looked up another one."""
    with tf.Graph().as_default(), tf.Session() as session:
        table, ids = tf.get_variable("table", initializer=TABLE), tf.placeholder(tf.int32, [None])
        step = opt.LazyAdamOptimizer(**ADAM).minimize(tf.reduce_sum(tf.square(tf.gather(table, ids))))
        session.run(tf.global_variables_initializer())
        wanted, states = TABLE.astype("float64"), [{} for _ in TABLE]
        for t, row in enumerate([1, 3, 1], 1):
            session.run(step, {ids: [row]})
            wanted[row] = adam(wanted[row], 2 * wanted[row], states[row], t)
            np.testing.assert_allclose(session.run(table), wanted, rtol=1e-5)
