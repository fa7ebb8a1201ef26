"""Inlining composites."""

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.passes.base import run
from dovetail.passes.composites import inline_composites
from tests.passes.checks import keeps_random_graphs, optimized, traced, types

test_random_graphs = keeps_random_graphs(
    lambda graph: run(graph, [lambda part: inline_composites(part, lambda op: ())])
)


def inline(*claimed):
    return [lambda graph: inline_composites(graph, lambda op: claimed)]


def test_bodies_stand_where_the_composite_stood():
    graph = optimized(lambda x: ops.tanh(ops.square(ops.exp(x))), dt.spec((2,)), by=inline())
    assert types(graph) == ["Exp", "Mul", "Tanh"]


def test_claimed_composites_stay():
    graph = optimized(lambda x: ops.softmax(ops.square(x)), dt.spec((2,)), by=inline("Softmax"))
    assert types(graph) == ["Mul", "Softmax"]


def test_to_any_depth():
    graph = optimized(lambda x: ops.softmax(x), dt.spec((2, 3)), by=inline())
    assert all(OPS[name].body is None for name in types(graph))


def test_how_many_were_inlined():
    graph = traced(lambda x: ops.square(ops.square(x)) + ops.tanh(x), dt.spec((2,)))
    assert inline_composites(graph, lambda op: ()) == 2
    assert inline_composites(graph, lambda op: ()) == 0


def test_an_input_that_comes_through_waits_as_the_composite_did():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        shown = ops.print_tensor(x)
        with graph.control_dependencies([shown.op]):
            graph.outputs = [ops.diff(x, 0)]
    assert inline_composites(graph, lambda op: ("Print",)) == 1
    graph.validate()
    assert graph.outputs[0].op.control_inputs == (shown.op,)


def test_an_input_that_comes_through_is_the_result():
    graph = optimized(lambda x: ops.diff(x, 0), dt.spec((2,)), by=inline())
    assert graph.outputs == [graph.inputs[0]]


def test_the_line_is_that_of_the_composite():
    graph = optimized(lambda x: ops.square(x), dt.spec((2,)), by=inline())
    assert graph.outputs[0].op.where[0].endswith("test_composites.py")
