"""Common subexpressions."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.cse import LARGEST, merge_common
from dovetail.passes.prune import prune
from tests.passes.checks import keeps_random_graphs, optimized, types

BY = [merge_common, prune]
X = dt.spec((2, 3))
test_random_graphs = keeps_random_graphs(lambda graph: merge_common(graph) and prune(graph))


def test_equal_operations_merge():
    graph = optimized(lambda x: ops.tanh(x * 2.0) + ops.exp(ops.tanh(x * 2.0)), X, by=BY)
    assert types(graph) == ["Mul", "Tanh", "Exp", "AddV2"]
    assert sum(op.type == "Const" for op in graph.operations) == 1


def test_commutative_operations_merge_in_any_order():
    assert types(optimized(lambda x, y: (x + y) * (y + x), X, X, by=BY)) == ["AddV2", "Mul"]
    assert types(optimized(lambda x, y: (x - y) * (y - x), X, X, by=BY)) == ["Sub", "Sub", "Mul"]


def test_static_arguments_must_be_equal():
    graph = optimized(lambda x: (ops.sum(x, 0), ops.sum(x, 1), ops.sum(x, 0), ops.sum(x, 0, keepdims=True)), X, by=BY)
    assert types(graph) == ["Sum"] * 3
    assert graph.outputs[0] is graph.outputs[2]


def test_constants_merge_by_value_dtype_and_shape():
    graph = dt.Graph()
    values = [np.float32(0), np.float32(-0.0), np.float64(0), np.zeros(1, "float32"), np.float32(0), np.int32(0)]
    graph.outputs = [graph.constant(np.asarray(v)) for v in values]
    assert merge_common(graph) == 1
    assert graph.outputs[0] is graph.outputs[4]
    assert len(set(graph.outputs)) == 5


def test_reads_merge_and_assignments_stay():
    v = dt.Variable(np.zeros((2, 3), "float32"))

    def function(x):
        v.assign(v + x)
        v.assign(v + x)
        return v.read()

    graph = optimized(function, X, by=BY)
    assert types(graph).count("ReadVariableOp") == 1
    assert types(graph).count("AssignVariableOp") == 2
    assert types(graph).count("AddV2") == 2


def _pin(op):
    op.engine = "torch"


def _place(op):
    op.device = "cpu:1"


def _override(op):
    op.overrides = {"Tanh": "Other"}


def _differentiate(op):
    op.gradient_function = lambda node, g: g


@pytest.mark.parametrize("change", [_pin, _place, _override, _differentiate])
def test_operations_with_something_of_their_own_do_not_merge(change):
    graph = dt.Graph()
    x = graph.placeholder(X)
    graph.outputs = [ops.tanh(x), ops.tanh(x), ops.tanh(x)]
    change(graph.outputs[1].op)
    assert merge_common(graph) == 1
    assert graph.outputs[0] is graph.outputs[2] is not graph.outputs[1]


@pytest.mark.parametrize(("size", "merged"), [(LARGEST, 1), (LARGEST + 1, 0)])
def test_elements_of_large_constants_are_not_compared(size, merged):
    graph = dt.Graph()
    graph.outputs = [graph.constant(np.zeros(size, "int8")) for _ in range(2)]
    assert merge_common(graph) == merged


def test_large_constants_of_one_array_merge():
    graph = dt.Graph()
    value = np.zeros(LARGEST + 1, "int8")
    graph.outputs = [graph.constant(value), graph.constant(value)]
    assert merge_common(graph) == 1


def test_what_is_shown_does_not_merge():
    graph = dt.Graph()
    x = graph.placeholder(X)
    graph.outputs = [ops.print_tensor(x), ops.print_tensor(x)]
    assert merge_common(graph) == 0
