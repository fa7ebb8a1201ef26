"""Pruning."""

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.edit.transplant import copy_graph
from dovetail.passes.prune import prune
from tests.passes.checks import keeps_random_graphs, optimized, traced, types

test_random_graphs = keeps_random_graphs(prune)


def test_dead_operations_go_and_inputs_stay():
    def function(x, y):
        ops.exp(ops.tanh(x))
        return ops.sin(x)

    graph = traced(function, dt.spec(()), dt.spec(()))
    assert prune(graph) == 2
    assert types(graph) == ["Sin"]
    assert len(graph.inputs) == 2


def test_effects_stay():
    v = dt.Variable(0.0)

    def function(x):
        v.assign(ops.tanh(x))

    graph = traced(function, dt.spec(()))
    prune(graph)
    assert "AssignVariableOp" in types(graph)


def control_flow(graph):
    """The one operation of control flow, after pruning."""
    prune(graph)
    graph.validate()
    (op,) = [op for op in graph.operations if op.type in ("If", "While", "Scan")]
    return op


def test_results_and_inputs_of_branches():
    def function(x, y, flag):
        return ops.cond(flag, lambda: (x + 1.0, ops.exp(y)), lambda: (x, y))[0]

    op = control_flow(optimized(function, dt.spec(()), dt.spec(()), dt.spec((), "bool"), by=[prune]))
    assert len(op.outputs) == 1
    assert [t.op.name for t in op.inputs] == ["arg2", "arg0"]
    assert [types(part) for part in (op.attrs["then_branch"], op.attrs["else_branch"])] == [["AddV2"], []]


def test_the_first_result_of_branches():
    def function(x, y, flag):
        return ops.cond(flag, lambda: (ops.exp(y), x + 1.0), lambda: (y, x))[1]

    op = control_flow(optimized(function, dt.spec(()), dt.spec(()), dt.spec((), "bool"), by=[prune]))
    assert len(op.outputs) == 1
    assert [types(part) for part in op.subgraphs()] == [["AddV2"], []]


def test_how_many_were_removed():
    """Check the count of removed operations, and of removed results and inputs of control flow."""

    def function(x, y, flag):
        return ops.cond(flag, lambda: (x + 1.0, ops.exp(y)), lambda: (x, y))[0]

    graph = traced(function, dt.spec(()), dt.spec(()), dt.spec((), "bool"))
    assert prune(graph) == 2
    assert prune(graph) == 0


def test_results_of_a_scan_that_carries_nothing():
    def function(x):
        return ops.scan(lambda c, row: (c, (ops.exp(row), row * 2.0)), (), x)[1][1]

    op = control_flow(optimized(function, dt.spec((5, 3)), by=[prune]))
    assert len(op.outputs) == 1
    assert types(op.attrs["body"]) == ["Mul"]


def test_a_scan_without_constants_keeps_its_slices():
    """Check that slices stay though no step uses them; they give the number of steps."""

    def function(x):
        return ops.scan(lambda c, row: (c + 1.0, c), 0.0, x)

    op = control_flow(optimized(function, dt.spec((5, 3)), by=[prune]))
    assert len(op.inputs) == 2


def test_results_of_a_scan():
    def function(x):
        return ops.scan(lambda c, row: (c + row, {"a": ops.exp(row), "b": row * 2.0}), ops.zeros((3,)), x)[1]["b"]

    op = control_flow(traced(function, dt.spec((5, 3))))
    assert len(op.outputs) == 2  # carried values stay
    assert [t.index for t in op.outputs] == [0, 1]
    assert "Exp" not in types(op.attrs["body"])
    found = dt.function(function)(np.ones((5, 3), "float32"))
    np.testing.assert_array_equal(found.numpy(), np.full((5, 3), 2))


def test_what_a_loop_only_reads():
    def function(x, y, z):
        def body(i, total):
            y * 3.0
            return i + 1, total + z

        return ops.while_loop(lambda i, total: i < 3, body, (0, x))[1]

    graph = traced(function, *[dt.spec(())] * 3)
    graph_before = len(next(op for op in graph.operations if op.type == "While").inputs)
    op = control_flow(copy_graph(graph))
    prune(op.attrs["body"])
    op = control_flow(op.graph)
    assert len(op.inputs) == graph_before - 1
    found = dt.function(function)(*np.ones((3, 1), "float32")[:, 0])
    assert float(found) == 4
