"""Branches that return operations, against TensorFlow: a run returns the condition, and runs the branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as compat

from tests.libraries import require


def deep(tf: Any, p: Any, v: Any, u: Any) -> Any:
    inner = lambda: tf.cond(tf.logical_not(p), tf.no_op, lambda: tf.group(tf.assign(v, 8.0)))  # noqa: E731
    return tf.cond(p, inner, tf.no_op)


def waited_for(tf: Any, p: Any, v: Any, u: Any) -> Any:
    with tf.control_dependencies([tf.cond(p, lambda: tf.group(tf.assign(v, 11.0)), tf.no_op)]):
        return tf.identity(p)


# run(tf, p, v, u): a condition and two variables of 1
BRANCHES = {
    "a group or nothing": lambda tf, p, v, u: tf.cond(
        p, lambda: tf.group(tf.assign(v, 5.0), tf.assign_add(u, 1.0)), lambda: tf.no_op()
    ),
    "nothing, as a function": lambda tf, p, v, u: tf.cond(p, lambda: tf.group(tf.assign(v, 6.0)), tf.no_op),
    "an assignment's operation": lambda tf, p, v, u: tf.cond(p, lambda: tf.assign(v, 7.0).op, tf.no_op),
    "an operation each": lambda tf, p, v, u: tf.cond(
        p, lambda: tf.group(tf.assign(v, 2.0)), lambda: tf.group(tf.assign(u, 3.0))
    ),
    "nothing each": lambda tf, p, v, u: tf.cond(p, tf.no_op, tf.no_op),
    "beside tensors": lambda tf, p, v, u: tf.cond(
        p, lambda: (tf.group(tf.assign(v, 5.0)), tf.constant(1.0)), lambda: (tf.no_op(), tf.constant(2.0))
    ),
    "a constant condition": lambda tf, p, v, u: tf.cond(
        tf.constant(True), lambda: tf.group(tf.assign(v, 5.0)), tf.no_op
    ),
    "a branch in a branch": deep,
    "a case": lambda tf, p, v, u: tf.case([(p, lambda: tf.group(tf.assign(v, 9.0)))], default=tf.no_op),
    "cases": lambda tf, p, v, u: tf.case(
        [(tf.logical_not(p), lambda: tf.group(tf.assign(v, 9.0))), (p, lambda: tf.group(tf.assign(u, 4.0)))],
        default=tf.no_op,
    ),
    "waited for": waited_for,
    "in a group": lambda tf, p, v, u: tf.group(tf.cond(p, lambda: tf.group(tf.assign(v, 12.0)), tf.no_op)),
}


def outcome(tf: Any, branch: Any) -> list[Any]:
    """The results of runs, and the values of the variables after each."""
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool, [])
        v, u = (tf.get_variable(name, initializer=1.0) for name in "vu")
        result, found = branch(tf, p, v, u), []
        for value in (True, False):
            session.run(tf.global_variables_initializer())
            given = session.run(result, {p: value})
            found.append([np.asarray(given, object).tolist(), session.run([v, u])])
        return found


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_give_operations_as_in_tensorflow(name, engine):
    require("tensorflow", "the oracle")
    import tensorflow

    assert outcome(compat, BRANCHES[name]) == outcome(tensorflow.compat.v1, BRANCHES[name])


def test_a_condition_of_python_loses_nothing(engine):
    """Check that a Python condition keeps the assignment; TensorFlow refuses such a condition."""
    found = outcome(compat, lambda tf, p, v, u: tf.cond(True, lambda: tf.group(tf.assign(v, 5.0)), tf.no_op))
    assert found == [[True, [5.0, 1.0]], [True, [5.0, 1.0]]]
