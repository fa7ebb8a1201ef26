"""Node definitions: operations as plain data."""

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.graph import TensorFlowGraph


def test_node_definitions():
    graph = TensorFlowGraph()
    x = graph.placeholder(dt.spec((2, 3)), "x")
    first = ops.tanh(x, name="first")
    with graph.control_dependencies([first.op]), graph.as_default(), dt.place(device="cpu:0"):
        y = ops.top_k(x, 2)[1] + graph.constant(np.arange(4, dtype="int32").reshape(2, 2))
    assert y.op.node_def.input == ["TopKV2:1", "Const", "^first"]
    assert str(graph.get_operation("TopKV2").node_def).startswith(
        'name: "TopKV2"\nop: "TopKV2"\ninput: "x"\ninput: "^first"'
    )
    assert 'device: "/device:CPU:0"' in str(y.op.node_def)
    assert "[[0, 1], [2, 3]]" in str(graph.get_operation("Const").node_def)


def test_node_definitions_say_gradients_by_name():
    graph = TensorFlowGraph()
    y = ops.tanh(graph.placeholder(dt.spec((3,)), "x"))
    assert "_gradient_op_type" not in y.op.node_def.attr
    graph.override_gradients({"Tanh": "Identity", "Exp": "Identity"})
    assert y.op.node_def.attr == {"T": "float32", "_gradient_op_type": "Identity"}
    assert str(y.op.node_def).endswith("attr { key: \"_gradient_op_type\" value: 'Identity' }")
    assert y.op.attrs == {}
