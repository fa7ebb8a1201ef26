"""Inlining composites."""

import dovetail as dt
from dovetail import ops
from dovetail.core.table import OPS
from dovetail.passes.base import run
from dovetail.passes.composites import inline_composites
from tests.passes.checks import keeps_random_graphs, optimized, types

test_random_graphs = keeps_random_graphs(lambda graph: run(graph, [lambda part: inline_composites(part, ())]))


def inline(*claimed):
    return [lambda graph: inline_composites(graph, claimed)]


def test_bodies_stand_where_the_composite_stood():
    graph = optimized(lambda x: ops.tanh(ops.square(ops.exp(x))), dt.spec((2,)), by=inline())
    assert types(graph) == ["Exp", "Mul", "Tanh"]


def test_claimed_composites_stay():
    graph = optimized(lambda x: ops.softmax(ops.square(x)), dt.spec((2,)), by=inline("Softmax"))
    assert types(graph) == ["Mul", "Softmax"]


def test_to_any_depth():
    graph = optimized(lambda x: ops.softmax(x), dt.spec((2, 3)), by=inline())
    assert all(OPS[name].is_primitive for name in types(graph))


def test_the_line_is_that_of_the_composite():
    graph = optimized(lambda x: ops.square(x), dt.spec((2,)), by=inline())
    assert graph.outputs[0].op.where[0].endswith("test_composites.py")
