"""Attributes of TensorFlow's operations: private setters, definitions, source lines."""

import pytest
from dovetail.compat.tensorflow.compat import v1

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.graph import TensorFlowGraph


def small():
    graph = TensorFlowGraph()
    x = graph.placeholder(dt.spec((2, 3)), "x")
    return graph, x, ops.sum(ops.tanh(x), axis=1)


def test_definitions_and_lines():
    _, x, y = small()
    assert y.op.values() == (y,) and x.op.values() == (x,)
    definition = y.op.op_def
    assert [one.name for one in definition.input_arg] == ["input", "reduction_indices"]
    assert [one.name for one in definition.attr] == ["keep_dims", "T", "Tidx"]
    (frame,) = y.op.traceback
    assert frame.filename == __file__ and frame.lineno == y.op.where[1]


def test_definitions_of_own_ops_have_their_own_names():
    _, x, _ = small()
    definition = ops.sort(x, axis=0).op.op_def
    assert definition.name == "Sort" and [one.name for one in definition.input_arg] == ["x"]
    assert "axis" in {one.name for one in definition.attr}


def test_attributes_are_set_and_checked():
    graph, _, y = small()
    y.op._set_attr("axis", v1.AttrValue(i=0))
    y.op._set_attr("keepdims", True)
    assert y.shape == (1, 3) and y.op.get_attr("axis") == 0
    before = str(graph)
    wrong = [
        ("axis", v1.AttrValue(i=7), IndexError),
        ("none", 1, LookupError),
        ("_gradient_op_type", b"None", LookupError),
    ]
    for name, value, error in wrong:
        with pytest.raises(error):
            y.op._set_attr(name, value)
    assert str(graph) == before
    with pytest.raises(TypeError, match=r"a truth \(b\), a number"):
        y.op._set_attr("axis", v1.AttrValue(placeholder="x"))


def test_one_operation_has_another_gradient(engine):
    graph = TensorFlowGraph()
    x = graph.placeholder(dt.spec((2,)), "x")
    first, second = ops.round(x), ops.round(x * 2.0)
    second.op._set_attr("_gradient_op_type", v1.AttrValue(s=b"Identity"))
    graph.outputs = dt.gradients(first + second, x)
    assert dt.function(graph)(ops.ones(2)).numpy().tolist() == [2.0, 2.0]
    assert second.op.node_def.attr["_gradient_op_type"].s == b"Identity"


def test_devices_are_set():
    _, _, y = small()
    y.op._set_device("/device:CPU:0")
    assert y.op.device == "/device:CPU:0"
    y.op._set_device(v1.DeviceSpec(device_type="GPU", device_index=1))
    assert y.op.device == "/device:GPU:1"


def test_control_inputs_are_added_and_removed(engine):
    """Claim 0.12: the private methods of `tf.Operation`, whose effect each later run sees."""
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable(0.0)
        session.run(v1.global_variables_initializer())
        one, ten, last = v1.assign_add(v, 1.0).op, v1.assign_add(v, 10.0).op, v1.no_op("last")
        last._add_control_input(one)
        session.run(last)
        last._add_control_inputs([one, ten])
        assert set(last.control_inputs) == {one, ten}
        session.run(last)
        assert session.run(v) == 12.0
        last._remove_all_control_inputs()
        session.run(last)
        assert session.run(v) == 12.0 and not last.control_inputs
        with pytest.raises(ValueError, match="depends on"):
            one._add_control_inputs([ten, v1.identity(one.outputs[0]).op])
        assert not one.control_inputs
