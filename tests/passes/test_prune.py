"""Pruning."""

import dovetail as dt
from dovetail import ops
from dovetail.passes.prune import prune
from tests.passes.checks import keeps_random_graphs, traced, types

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
