"""Common subexpressions."""

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.passes.cse import merge_common
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


def test_pinned_operations_do_not_merge_with_others():
    graph = dt.Graph()
    x = graph.placeholder(X)
    y, z = ops.tanh(x), ops.tanh(x)
    z.op.engine = "torch"
    graph.outputs = [y, z]
    assert merge_common(graph) == 0
