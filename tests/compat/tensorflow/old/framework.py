"""`arg_scope`, and the variables of `tf.contrib.framework`."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array


def scaled(tf: Any) -> Any:
    """A function that takes default arguments."""

    @tf.contrib.framework.add_arg_scope
    def scale(x: Any, by: float = 1.0, plus: float = 0.0, name: Any = None) -> Any:
        return x * by + plus

    return scale


def nested_scopes(tf: Any, fed: Any) -> Any:
    framework, scale, x = tf.contrib.framework, scaled(tf), fed(array(3))
    found = [scale(x)]
    with framework.arg_scope([scale], by=2.0) as outer:
        found.append(scale(x, plus=1.0))
        with framework.arg_scope([scale], plus=3.0, by=5.0):
            found += [scale(x), scale(x, by=7.0)]
            with framework.arg_scope(outer):
                found.append(scale(x))
            with framework.arg_scope([]) as inner:
                found.append(scale(x))
        assert framework.current_arg_scope() == outer
    with framework.arg_scope(inner):
        found.append(scale(x))
    return [*found, scale(x)]


def questions(tf: Any, fed: Any) -> Any:
    framework, scale = tf.contrib.framework, scaled(tf)
    assert list(framework.arg_scoped_arguments(scale)) == ["by", "plus", "name"]
    return [tf.constant([framework.has_arg_scope(scale), framework.has_arg_scope(scaled)])]


def refused_scope(tf: Any, fed: Any) -> Any:
    with tf.contrib.framework.arg_scope([scaled], by=2.0):
        return None


def refused_arguments(tf: Any, fed: Any) -> Any:
    with tf.contrib.framework.arg_scope({}, by=2.0):
        return None


def refused_function(tf: Any, fed: Any) -> Any:
    with tf.contrib.framework.arg_scope(scaled(tf), by=2.0):
        return None


def model_variables(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    with tf.variable_scope("a"), framework.arg_scope([framework.variable], device="/cpu:0"):
        weights = framework.model_variable("weights", [3, 2], regularizer=tf.contrib.layers.l2_regularizer(0.1))
        own = framework.variable("own", [2], collections=["mine", "mine", "variables"], trainable=False)
        framework.add_model_variable(own)
        framework.add_model_variable(own)
    framework.local_variable(0.5, name="count")
    framework.global_variable([1.0, 2.0], name="total")
    with tf.variable_scope("a", reuse=True):
        assert framework.model_variable("weights", [3, 2]) is weights
    return tf.matmul(fed(array(4, 3)), weights) + own, tf.constant(len(tf.get_collection("mine")))


def own_getter(tf: Any, fed: Any) -> Any:
    def getter(name: str, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("reuse")
        return tf.get_variable(f"{name}_got", *args, **kwargs)

    return tf.identity(tf.contrib.framework.model_variable("v", [2], custom_getter=getter))


def listed(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    for scope in ("A", "B/A"):
        with tf.variable_scope(scope):
            framework.model_variable("a", [2])
            framework.variable("ab", [2], trainable=False)
    framework.local_variable(1.0, name="local")
    with tf.variable_scope("B") as scope:
        pass
    return tf.constant(
        [
            len(list(found))
            for found in (
                framework.get_variables(),
                framework.get_variables("A"),
                framework.get_variables(scope),
                framework.get_variables("A", suffix="a"),
                framework.get_variables(suffix="b", collection="trainable_variables"),
                framework.get_model_variables(),
                framework.get_model_variables("B", "a"),
                framework.get_local_variables(),
                framework.get_trainable_variables("A"),
                framework.get_variables_by_suffix("b", "A"),
                framework.get_variables_by_name("a"),
                framework.get_variables_by_name("b"),
                framework.get_variables_to_restore(),
                framework.get_variables_to_restore(include=["A"]),
                framework.get_variables_to_restore(exclude=["A", "B/A/ab"]),
                framework.filter_variables(tf.global_variables(), ["A/a"], ["^B", "ab"]),
                framework.filter_variables(tf.global_variables(), ["A/a"], reg_search=False),
            )
        ]
    )


def unique(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    framework.variable("a", [2])
    framework.variable("ab", [3])
    found = framework.get_unique_variable("a")
    assert framework.get_variable_full_name(found) == "a"
    return tf.identity(found)


def not_unique(tf: Any, fed: Any) -> Any:
    tf.contrib.framework.variable("ab", [3])
    return tf.contrib.framework.get_unique_variable("a")


def to_restore_in_no_list(tf: Any, fed: Any) -> Any:
    return tf.contrib.framework.get_variables_to_restore(include="A")


def from_values(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    framework.variable("a", [2, 2], initializer=tf.zeros_initializer())
    b = framework.variable("ab", [2], initializer=tf.zeros_initializer())
    values = {"a": np.arange(4.0), "ab": np.arange(2.0)}
    done, feeds = framework.assign_from_values(values)
    init = framework.assign_from_values_fn({"ab": np.ones(2)})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(done, feeds)
        found = session.run(tf.global_variables())
        init(session)
        return [tf.constant(value) for value in [*found, session.run(b)]]


def unknown_values(tf: Any, fed: Any) -> Any:
    return tf.contrib.framework.assign_from_values({"a": np.zeros(2)})


def saved(tf: Any, folder: str) -> tuple[str, Any, Any]:
    """A checkpoint of two variables, which are 0 now."""
    a = tf.get_variable("a", [2], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [2, 2], initializer=tf.zeros_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([a.assign([1.0, 2.0]), b.assign([[3.0, 4.0], [5.0, 6.0]])])
        return tf.train.Saver().save(session, os.path.join(folder, "model")), a, b


def from_checkpoint(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    with tempfile.TemporaryDirectory() as folder:
        path, a, b = saved(tf, folder)
        c = tf.get_variable("c", [2], initializer=tf.zeros_initializer())
        flat = tf.get_variable("flat", [4], initializer=tf.zeros_initializer())
        done, feeds = framework.assign_from_checkpoint(path, {"a": [a, c], "b": b})
        _, no_feeds = framework.assign_from_checkpoint(path, [a, flat], ignore_missing_vars=True)
        shaped = framework.assign_from_checkpoint_fn(path, {"b": flat}, reshape_variables=True)
        missing = framework.assign_from_checkpoint_fn(path, [flat], ignore_missing_vars=True)
        assert missing is None and len(no_feeds) == 1
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(done, feeds)
            shaped(session)
            return [tf.constant(value) for value in session.run([a, b, c, flat])]


def missing_in_checkpoint(tf: Any, fed: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path, *_ = saved(tf, folder)
        return tf.contrib.framework.assign_from_checkpoint(path, [tf.get_variable("c", [2])])


def other_shape_in_checkpoint(tf: Any, fed: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path, *_ = saved(tf, folder)
        return tf.contrib.framework.assign_from_checkpoint(path, {"a": tf.get_variable("c", [3])})


def global_step(tf: Any, fed: Any) -> Any:
    framework = tf.contrib.framework
    assert framework.get_global_step() is None and framework.assert_or_get_global_step() is None
    step = framework.get_or_create_global_step()
    framework.assert_global_step(step)
    assert framework.get_global_step() is step is framework.assert_or_get_global_step()
    return tf.identity(framework.assert_or_get_global_step(global_step_tensor=step))


def two_global_steps(tf: Any, fed: Any) -> Any:
    tf.contrib.framework.create_global_step()
    tf.contrib.framework.create_global_step()


def no_global_step(tf: Any, fed: Any) -> Any:
    tf.contrib.framework.assert_global_step(tf.constant([1.0]))


CASES = {
    function.__name__: function
    for function in (
        nested_scopes,
        questions,
        refused_scope,
        refused_arguments,
        refused_function,
        model_variables,
        own_getter,
        listed,
        unique,
        not_unique,
        to_restore_in_no_list,
        from_values,
        unknown_values,
        from_checkpoint,
        missing_in_checkpoint,
        other_shape_in_checkpoint,
        global_step,
        two_global_steps,
        no_global_step,
    )
}
