"""Running passes: in rounds, on subgraphs too, and on what is needed alone."""

import dovetail as dt
from dovetail import ops
from dovetail.passes.base import run, sweep
from tests.passes.checks import traced


def test_rounds_end_once_nothing_changes():
    counts = iter([2, 1, 0, 5])
    graph = dt.Graph()
    assert run(graph, [lambda _: next(counts)], rounds=9) == 3
    assert next(counts) == 5


def test_rounds_are_as_many_as_are_asked_for():
    for rounds in (1, 2, 3):
        seen = []
        assert run(dt.Graph(), [lambda graph, seen=seen: seen.append(graph) or 1], rounds) == len(seen) == rounds
    assert run(dt.Graph(), [lambda _: 1]) == 1


def test_subgraphs_come_first():
    graph = traced(lambda x: ops.cond(ops.sum(x) > 0, lambda: ops.exp(x), lambda: -x), dt.spec((3,)))
    seen = []
    run(graph, [lambda part: seen.append(part) or 0])
    assert seen == [*graph.subgraphs(), graph] and len(seen) == 3


def test_what_nobody_needs_is_not_visited():
    v = dt.Variable(1.0)

    def function(x):
        ops.exp(x)
        v.assign(ops.tanh(x))
        return ops.sin(x), x

    visited = []
    sweep(traced(function, dt.spec(())), lambda op: visited.append(op.type) or 1)
    assert "Exp" not in visited
    assert {"Tanh", "AssignVariableOp", "Sin", "Placeholder"} <= set(visited)


def test_visits_are_added_up():
    graph = traced(lambda x: ops.exp(ops.tanh(x)), dt.spec(()))
    assert sweep(graph, lambda op: {"Exp": 3, "Tanh": 4}.get(op.type, 0)) == 7
