"""Lookup by names, types and collections, and its errors."""

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
    assert graph.get_operations() == graph.operations
    assert graph.get_operation_by_name("x") is x.op
    assert graph.get_tensor_by_name("x:0") is graph.as_graph_element(x) is x
    assert graph.as_graph_element(tanh) is graph.as_graph_element("block/Tanh") is tanh
    assert graph.as_graph_element("block/SplitV:1").value_index == 1


REFUSED = [
    (lambda g: g.get_operation_by_name("x:0"), ValueError, "needs an operation, not 'x:0' names <graph tensor x:0"),
    (lambda g: g.get_tensor_by_name("x"), ValueError, 'write "x:0" for its first result'),
    (lambda g: g.get_operation_by_name(g.inputs[0]), TypeError, "a name is a string"),
    (lambda g: g.get_tensor_by_name(3), TypeError, "a name is a string, not 3"),
    (lambda g: g.as_graph_element(3.0), TypeError, "needs a tensor or operation, not 3.0"),
    (lambda g: g.as_graph_element(g.inputs[0], allow_tensor=False), TypeError, "needs an operation, not"),
    (lambda g: g.as_graph_element("y"), KeyError, "no operation 'y' in 'g'"),
    (lambda g: g.as_graph_element("block/Tan"), KeyError, "did you mean block/Tanh"),
    (lambda g: g.as_graph_element("x:1"), KeyError, "no tensor 'x:1'"),
    (lambda g: g.as_graph_element(dt.Graph("h").placeholder(dt.spec(()))), ValueError, "belongs to the graph 'h'"),
    (lambda g: g.as_graph_element(dt.Graph("h").placeholder(dt.spec(())).op), ValueError, "to the graph 'h'"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(graph, number):
    call, kind, message = REFUSED[number]
    with pytest.raises(kind, match=re.escape(message)):
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


def test_collections(graph):
    x, y = graph.inputs[0], graph.get_tensor("block/Relu:0")
    graph.add_to_collection("losses", x)
    graph.add_to_collections(["losses", "summaries", "summaries"], y)
    graph.add_to_collections("losses", 3.0)
    assert list(map(id, graph.get_collection("losses")[:2])) == [id(x), id(y)]
    assert graph.get_collection("losses", scope="block")[0] is y
    assert len(graph.get_collection("losses", scope="block")) == 1
    assert graph.get_all_collection_keys() == ["losses", "summaries"]
    graph.get_collection("losses").clear()
    assert len(graph.get_collection("losses")) == 3
    graph.get_collection_ref("losses").clear()
    assert graph.get_collection("losses") == graph.get_collection("none") == []
    graph.clear_collection("summaries")
    assert graph.get_all_collection_keys() == []
