"""Cursor: new operations stand at the place of insertion."""

import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import types


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


def test_removing_where_operations_are_inserted_b(graph, x):
    """Check that an inserted operation stands at the removed operation's place."""
    ops.sin(x)
    y, last = ops.tanh(x), ops.exp(x)
    with graph.insert_before(y.op), graph.insert_after(y.op):
        graph.remove(y.op)
        ops.square(x)
        ops.cos(x)
    with graph.insert_before(last.op):
        graph.remove(last.op)
        ops.floor(x)
    assert types(graph) == ["Placeholder", "Sin", "Square", "Cos", "Floor"]
    graph.validate()


def test_what_is_inserted_behind_stays_there_though_others_move(graph, x):
    y, z = ops.tanh(x), ops.exp(x)
    with graph.insert_after(y.op):
        y.op.replace_input(0, z)
        ops.square(x)
        ops.cos(x)
    assert types(graph) == ["Placeholder", "Exp", "Tanh", "Square", "Cos"]
    graph.validate()


def test_insert_at_a_stranger(graph, x):
    with pytest.raises(ValueError, match="belongs to the graph 'test'"), dt.Graph().insert_before(x.op):
        pass
