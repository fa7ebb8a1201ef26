"""Scopes of names and variables: programs get TensorFlow's names and TensorFlow's collections."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from dovetail.compat.tensorflow.compat import v1 as compat

from tests.compat.tensorflow.scopes import PROGRAMS
from tests.libraries import require


def oracle() -> Any:
    require("tensorflow", "the oracle")
    import tensorflow

    return tensorflow.compat.v1


def names(tf: Any, run: Any) -> list[Any]:
    """The names that a program notes; variables and scopes by their names."""
    found: list[Any] = []

    def note(*noted: Any) -> None:
        found.append([getattr(x, "name", x) for x in noted])

    with tf.Graph().as_default():
        try:
            run(tf, note)
        except ValueError as error:
            found.append(type(error))
    return found


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda run: run.__name__)
def test_names_are_those_of_tensorflow(run):
    assert names(compat, run) == names(oracle(), run)


KEYS = ("variables", "local_variables", "trainable_variables", "model_variables", "own", "second")
COLLECTIONS = (
    None, [], ["local_variables"], ["own"], ["variables"], ["variables", "own"], ["trainable_variables"],
    ("own", "second"), ["variables", "model_variables"], ["own", "own"], {"own"}, "own",
    ["local_variables", "trainable_variables"],
)  # fmt: skip
MAKERS = {
    "get_variable": lambda tf, **given: tf.get_variable("v", [2], **given),
    "get_variable from numbers": lambda tf, **given: tf.get_variable("v", initializer=[1.0], partitioner=None, **given),
    "get_variable from a function": lambda tf, **given: tf.get_variable("v", initializer=lambda: tf.ones([2]), **given),
    "get_variable that is reused": lambda tf, **given: twice(tf, **given),
    "get_variable by a getter": lambda tf, **given: got(tf, **given),
    "get_local_variable": lambda tf, collections, **given: tf.get_local_variable(
        "v",
        [2],
        collections=collections and [*collections],
        **given,  # a copy of the list, since TensorFlow adds to it
    ),
    "Variable": lambda tf, **given: tf.Variable([1.0, 2.0], **given),
    "Variable of a tensor": lambda tf, **given: tf.Variable(tf.zeros([2]), **given),
}


def twice(tf: Any, **given: Any) -> Any:
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        tf.get_variable("v", [2], **given)
        return tf.get_variable("v", [2])


def got(tf: Any, **given: Any) -> Any:
    def getter(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        kwargs["collections"] = [*(kwargs["collections"] or ()), "second"]
        return getter(f"{name}_got", *args, **kwargs)

    with tf.variable_scope("s", custom_getter=getter):
        return tf.get_variable("v", [2], **given)


def collected(tf: Any, make: Any, given: dict[str, Any]) -> Any:
    """The contents of the collections, and whether the variable is trained."""
    with tf.Graph().as_default():
        try:
            made = make(tf, **given)
        except ValueError:
            return [ValueError, *([v.name for v in tf.get_collection(key)] for key in KEYS)]
        return [made.name, made.trainable, *([v.name for v in tf.get_collection(key)] for key in KEYS)]


@pytest.mark.parametrize("maker", MAKERS)
def test_collections_are_those_of_tensorflow(maker):
    tf = oracle()
    takes = [c for c in COLLECTIONS if maker != "get_local_variable" or isinstance(c, (list, type(None)))]
    for collections, trainable in itertools.product(takes, (None, True, False)):
        given = {"collections": collections, "trainable": trainable}
        assert collected(compat, MAKERS[maker], given) == collected(tf, MAKERS[maker], given), given


@pytest.mark.parametrize(("given", "error"), [([3], TypeError), (2.5, TypeError), (["nothing"], KeyError)])
def test_control_inputs_are_operations_and_tensors(given, error):
    with compat.Graph().as_default(), pytest.raises(error), compat.control_dependencies(given):
        pass


def test_control_inputs_may_be_names():
    with compat.Graph().as_default():
        first = compat.no_op(name="first")
        with compat.control_dependencies(["first"]):
            assert list(compat.no_op().control_inputs) == [first]


def eager_variables(tf: Any) -> list[Any]:
    """What a program with values gets from `get_variable`, in a scope that is entered twice."""
    found: list[Any] = []
    for _ in range(2):
        with tf.variable_scope("a", initializer=tf.ones_initializer()), tf.variable_scope(None, "b"):
            v = tf.get_variable("v", [2], trainable=False)
        v.assign_add([1.0, 2.0])
        found.append([v.name, v.numpy().tolist(), v.trainable, tf.executing_eagerly()])
    for reuse in (True, tf.AUTO_REUSE):
        with tf.variable_scope("a", reuse=reuse):
            found.append(tf.get_variable("v", initializer=3.0).name)
    return found


def test_values_come_in_new_variables(engine):
    compat.enable_eager_execution()
    assert eager_variables(compat) == eager_variables(oracle())
