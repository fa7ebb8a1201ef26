"""Optimizers that one rule says, and decays of rates, against TensorFlow; `test_optimizers.py` has contrib's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compat.tensorflow.legacy import array


def steps(make: Callable[..., Any]) -> Callable[..., Any]:
    def run(tf: Any, fed: Any) -> Any:
        v = tf.get_variable("v", initializer=array(2, 3), use_resource=False)
        step = tf.train.get_or_create_global_step()
        train = make(tf, step).minimize(tf.reduce_sum(v * v * array(2, 3, seed=1)), step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(train)
            found = session.run(tf.global_variables())
        return [tf.constant(x) for x in found]

    return run


def decays(tf: Any, fed: Any) -> Any:
    found = []
    for step in (0, 3, 10, 25, 40):
        found += [
            tf.train.cosine_decay_restarts(0.1, step, 10),
            tf.train.cosine_decay_restarts(0.1, step, 10, 1.0, 0.5, 0.1),
            tf.train.cosine_decay_restarts(0.1, step, 8, t_mul=3.0, m_mul=0.7),
            tf.train.linear_cosine_decay(0.1, step, 30, 2.0, 0.1, 0.01),
            tf.train.noisy_linear_cosine_decay(0.1, step, 30, 0.0),
        ]
    return found


def counted(tf: Any, fed: Any) -> Any:
    """A step is counted by a variable that is among the trained ones, and has no gradient."""
    v, step = tf.get_variable("v", initializer=array(2, 3)), tf.Variable(0, name="step")
    loss = tf.reduce_sum(v * v)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    assert tf.train.AdamOptimizer().compute_gradients(loss)[1] == (None, step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        return [tf.constant(x) for x in session.run([v, step])]


def never_seen(tf: Any, fed: Any) -> Any:
    """Rows without a gradient, for which Ftrl would divide by the root of an accumulator that is still 0."""
    v = tf.get_variable("v", initializer=array(2, 3))
    train = tf.train.FtrlOptimizer(0.1, initial_accumulator_value=0.0).minimize(tf.reduce_sum(v[0] * v[0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        return tf.constant(session.run(v))


def around(inner: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """An optimizer of a program's own, which hands halved gradients on to another one."""

    def make(tf: Any, step: Any) -> Any:
        class Around(tf.train.Optimizer):  # type: ignore[misc]  # a class of either library
            def __init__(self, other: Any) -> None:
                super().__init__(False, "Around")
                self.other = other

            def _create_slots(self, var_list: Any) -> None:
                self.other._create_slots(var_list)

            def _prepare(self) -> None:
                self.other._prepare()

            def _apply_dense(self, grad: Any, var: Any) -> Any:
                return self.other._apply_dense(grad * 0.5, var)

            def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
                return self.other._resource_apply_dense(grad * 0.5, handle)

            def _finish(self, update_ops: Any, name_scope: str) -> Any:
                return self.other._finish(update_ops, name_scope)

        return Around(inner(tf))

    return steps(make)


def derived(tf: Any, step: Any) -> Any:
    """An optimizer that shrinks the gradients of its base."""

    class Smaller(tf.train.MomentumOptimizer):  # type: ignore[misc]  # a class of either library
        def _apply_dense(self, grad: Any, var: Any) -> Any:
            return super()._apply_dense(grad * 0.5, var)

    return Smaller(0.1, 0.9)


L1_L2 = {"l1_regularization_strength": 0.05, "l2_regularization_strength": 0.1}
CASES = {
    "proximal_descent": steps(lambda tf, step: tf.train.ProximalGradientDescentOptimizer(0.1, **L1_L2)),
    "proximal_adagrad": steps(lambda tf, step: tf.train.ProximalAdagradOptimizer(0.1, 0.2, **L1_L2)),
    "dual_averaging": steps(lambda tf, step: tf.train.AdagradDAOptimizer(0.1, step, 0.2, **L1_L2)),
    "decays": decays,
    "counted": counted,
    "never_seen": never_seen,
    "around_descent": around(lambda tf: tf.train.GradientDescentOptimizer(0.1)),
    "around_momentum": around(lambda tf: tf.train.MomentumOptimizer(0.1, 0.9)),
    "around_adam": around(lambda tf: tf.train.AdamOptimizer(0.1)),
    "derived": steps(derived),
}
INITIAL = tuple(CASES)
