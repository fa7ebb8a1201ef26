"""Cases of variables that are made in bodies of loops and in branches, by TensorFlow 1's scopes of variables."""

import numpy as np

from tests.compat.tensorflow.cases.graph import in_graph


def found(v1, session, tensor):
    """The value of a tensor, and the names of all variables."""
    session.run(v1.global_variables_initializer())
    return [session.run(tensor), [v.name for v in v1.global_variables()]]


def in_a_loop(v1, session):
    def body(i, state):
        with v1.variable_scope("cell", reuse=v1.AUTO_REUSE):
            return i + 1, v1.matmul(state, v1.get_variable("w", [3, 3], initializer=v1.ones_initializer()))

    last = v1.while_loop(lambda i, _: i < 3, body, [v1.constant(0), v1.ones([2, 3])])
    return found(v1, session, last[1])


def in_branches(v1, session):
    def branch(name, factor):
        def made():
            with v1.variable_scope(name), v1.name_scope("inner"):
                return v1.get_variable("w", [2], initializer=v1.ones_initializer()) * factor

        return made

    chosen = v1.cond(v1.placeholder_with_default(True, []), branch("yes", 2.0), branch("no", 3.0))
    return found(v1, session, chosen)


def in_a_map(v1, session):
    def one(x):
        with v1.variable_scope("m", reuse=v1.AUTO_REUSE) as scope:
            w = v1.get_variable("w", [], initializer=v1.constant_initializer(2.0))
            with v1.variable_scope(scope, reuse=True):
                return x * w + v1.get_variable("w", [])

    return found(v1, session, v1.map_fn(one, v1.constant([1.0, 2.0])))


def in_a_scan_that_is_trained(v1, session):
    with v1.variable_scope("outer"):

        def step(state, x):
            with v1.variable_scope("rnn", reuse=v1.AUTO_REUSE, initializer=v1.ones_initializer()):
                return v1.tanh(state * v1.get_variable("u", []) + x * v1.get_variable("w", []))

        states = v1.scan(step, v1.constant([0.1, 0.2, 0.3]), initializer=v1.constant(0.0))
    loss = v1.reduce_sum(states)
    train = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
    before = found(v1, session, v1.gradients(loss, v1.trainable_variables()))
    session.run(train)
    return [before, session.run(loss)]


def with_losses(v1, session):
    def body(i, total):
        with v1.variable_scope("cell", reuse=v1.AUTO_REUSE, regularizer=lambda w: v1.reduce_sum(w) * 0.5):
            return i + 1, total * v1.get_variable("w", [], initializer=v1.constant_initializer(3.0))

    last = v1.while_loop(lambda i, _: i < 2, body, [v1.constant(0), v1.constant(1.0)])
    losses = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
    return found(v1, session, last[1] + v1.add_n(losses))


def by_a_template(v1, session):
    scaled = v1.make_template("t", lambda x: x * v1.get_variable("w", [], initializer=v1.constant_initializer(2.0)))
    last = v1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, scaled(x)), [v1.constant(0), v1.constant(1.0)])
    return found(v1, session, last[1] + scaled(v1.constant(100.0)))


def behind_assignments(v1, session):
    count = v1.Variable(0.0, name="count")
    with v1.control_dependencies([count.assign_add(1.0)]):
        w = v1.get_variable("w", initializer=np.float32([2.0]))
    return [*found(v1, session, w), session.run(count)]


CASES = [
    in_graph("variable_scope get_variable while_loop (in a body)", in_a_loop),
    in_graph("variable_scope cond name_scope (in branches)", in_branches),
    in_graph("variable_scope map_fn (in a body)", in_a_map),
    in_graph("variable_scope scan (that is trained)", in_a_scan_that_is_trained),
    in_graph("variable_scope get_collection (regularizers in a body)", with_losses),
    in_graph("make_template while_loop (in a body)", by_a_template),
    in_graph("get_variable control_dependencies (an initialiser waits for nothing)", behind_assignments),
]
