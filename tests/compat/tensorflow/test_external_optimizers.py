"""`tf.contrib.opt`'s optimizers of other libraries, which TensorFlow no longer has, against SciPy called by hand."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest
from scipy import optimize

START = np.array([-1.2, 1.0], "float64")
CASES = {
    "bounds": ({"var_to_bounds": (-2.0, [0.5, 0.8])}, {"bounds": [(-2.0, 0.5), (-2.0, 0.8)]}),
    "method": ({"method": "CG", "options": {"maxiter": 5}}, {"method": "CG", "options": {"maxiter": 5}}),
    "constraints": (
        {"method": "SLSQP", "equalities": lambda v: v[0] + v[1] - 1.0, "inequalities": lambda v: 0.3 - v[0]},
        {
            "method": "SLSQP",
            "constraints": [
                {"type": "eq", "fun": lambda x: x[0] + x[1] - 1.0},
                {"type": "ineq", "fun": lambda x: 0.3 - x[0]},
            ],
        },
    ),
}


def _loss(x):
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


@pytest.mark.parametrize("case", CASES)
def test_as_scipy(case):
    ours, theirs = CASES[case]
    wanted = optimize.minimize(_loss, START, jac=optimize.rosen_der, **{"method": "L-BFGS-B", "tol": 1e-9, **theirs}).x
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(START)
        given = {key: {v: x} if key == "var_to_bounds" else [x(v)] if callable(x) else x for key, x in ours.items()}
        optimizer = tf.contrib.opt.ScipyOptimizerInterface(_loss(v), tol=1e-9, **given)
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session)
        np.testing.assert_allclose(session.run(v), wanted, atol=1e-5)


def test_several_variables_feeds_and_callbacks():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, other = tf.Variable([[1.0], [2.0]]), tf.Variable(3.0), tf.Variable(9.0)
        target = tf.placeholder(tf.float32)
        loss = tf.reduce_sum(tf.square(a - target)) + tf.square(b + target)
        optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, var_list=[a, b])
        losses, steps = [], []
        session.run(tf.global_variables_initializer())
        optimizer.minimize(
            session, {target: 4.0}, [loss, target], steps.append, lambda loss, fed: losses.append((loss, fed))
        )
        found = session.run([a, b, other])
    np.testing.assert_allclose(found[0], [[4.0], [4.0]], atol=1e-4)
    np.testing.assert_allclose(found[1:], [-4.0, 9.0], atol=1e-4)
    assert losses[0] == (62.0, 4.0) and losses[-1][0] < 1e-6 and steps[-1].shape == (3,)


def test_another_library():
    class Halving(tf.contrib.opt.ExternalOptimizerInterface):
        def _minimize(self, initial_val, loss_grad_func, packed_bounds, optimizer_kwargs, **more):
            loss, slope = loss_grad_func(initial_val)
            assert (float(loss), slope.tolist(), packed_bounds) == (5.0, [2.0, 4.0], None)
            return initial_val * optimizer_kwargs["factor"]

    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        session.run(tf.global_variables_initializer())
        Halving(tf.reduce_sum(v * v), factor=0.5).minimize()
        assert session.run(v).tolist() == [0.5, 1.0]


def test_wrong_calls():
    with tf.Graph().as_default():
        v = tf.Variable([1.0])
        with pytest.raises(ValueError, match="no default session"):
            tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(v)).minimize()
        session = tf.Session()
        session.run(v.initializer)
        with pytest.raises(ValueError, match="it sets bounds itself: give var_to_bounds"):
            tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(v), bounds=[(0, 1)]).minimize(session)
        with pytest.raises(NotImplementedError, match="it defines no _minimize"):
            tf.contrib.opt.ExternalOptimizerInterface(tf.reduce_sum(v)).minimize(session)
