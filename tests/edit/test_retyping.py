"""Inputs of other shapes, and variables of other dtypes."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import refused


@pytest.fixture
def w():
    return dt.Variable(np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2), name="w")


def test_a_batch_is_freed_and_fixed():
    def program(x):
        h = ops.scan(lambda total, row: (total + ops.sum(row), total * 2.0), 0.0, x)[1]
        return ops.reshape(x, (ops.shape(x)[0], -1)), h

    graph = dt.function(program).graph(dt.spec((None, 2, 3)))
    x = graph.inputs[0]
    for size in (4, None, 5):
        graph.set_input_shapes({"arg0:0": (size, 2, 3)})
        assert [t.shape for t in (x, *graph.outputs)] == [(size, 2, 3), (size, size and 6), (size,)]
        graph.validate()
    assert dt.function(graph)(np.ones((5, 2, 3), "float32"))[0].shape == (5, 6)


def test_shapes_that_are_refused():
    graph = dt.function(lambda x, y: ops.matmul(x, ops.ones((3, 2))) + y).graph(dt.spec((4, 3)), dt.spec((4, 2)))
    x, _ = graph.inputs
    refused(graph, ValueError, lambda: graph.set_input_shapes({x: (4, 5)}), "MatMul")
    refused(graph, ValueError, lambda: graph.set_input_shapes({x: (5, 3)}), "AddV2")
    refused(graph, ValueError, lambda: graph.set_input_shapes({graph.outputs[0]: (4, 2)}), "is no input of")
    refused(graph, KeyError, lambda: graph.set_input_shapes({"z": (4, 2)}), "z")


def test_variables_in_half_have_gradients(engine, w):
    def program(x):
        return ops.scan(lambda total, row: (total + ops.tanh(row @ w), None), ops.zeros(2), x)[0]

    graph = dt.function(program).graph(dt.spec((None, 3)))
    x = np.ones((4, 3), "float32")
    expected = dt.function(graph)(x).numpy()
    half = dt.Variable(w.numpy(), "float16", name="w")
    assert graph.replace_variables({w: half}) == 1
    graph.validate()
    w.assign(ops.zeros((3, 2)))
    with dt.GradientTape() as tape:
        y = dt.function(graph)(x)
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-2)
    assert tape.gradient(y, half).dtype == "float16"


SWAPS = {  # the new variables by the old ones, and x * a + b + a of 1 for them
    "themselves": ("ab", "ab", [5.0, 6.0], 0),
    "one for the other": ("a", "b", [9.0, 6.0], 1),
    "the other for one": ("b", "a", [3.0, 6.0], 1),
    "each for the other": ("ab", "ba", [7.0, 6.0], 2),
}


@pytest.mark.parametrize("olds, news, expected, count", SWAPS.values(), ids=SWAPS)
@pytest.mark.parametrize("kind", ["function", "session"])
def test_variables_that_the_graph_reads_replace_others(kind, olds, news, expected, count):
    known = {"a": dt.Variable([1.0, 2.0], name="a"), "b": dt.Variable([3.0, 2.0], name="b")}
    graph = dt.Graph() if kind == "function" else dt.SessionGraph()
    with graph.as_default():
        x = graph.placeholder(dt.spec((2,)), "x")
        y = x * known["a"] + known["b"] + known["a"]
    graph.outputs = [y]
    chosen = {known[old]: known[new] for old, new in zip(olds, news, strict=True)}
    assert graph.replace_variables(chosen) == count
    graph.validate()
    assert not graph.find("Cast")
    np.testing.assert_array_equal(dt.function(graph)(np.ones(2, "float32")), expected)


def test_variables_that_are_refused(w):
    graph = dt.Graph()
    with graph.as_default():
        w.assign(w * 2.0)
    half = dt.Variable(w.numpy(), "float16")
    refused(graph, ValueError, lambda: graph.replace_variables({w: half}), "'w' cannot be replaced, since 'w/Assign'")
    graph = dt.function(lambda: w * 2.0).graph()
    refused(graph, ValueError, lambda: graph.replace_variables({w: dt.Variable([1.0])}), "has the shape")
    assert graph.replace_variables({half: w}) == 0
