"""Type attributes of operations: they have TensorFlow's names and dtypes."""

from __future__ import annotations

from typing import Any

import dovetail.compat.tensorflow.compat.v1 as compat
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.type_attributes import WORDS, type_attributes
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.ops import WRITTEN
from tests.libraries import Library, require

require("tensorflow", "the oracle")

registry = Library("tensorflow.python.framework.op_def_registry")
tensorflow = Library("tensorflow")
KINDS = ("type", "list(type)")


def test_the_inputs_that_say_a_dtype_are_parameters():
    for name, op in OPS.items():
        known = definition(name)
        if known is None or (name in WRITTEN and WRITTEN[name].type == name):  # a row is checked by its own tests
            continue
        said = {one.attribute for one in known.results} | {known.inputs[0].attribute if known.inputs else ""}
        said |= {one.attribute for one in known.inputs if {one.name, WORDS.get(one.name)} & {*op.positions}}
        assert {one.attribute for one in known.inputs if one.attribute} <= said, name


CALLS: dict[str, Any] = {
    "matmul": lambda tf, x: tf.matmul(x, x, transpose_b=True),
    "add": lambda tf, x: tf.add(x, 1.0),
    "reduce_sum": lambda tf, x: tf.reduce_sum(x, axis=1),
    "reduce_all": lambda tf, x: tf.reduce_all(x > 0),
    "cast": lambda tf, x: tf.cast(x, tf.int64),
    "identity": lambda tf, x: tf.identity(x),
    "reshape": lambda tf, x: tf.reshape(x, [-1]),
    "concat": lambda tf, x: tf.concat([x, x], 1),
    "stack": lambda tf, x: tf.stack([x, x]),
    "transpose": lambda tf, x: tf.transpose(x),
    "expand_dims": lambda tf, x: tf.expand_dims(x, 0),
    "tile": lambda tf, x: tf.tile(x, [1, 2]),
    "equal": lambda tf, x: tf.equal(x, x),
    "logical_and": lambda tf, x: tf.logical_and(x > 0, x < 1),
    "relu": lambda tf, x: tf.nn.relu(x),
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "where": lambda tf, x: tf.compat.v2.where(x > 0, x, x),
    "cumsum": lambda tf, x: tf.cumsum(x),
    "conv2d": lambda tf, x: tf.nn.conv2d(tf.reshape(x, [1, 2, 3, 1]), tf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"),
    "placeholder": lambda tf, x: x,
    "no_op": lambda tf, x: tf.no_op(),
    "zeros_like": lambda tf, x: tf.zeros_like(tf.placeholder(tf.float32, [None])),
    "complex": lambda tf, x: tf.complex(x, x),
    "real": lambda tf, x: tf.math.real(tf.complex(x, x)),
    "in doubles": lambda tf, x: tf.tanh(tf.cast(x, tf.float64)),
    "bias_add": lambda tf, x: tf.nn.bias_add(x, tf.ones([3])),
}


def types(tf: Any, call: Any) -> dict[str, str]:
    """The type attributes of a call's operation, by `get_attr`."""
    with tf.Graph().as_default():
        made = call(tf, tf.placeholder(tf.float32, [2, 3]))
        op = made if hasattr(made, "node_def") else made.op
        names = [attr.name for attr in registry.get(op.type).attr if attr.type in KINDS]
        return {name: getattr(op.get_attr(name), "name", None) for name in names}


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_those_of_tensorflow(name):

    assert types(compat, CALLS[name]) == types(tensorflow.compat.v1, CALLS[name])


def test_lists_of_tensors_and_ops_of_dovetail():
    graph = dt.Graph()
    x, n = graph.placeholder(dt.spec((2,)), "x"), graph.placeholder(dt.spec((), "int64"), "n")
    with graph.as_default():
        both = ops.identity_n([x, n])[0].op
        branch = ops.cond(n > 0, lambda: (x + 1.0, n), lambda: (x, n))[0].op
    assert type_attributes(both) == {"T": ["float32", "int64"]}
    found = type_attributes(branch)
    assert (found["Tcond"], set(found["Tin"]), found["Tout"]) == ("bool", {"float32", "int64"}, ["float32", "int64"])
    assert type_attributes(ops.gelu(x).op) == {"T": "float32"}
    assert type_attributes(ops.gather(x, n).op)["Tindices"] == "int64"
