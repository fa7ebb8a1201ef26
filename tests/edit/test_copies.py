"""Copies of operations from one graph to another: they keep all attributes."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.edit.replay import replay
from dovetail.edit.transplant import copy_graph
from dovetail.functions.concrete import Functional
from dovetail.passes.composites import inline_composites
from dovetail.sessions.cut import cut


def program(graph=None):
    """A graph whose operation `layer/Softplus` waits for a print, and has all that an operation can have."""
    graph = dt.Graph("source") if graph is None else graph
    with graph.as_default():
        x = graph.placeholder(dt.spec((2,)), "x")
        first = ops.print_tensor(ops.square(x), "first")
        with graph.name_scope("layer"), graph.control_dependencies([first.op]):
            y = ops.softplus(x)
        y.op.device, y.op.engine, y.op.overrides = "cpu:0", "numpy", {"Softplus": "Registered"}
        y.op.gradient_function = lambda node, g: g
        graph.outputs = [y * 2.0]
    return graph


def imported(graph):
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph, {graph.inputs[0]: target.placeholder(dt.spec((2,)), "x")})
    return target


def replayed(graph):
    target = dt.Graph("target")
    with target.as_default():
        target.outputs = [replay(graph, target.placeholder(dt.spec((2,)), "x"))]
    return target


WAYS = {
    "copy_graph": copy_graph,
    "subgraph": lambda graph: graph.subgraph(graph.outputs, graph.inputs),
    "import_graph": imported,
    "replay": replayed,
    "gradient_graph": lambda graph: gradient_graph(graph)[0],
    "split": lambda graph: split(graph).forward,
    "function of variables": lambda graph: Functional(graph, (), None).program.graph,
    "function.graph": lambda graph: dt.function(graph).graph(dt.spec((2,))),
}


OWN = ["subgraph", "import_graph", "function.graph"]  # these return a graph to the user


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_has_all_that_its_original_has_a13(way):
    graph = program()
    old = graph.get_operation("layer/Softplus")
    target = WAYS[way](graph)
    new = target.get_operation("layer/Softplus")
    assert (new.device, new.engine, new.where) == (old.device, old.engine, old.where)
    assert new.gradient_function is old.gradient_function
    assert new.overrides == old.overrides
    assert new.origin is (new if way in OWN else old)
    assert [op.type for op in new.control_inputs] == ["Print"]
    target.prune()
    assert ("Print" in [op.type for op in target.operations]) == (new in target)
    target.validate()


def test_a_program_of_the_default_graph_keeps_what_is_waited_for_a13():
    graph = program(dt.SessionGraph())
    part = cut(graph, graph.inputs, graph.outputs)
    assert [op.type for op in part.get_operation("layer/Softplus").control_inputs] == ["Print"]


def test_the_body_of_a_composite_takes_after_it_a13():
    graph = program()
    node = graph.get_operation("layer/Softplus")
    with graph.control_dependencies([node]):
        last = ops.exp(graph.inputs[0])
    graph.outputs = [*graph.outputs, last]
    waited = node.control_inputs
    assert inline_composites(graph, lambda op: {"Square", "Print", "Mul", "Exp"})
    graph.validate()
    added = [op for op in graph.operations if op.name.startswith("layer/Softplus/")]
    assert added
    for op in added:
        assert (op.device, op.engine, op.overrides, op.where) == ("cpu:0", "numpy", node.overrides, node.where)
        assert not op.inputs or op.control_inputs == waited
    assert last.op.control_inputs[0] in added


def test_inputs_that_are_given_stay_given_though_others_wait_for_their_operations_a13():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    h = ops.print_tensor(x)
    with graph.control_dependencies([h.op]):
        y = h * 2.0
    part = graph.subgraph([y], [x, h])
    assert part.outputs[0].op.inputs[0] is part.inputs[1]
    part.validate()


def test_assignments_that_wait_a13(engine, capsys):
    """Check that control inputs of an assignment run, also if it is overwritten or differentiated."""
    v = dt.Variable([1.0, 2.0], name="v")
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        first, second = ops.print_tensor(x, "first"), ops.print_tensor(x, "second")
        with graph.control_dependencies([first.op]):
            v.assign(x * 2.0)
        with graph.control_dependencies([second.op]):
            v.assign(v.read())
        graph.outputs = [x + 1.0]
    run = dt.function(graph)
    run(ops.constant([1.0, 2.0])).numpy()
    assert v.numpy().tolist() == [2.0, 4.0]
    with dt.GradientTape() as tape:
        x = ops.constant([3.0, 4.0])
        tape.watch(x)
        y = run(x)
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]
    assert v.numpy().tolist() == [6.0, 8.0]
    assert sorted(capsys.readouterr().out.split("\n")) == [
        "",
        "first [1 2]",
        "first [3 4]",
        "second [1 2]",
        "second [3 4]",
    ]


def test_what_is_waited_for_in_a_gradient_a13(engine, capsys):
    """Check operations of a gradient that wait for others of it."""

    @dt.custom_gradient
    def doubled(x):
        def gradient(g):
            shown = ops.print_tensor(g, "gradient")
            graph = shown.op.graph
            with graph.control_dependencies([shown.op]):
                return ops.tanh(g) * 2.0

        return x * 2.0, gradient

    run = dt.function(doubled)
    x = ops.constant([0.0, 0.0])
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * np.tanh([1.0, 1.0]), rtol=1e-5)
    assert capsys.readouterr().out == "gradient [1 1]\n"


@pytest.mark.parametrize("way", ["copy_graph", "subgraph", "import_graph"])
def test_what_was_computed_of_eager_tensors_is_handed_on(way):
    """Check that a tape goes from the constant of a copy back to the tensors it was computed from."""
    c = ops.constant([1.0, 2.0])
    graph = dt.function(lambda x: x * ops.square(c)).graph(dt.spec((2,)))
    run = dt.function(WAYS[way](graph))
    with dt.GradientTape() as tape:
        tape.watch(c)
        y = run(ops.constant([3.0, 5.0]))
    assert tape.gradient(y, c).numpy().tolist() == [6.0, 20.0]


@pytest.mark.parametrize("way", ["copy_graph", "import_graph"])
def test_outputs_that_were_removed_are_named(way):
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    y = ops.tanh(x)
    graph.outputs = [x]
    graph.remove(y.op)
    graph.outputs = [y]
    with pytest.raises(ValueError, match=r"Tanh:0.* was removed from the graph 'source'"):
        WAYS[way](graph)
