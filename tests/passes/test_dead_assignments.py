"""Dead assignments."""

import numpy as np

import dovetail as dt
from dovetail.passes.dead_assignments import remove_dead_assignments
from dovetail.passes.prune import prune
from tests.passes.checks import keeps_random_graphs, optimized, types

test_random_graphs = keeps_random_graphs(remove_dead_assignments)
BY = [remove_dead_assignments, prune]
X = dt.spec((2,))


def variable():
    return dt.Variable(np.ones(2, "float32"))


def assignments(graph):
    return types(graph).count("AssignVariableOp")


def test_overwritten_assignments_go():
    v, w = variable(), variable()

    def function(x):
        v.assign(x)
        w.assign(x)
        v.assign(v * 2.0)
        return v + w

    graph = optimized(function, X, by=BY)
    assert assignments(graph) == 2
    assert all(not op.control_inputs for op in graph.operations)


def test_giving_back_what_was_read_goes():
    v = variable()
    graph = dt.Graph()
    with graph.as_default():
        v.assign(v.read())
    assert remove_dead_assignments(graph) == 1
    graph.validate()


def test_swapping_stays():
    v, w = variable(), variable()

    def function(x):
        old = v.read()
        v.assign(w.read())
        w.assign(old)
        return x

    assert assignments(optimized(function, X, by=BY)) == 2
