"""Lists of tensors that grow, and results whose sizes are inputs, against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.calling import tf
from tests.libraries import require

require("tensorflow", "lists are compared with it")


def collected(element_shape: Any) -> Any:
    """A function of TensorFlow whose loop appends to a list."""

    def function(x: Any, n: Any) -> Any:
        raw = tf.raw_ops
        start = raw.EmptyTensorList(element_shape=element_shape, max_num_elements=-1, element_dtype=tf.float32)

        def body(i: Any, found: Any) -> Any:
            return i + 1, raw.TensorListPushBack(input_handle=found, tensor=x * tf.cast(i, "float32"))

        _, found = tf.while_loop(lambda i, found: i < n, body, (0, start))
        found, last = raw.TensorListPopBack(input_handle=found, element_shape=[2], element_dtype=tf.float32)
        found = raw.TensorListResize(input_handle=found, size=n + 1)
        rows = raw.TensorListStack(input_handle=found, element_shape=[2], element_dtype=tf.float32)
        return rows, last, raw.TensorListLength(input_handle=found)

    return function


def opened(graph: Any, results: Any) -> Any:
    """The function of a graph of TensorFlow with the placeholders `x` and `n`."""
    definition = TENSORFLOW.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    outputs = {str(number): y.name for number, y in enumerate(results)}
    read = SavedGraph(Path("a file"), definition, {"f": Signature({"x": "x:0", "n": "n:0"}, outputs)}).read("f")
    assert read.opaque == {}
    return dt.function(read.graph)


@pytest.mark.parametrize("sorts", [np.float32, np.int32])
def test_the_largest_elements_of_a_number_that_is_an_input(sorts: Any):
    with tf.Graph().as_default() as graph:
        x, n = (tf.compat.v1.placeholder(*one) for one in ((sorts, [2, None], "x"), ("int32", [], "n")))
        results = tf.raw_ops.TopKV2(input=x, k=n, sorted=True)
    run, values = opened(graph, results), np.array([[1, 3, 1, 3, -5], [0, 0, -1, 0, 2]], sorts)
    with tf.compat.v1.Session(graph=graph) as session:
        for count in (0, 3, 5):
            expected = session.run(list(results), {"x:0": values, "n:0": count})
            with dt.engine("numpy"):
                found = run(values, np.int32(count))
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours.numpy(), theirs)
                assert ours.numpy().dtype == theirs.dtype


@pytest.mark.parametrize("element_shape", [[2], -1], ids=["known", "unknown"])
def test_a_list_grows_in_a_loop(element_shape: Any):
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", [2], "x")
        n = tf.compat.v1.placeholder("int32", [], "n")
        results = collected(element_shape)(x, n)
    run = opened(graph, results)
    with tf.compat.v1.Session(graph=graph) as session:
        for count in (1, 4):
            given = np.array([1, 2], "float32"), np.int32(count)
            expected = session.run(list(results), {"x:0": given[0], "n:0": given[1]})
            with dt.engine("numpy"):
                found = run(*given)
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours.numpy(), theirs)
