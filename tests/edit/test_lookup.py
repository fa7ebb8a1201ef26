"""Lookup by names and types, and its errors."""

from __future__ import annotations

import re

import pytest

import dovetail as dt
from dovetail import ops


@pytest.fixture
def graph():
    graph = dt.Graph("g")
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.name_scope("block"):
        y = ops.relu(ops.tanh(x))
        ops.split(y, 2)
    return graph


def test_names(graph):
    x, tanh = graph.inputs[0], graph.get_operation("block/Tanh")
    assert graph.get_operation("x") is x.op
    assert graph.get_tensor("x:0") is graph.get_tensor("x") is x
    assert graph.get_tensor("block/SplitV:1") is graph.get_operation("block/SplitV").outputs[1]
    assert tanh.inputs == [x]


REFUSED = [
    (lambda g: g.get_operation("y"), "no operation 'y' in 'g'"),
    (lambda g: g.get_operation("block/Tan"), "did you mean block/Tanh"),
    (lambda g: g.get_tensor("x:1"), "no tensor 'x:1'"),
    (lambda g: g.get_tensor("x:y"), "no tensor 'x:y'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_names_that_nothing_has(graph, call, message):
    with pytest.raises(KeyError, match=re.escape(message)):
        call(graph)


def test_find(graph):
    def found(**what):
        return [op.name for op in graph.find(**what)]

    assert found(type="Tanh") == found(type=ops.tanh) == ["block/Tanh"]
    assert found(type=("Relu", ops.tanh)) == ["block/Tanh", "block/Relu"]
    assert found(name="^block/[TR]") == ["block/Tanh", "block/Relu"]
    assert found(name="elu$", type="Tanh") == []
    assert found(where=lambda op: len(op.outputs) == 2) == ["block/SplitV"]
    assert len(graph.find()) == len(graph)
