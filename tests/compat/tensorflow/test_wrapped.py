"""`wrap_function`: a function of TensorFlow 1 that is recorded once, against TensorFlow."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dovetail.compat.tensorflow as ours
from tests.libraries import Library, require

require("tensorflow", "it wraps the same functions")
require("google.protobuf", "definitions are messages")

theirs = Library("tensorflow")


def definition(tf):
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        x = v1.placeholder("float32", [None], name="x")
        v1.multiply(x, 2.0, name="y")
        v1.add(x, 1.0, name="z")
    return graph.as_graph_def()


def pruned(tf):
    """The recipe by which programs call a frozen graph."""
    wrapped = tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(definition(tf), name=""), [])
    graph = wrapped.graph
    one = wrapped.prune(graph.as_graph_element("x:0"), graph.as_graph_element("y:0"))
    several = wrapped.prune(["x:0"], {"a": "y:0", "b": ["z:0"]})
    x = tf.constant([1.0, 2.0])
    return one(x), several(x)


def structured(tf):
    specs = [tf.TensorSpec([], tf.float32), tf.TensorSpec([None], tf.float32)]
    wrapped = tf.compat.v1.wrap_function(lambda a, b: (a * 2.0, {"s": a + b}), specs)
    return wrapped(tf.constant(1.0), tf.constant([1.0, 2.0])), [t.shape.as_list() for t in wrapped.outputs]


def differentiated(tf):
    wrapped = tf.compat.v1.wrap_function(lambda a: a * a, [tf.TensorSpec([], tf.float32)])
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrapped(x)
    return y, tape.gradient(y, x)


def assigning(tf):
    v1 = tf.compat.v1

    def run(x):
        v = v1.get_variable("v", [], initializer=v1.constant_initializer(2.0))
        return v1.assign_add(v, 1.0) * x

    wrapped = v1.wrap_function(run, [tf.TensorSpec([], tf.float32)])
    return [wrapped(tf.constant(2.0)) for _ in range(2)], [v.name for v in wrapped.variables]


@pytest.mark.parametrize("case", [pruned, structured, differentiated, assigning])
def test_wrapped_functions(case):
    found, wanted = (
        json.dumps(tf.nest.map_structure(lambda x: np.asarray(x).tolist(), case(tf))) for tf in (ours, theirs)
    )
    assert found == wanted


def test_another_number_of_arguments_is_refused():
    wrapped = ours.compat.v1.wrap_function(lambda a: a * a, [ours.TensorSpec([], "float32", name="a")])
    with pytest.raises(TypeError, match="it takes 1 tensors, a, and not 2"):
        wrapped(1.0, 2.0)
    assert wrapped(a=3.0).numpy() == 9
