"""Editing graphs: producers and consumers go on agreeing, and what would break them is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from tests.graph.random_graphs import arguments, check_same, graphs, interpret


@pytest.fixture
def graph():
    return dt.Graph("test")


@pytest.fixture
def x(graph):
    return graph.placeholder(dt.spec((2, 3)), "x")


def types(graph):
    return [op.type for op in graph.operations]


def snapshot(graph):
    """Everything that an edit could change."""
    return (
        [(op, tuple(op.inputs), op.control_inputs) for op in graph.operations],
        [(t, t.shape, set(t.uses())) for op in graph.operations for t in op.outputs],
        list(graph.outputs),
    )


def refused(graph, error, edit, match=None):
    before = snapshot(graph)
    with pytest.raises(error, match=match):
        edit()
    assert snapshot(graph) == before
    graph.validate()


# -- replacing --------------------------------------------------------------------------------------------------------


def test_replace_input(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    total = y + z
    total.op.replace_input(0, x)
    assert total.op.inputs == [x, z]
    assert y.consumers() == []
    assert total.op in x.consumers()
    graph.validate()


def test_replace_input_by_what_stands_later_moves_it_ahead(graph, x):
    y = ops.tanh(x)
    later = ops.exp(ops.square(x))
    y.op.replace_input(0, later)
    assert types(graph) == ["Placeholder", "Square", "Exp", "Tanh"]
    graph.validate()


def test_edits_that_cannot_be_are_refused(graph, x):
    y = ops.tanh(x)
    z = y * 2
    ints = graph.placeholder(dt.spec((2, 3), "int32"))
    wide = graph.placeholder(dt.spec((2, 4)))
    added = z + x
    other = dt.Graph("other").placeholder(dt.spec((2, 3)))
    refused(graph, ValueError, lambda: y.op.replace_input(0, z), "cycle")
    refused(graph, ValueError, lambda: y.op.replace_input(0, y), "cycle")
    refused(graph, TypeError, lambda: y.op.replace_input(0, ints), "cast it first")
    refused(graph, ValueError, lambda: y.op.replace_input(0, other), "other")
    refused(graph, ValueError, lambda: added.op.replace_input(0, wide), "broadcast")
    refused(graph, ValueError, lambda: y.op.replace_input(0, wide), "broadcast")  # fits here, but not further on
    refused(graph, ValueError, lambda: graph.replace_all_uses(x, z), "cycle")
    refused(graph, TypeError, lambda: graph.replace_all_uses(x, ints))
    refused(graph, ValueError, lambda: graph.remove(y.op), "Tanh:0")
    refused(graph, ValueError, lambda: y.op.add_control_input(z.op), "cycle")


def test_shapes_follow_a_replacement(graph, x):
    y = ops.tanh(x)
    z = ops.transpose(y)
    y.op.replace_input(0, graph.placeholder(dt.spec((5, 7))))
    assert (y.shape, z.shape) == ((5, 7), (7, 5))
    graph.validate()


def test_replace_all_uses(graph, x):
    y = ops.tanh(x)
    graph.outputs = [y, y * y]
    new = ops.exp(x)
    graph.replace_all_uses(y, new)
    assert graph.outputs[0] is new
    assert graph.outputs[1].op.inputs == [new, new]
    assert y.consumers() == []
    graph.validate()


def test_replace_all_uses_by_what_takes_it(graph, x):
    """Putting an operation behind a tensor: the new one goes on taking it."""
    y = ops.tanh(x)
    graph.outputs = [ops.exp(y)]
    with graph.insert_after(y.op):
        clipped = ops.minimum(y, 0.5)
    graph.replace_all_uses(y, clipped)
    assert graph.outputs[0].op.inputs == [clipped]
    assert clipped.op.inputs[0] is y
    assert types(graph) == ["Placeholder", "Tanh", "Const", "Minimum", "Exp"]
    graph.validate()


def test_replacing_one_of_many_uses_does_not_look_at_all(graph, x):
    """What an edit costs depends on what it touches, not on the graph."""
    y = x
    for _ in range(20_000):
        y = ops.tanh(y)
    first = x.consumers()[0]
    looked_at = graph._check_acyclic(x.op, [first])
    assert looked_at == set()


# -- inserting --------------------------------------------------------------------------------------------------------


def test_insert_before_and_after(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_before(z.op):
        ops.square(x)
        with graph.insert_after(x.op):
            ops.cos(x)
        ops.sin(x)
    ops.sqrt(x)
    assert types(graph) == ["Placeholder", "Cos", "Tanh", "Square", "Sin", "Exp", "Sqrt"]
    assert y.op.graph is graph
    graph.validate()


def test_an_inserted_operation_stands_where_its_inputs_allow(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_before(y.op):
        ops.square(z)
    assert types(graph) == ["Placeholder", "Tanh", "Exp", "Square"]


def test_insert_at_a_stranger(graph, x):
    with pytest.raises(ValueError, match="not in the graph"), dt.Graph().insert_before(x.op):
        pass


# -- control inputs ---------------------------------------------------------------------------------------------------


def test_control_inputs(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    y.op.add_control_input(z.op)
    y.op.add_control_input(z.op)
    assert types(graph) == ["Placeholder", "Exp", "Tanh"]
    assert y.op.control_inputs == (z.op,)
    assert z.op.control_outputs == (y.op,)
    graph.outputs = [y]
    assert graph.prune() == 0
    refused(graph, ValueError, lambda: graph.remove(z.op))
    y.op.remove_control_input(z.op)
    assert graph.prune() == 1
    graph.validate()


# -- removing ---------------------------------------------------------------------------------------------------------


def test_remove(graph, x):
    y = ops.tanh(x)
    graph.remove(y.op)
    assert types(graph) == ["Placeholder"]
    assert x.consumers() == []
    with pytest.raises(ValueError, match="not in the graph"):
        graph.remove(y.op)


def test_a_removed_read_is_read_again(graph):
    v = dt.Variable(1.0, name="v")
    with graph.as_default():
        graph.remove(v.read().op)
        assert v.read().op in graph


def test_prune(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    v = dt.Variable(np.zeros((2, 3), "float32"))
    with graph.as_default():
        v.assign(y)
    graph.outputs = [z]
    assert graph.prune() == 0
    graph.outputs = []
    assert graph.prune() == 1
    assert types(graph) == ["Placeholder", "Tanh", "AssignVariableOp"]
    graph.validate()
    assert graph.prune([y]) == 1  # new outputs: only what they need
    assert types(graph) == ["Placeholder", "Tanh"]
    graph.validate()


# -- subgraphs and imports ---------------------------------------------------------------------------------------------


def test_subgraph(graph, x):
    h = ops.tanh(x)
    y = ops.exp(h + 1)
    part = graph.subgraph([y], [h])
    part.validate()
    assert types(part) == ["Placeholder", "Const", "AddV2", "Exp"]
    value = np.ones((2, 3), "float32")
    np.testing.assert_allclose(interpret(part, [value])[0][0], np.exp(value + 1), rtol=1e-6)
    assert len(graph) == 5  # as it was
    with pytest.raises(ValueError, match="'x'"):
        graph.subgraph([y])


def test_import_graph(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None, 3)), "a")
    b = source.placeholder(dt.spec((3,)), "b")
    source.outputs = [ops.tanh(a * b)]
    (y,) = graph.import_graph(source, {"a": x}, name="copy")
    assert y.shape == (2, 3)
    assert y.op.name == "copy/Tanh"
    assert [t.op.name for t in graph.inputs] == ["x", "copy/b"]
    graph.validate()
    (z,) = graph.import_graph(source, {source.outputs[0].op.inputs[0]: x})  # any tensor can be mapped
    assert z.op.inputs == [x]
    assert [t.op.name for t in graph.inputs] == ["x", "copy/b", "a", "b"]
    graph.validate()


def test_imports_that_do_not_fit_are_refused(graph, x):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None,)), "a")
    source.outputs = [a + np.ones(4, "float32")]
    ints = graph.placeholder(dt.spec((4,), "int32"))
    refused(graph, ValueError, lambda: graph.import_graph(source, {"a": graph.inputs[0]}), "broadcast")
    refused(graph, TypeError, lambda: graph.import_graph(source, {"a": ints}), "cast it first")
    refused(graph, KeyError, lambda: graph.import_graph(source, {"b": x}), "no operation 'b'")
    refused(graph, ValueError, lambda: graph.import_graph(source, {"a": a}), "input_map")


def test_imported_assignments_happen(graph):
    v = dt.Variable([0.0, 0.0], name="v")
    source = dt.Graph("source")
    with source.as_default():
        v.assign(source.placeholder(dt.spec((2,)), "a") + v)
    graph.import_graph(source, {"a": graph.constant(np.ones(2, "float32"))})
    assert types(graph)[-1] == "AssignVariableOp"
    graph.validate()


# -- at random --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(graphs(), st.lists(st.tuples(*[st.integers(0, 10**6)] * 3), max_size=12))
def test_random_edits_leave_a_valid_graph(graph, edits):
    """Whatever is asked for is done or refused; never half."""
    for first, second, number in edits:
        operations = graph.operations
        op, other = operations[first % len(operations)], operations[second % len(operations)]
        tensor = other.outputs[0]
        before = snapshot(graph)
        try:
            if op.inputs and number % 2:
                op.replace_input(number % len(op.inputs), tensor)
            else:
                graph.replace_all_uses(op.outputs[0], tensor)
        except (ValueError, TypeError, IndexError):
            assert snapshot(graph) == before
        graph.validate()
    graph.prune()
    graph.validate()


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_an_import_computes_the_same(graph):
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph, name="copy")
    target.validate()
    check_same(interpret(target, arguments()), interpret(graph, arguments()))
