"""Node definitions: operations as messages."""

import numpy as np
from dovetail.compat.tensorflow.compat import v1

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.definition import Origin, snapshot
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.compat.tf_graph.graph_bytes import document
from dovetail.compat.tf_graph.restoring import restored
from tests.libraries import Library


def test_node_definitions():
    graph = TensorFlowGraph()
    x = graph.placeholder(dt.spec((2, 3)), "x")
    first = ops.tanh(x, name="first")
    with graph.control_dependencies([first.op]), graph.as_default(), dt.place(device="cpu:0"):
        y = ops.top_k(x, 2)[1] + graph.constant(np.arange(4, dtype="int32").reshape(2, 2))
    assert list(y.op.node_def.input) == ["TopKV2:1", "Const", "^first"]
    top = graph.get_operation("TopKV2").node_def
    assert (top.name, top.op, list(top.input)) == ("TopKV2", "TopKV2", ["x", "TopKV2/k", "^first"])
    assert y.op.node_def.device == "/device:CPU:0"
    value = v1.make_ndarray(graph.get_operation("Const").node_def.attr["value"].tensor)
    assert value.tolist() == [[0, 1], [2, 3]]
    for node in graph.as_graph_def().node:
        if node.name in ("TopKV2", "AddV2", "x"):
            assert str(node) == str(graph.get_operation(node.name).node_def)


def test_node_definitions_say_gradients_by_name():
    graph = TensorFlowGraph()
    y = ops.tanh(graph.placeholder(dt.spec((3,)), "x"))
    assert "_gradient_op_type" not in y.op.node_def.attr
    graph.override_gradients({"Tanh": "Identity", "Exp": "Identity"})
    attr = y.op.node_def.attr
    assert (sorted(attr), attr["T"].type, attr["_gradient_op_type"].s) == (["T", "_gradient_op_type"], 1, b"Identity")
    assert y.op.attrs == {}


def test_constants_below_nodes_have_the_names_of_tensorflows_inputs():
    def definition(v1):
        with v1.Graph().as_default() as graph:
            x = v1.placeholder("float32", [2, 6], name="x")
            v1.reduce_sum(x, 1, name="sum")
            v1.reduce_all(x > 0, 1, name="all")
            v1.transpose(x, [1, 0], name="turned")
            v1.expand_dims(x, 1, name="expanded")
            v1.tile(x, [1, 2], name="tiled")
            v1.concat([x, x], 1, name="joined")
            v1.split(x, [2, 4], 1, name="parts")
        return [node.name for node in graph.as_graph_def().node if node.op == "Const" and "Greater" not in node.name]

    found = set(definition(v1))
    assert {"sum/reduction_indices", "turned/perm", "expanded/dim", "tiled/multiples", "parts/split_dim"} <= found
    assert set(definition(Library("tensorflow").compat.v1)) - {"Const"} <= found


def test_a_file_with_the_names_of_parameters_is_read_as_it_was():
    with v1.Graph().as_default() as graph:
        v1.reduce_sum(v1.placeholder("float32", [2, 3], name="x"), 1, name="y")
    message = Origin(snapshot(graph), theirs=False).message
    assert "y/axis" in {node.name for node in message.node}
    message.library.function.append(document(snapshot(graph)))
    assert [one.name for one in restored(message)] == ["x", "y"]
