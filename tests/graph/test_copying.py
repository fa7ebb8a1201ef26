"""Copying operations: whatever takes them from one graph to another, they keep all that they have."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.backend.program import Program
from dovetail.backend.symbolic import DefaultGraph
from dovetail.graph.copying import copy_graph, copy_into, override_gradients
from dovetail.graph.replay import replay
from dovetail.passes.composites import inline_composites
from dovetail.plan.concrete import Functional


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
    target.outputs = target.import_graph(graph, {"x": target.placeholder(dt.spec((2,)), "x")})
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
    "function of variables": lambda graph: Functional(graph, ())._pure,
    "function.graph": lambda graph: dt.function(graph).graph(dt.spec((2,))),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_has_all_that_its_original_has_a13(way):
    graph = program()
    old = graph.get_operation("layer/Softplus")
    target = WAYS[way](graph)
    new = target.get_operation("layer/Softplus")
    assert (new.device, new.engine, new.where) == (old.device, old.engine, old.where)
    assert new.gradient_function is old.gradient_function
    assert new.overrides == old.overrides
    assert [op.type for op in new.control_inputs] == ["Print"]
    target.prune()
    assert ("Print" in [op.type for op in target.operations]) == (new in target)
    target.validate()


def test_a_program_of_the_default_graph_keeps_what_is_waited_for_a13():
    graph = program(DefaultGraph())
    part = Program(graph, graph.inputs, graph.outputs)._concrete.graph
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
    """What an assignment waits for is done, also where it is overwritten, or differentiated."""
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
    """Operations of a gradient that wait for others of it."""

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


# -- what is waited for, and what stands for what is not copied --------------------------------------------------------


def test_assignments_are_imported_as_they_are():
    """Nothing is added for the sake of an order that assignments have anyway."""
    v = dt.Variable([1.0, 2.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        x = source.placeholder(dt.spec((2,)), "x")
        v.assign(ops.tanh(x))
        v.assign(ops.exp(x))
    target = dt.Graph("target")
    target.import_graph(source)
    assert [op.type for op in target.operations] == [op.type for op in source.operations]
    first, second = (op for op in target.operations if op.type == "AssignVariableOp")
    assert second.control_inputs == (first,)
    target.validate()


def test_what_waits_for_an_assignment_or_a_read_waits_for_what_stands_for_it():
    v = dt.Variable([1.0, 2.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        x = source.placeholder(dt.spec((2,)), "x")
        read = v.read()
        v.assign(ops.tanh(x))
        assigned = source.operations[-1]
        with source.control_dependencies([assigned, read.op]):
            source.outputs = [ops.exp(x)]
    target = dt.Graph("target")
    (y,) = target.import_graph(source)
    assert [op.type for op in y.op.control_inputs] == ["Tanh", "ReadVariableOp"]
    target.validate()


def test_a_part_holds_what_is_waited_for_in_it():
    """Of an input that is given, its operation too, if it is more than an input."""
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    first = ops.tanh(x)
    with graph.control_dependencies([first.op, x.op]):
        y = ops.exp(x)
    part = graph.subgraph([y], [x, first])
    (new,) = part.outputs
    assert [op.type for op in new.op.control_inputs] == ["Tanh", "Placeholder"]
    assert new.op.control_inputs[1] is part.inputs[0].op
    part.validate()


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


def test_outputs_of_another_graph_are_named():
    graph, other = dt.Graph("graph"), dt.Graph("other")
    graph.outputs = [other.placeholder(dt.spec((2,)), "y")]
    with pytest.raises(ValueError, match=r"y:0.* is not known in the graph 'other', so it has no value"):
        copy_graph(graph)


def test_a_copy_stands_for_the_same_eager_tensors_and_has_subgraphs_of_its_own():
    c = ops.constant([1.0, 2.0])
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    graph.outputs = [ops.scan(lambda s, e: (s + e * c[0], None), 0.0, x + c)[0]]
    again = copy_graph(graph)
    assert str(again) == str(graph)
    assert [t.op.name for t in again.closures.values()] == [t.op.name for t in graph.closures.values()]
    assert all(t.graph is again for t in again.closures.values())
    old, new = (g.outputs[0].op.attr("body") for g in (graph, again))
    assert old is not new
    again.validate()
    with again.as_default():
        before = len(again)
        again.inputs[0] + c
    assert len(again) == before + 1  # the constant is there


def test_the_eager_tensors_of_what_is_not_copied_are_left_out():
    c, d = ops.constant([1.0, 2.0]), ops.constant([3.0, 4.0])
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    y = x + c
    z = y * d
    part = graph.subgraph([z], [y])
    assert list(part.closures) == [d]


def test_a_copy_takes_its_inputs_in_order():
    graph = dt.Graph()
    x, y = (graph.placeholder(dt.spec((2,)), name) for name in "xy")
    graph.outputs = [x - y]
    target = dt.Graph()
    a, b = (target.placeholder(dt.spec((2,)), name) for name in "ab")
    seen = []
    (found,) = copy_into(graph, target, [b, a], seen.append)
    assert found.op.inputs == [b, a]
    assert seen == [found.op]
    assert len(target) == 3
    with pytest.raises(TypeError, match="has 2 inputs, not 1"):
        copy_into(graph, target, [a])


def test_override_gradients_reaches_the_bodies_of_loops():
    @dt.RegisterGradient("CopiesOwn")
    def _(op, g):
        return g * 5.0

    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.gradient_override_map({"Exp": "CopiesOwn"}):
        y = ops.scan(lambda s, _: (ops.tanh(s), None), x, length=2)[0]
    override_gradients(y.op, {"Tanh": "CopiesOwn"})
    expected = {"Tanh": "CopiesOwn", "Exp": "CopiesOwn"}
    inner = [dict(op.overrides) for op in y.op.attr("body").operations if op.type == "Tanh"]
    assert (dict(y.op.overrides), inner) == (expected, [expected])
    override_gradients(y.op, {})
    assert dict(y.op.overrides) == expected
