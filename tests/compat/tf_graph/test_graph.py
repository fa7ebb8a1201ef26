"""Names, collections and definitions of TensorFlow's graphs."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tensorflow import function as tf_function
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.edit.graph import Graph


@pytest.fixture
def graph():
    graph = TensorFlowGraph("g")
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
def test_names_that_are_refused(graph, number):
    call, kind, message = REFUSED[number]
    with pytest.raises(kind, match=re.escape(message)):
        call(graph)


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


def test_attributes_of_operations(graph):
    y = ops.sum(graph.inputs[0], 0)
    assert (y.op.get_attr("axis"), y.op.get_attr("T")) == (0, "float32")
    with pytest.raises(ValueError, match=r"'Sum' has no attribute 'axes'\. Did you mean 'axis'"):
        y.op.get_attr("axes")


def test_graphs_that_are_made_of_one_are_such():
    """Check that programs may use TensorFlow's names in bodies, parts, copies, pickles and traces, too."""
    graph, inner = dt.SessionGraph(), []
    x = graph.placeholder(dt.spec((3,)), "x")
    with graph.as_default():
        loop = ops.scan(lambda s, row: (inner.append(s.graph) or s + row, None), 0.0, x)[0]
    dt.gradients(loop, x)
    tf_function(lambda x: (inner.append(x.graph), x * 2.0)[1])(np.ones(2, "float32"))
    bodies = [
        part for copied in (graph, copy.copy(graph), pickle.loads(pickle.dumps(graph))) for part in copied.subgraphs()
    ]
    for made in (*inner, *bodies, graph.subgraph([loop], [x])):
        assert isinstance(made, TensorFlowGraph)
        assert made.get_operations()[0].node_def.name == made.operations[0].name
    assert len(bodies) >= 6


def test_plain_graphs_have_no_such_names():
    words = {name for name in vars(TensorFlowGraph) if not name.startswith("_")} - {"get_operation"}
    assert len(words) > 10 and not [name for name in words if hasattr(Graph, name)]
