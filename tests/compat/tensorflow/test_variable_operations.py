"""Operations as TensorFlow's programs use them: of variables, by name, with attributes, in definitions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from tests.libraries import require

v1 = tf.compat.v1


def _names(definition: Any) -> list[Any]:
    return [definition.name, *([one.name for one in of] for of in (definition.input_arg, definition.attr))]


def seen(tf: Any) -> list[Any]:
    """Results of reading the operations of variables, and of an operation with an added attribute."""
    found: list[Any] = []
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("layer"), tf.device("/cpu:0"):
            v = tf.get_variable("v", [3, 2], initializer=tf.ones_initializer(), use_resource=True)
        w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
        y = tf.matmul(x, v, name="y")
        session.run(tf.global_variables_initializer())
        for variable in (v, w):
            op = variable.op
            found += [op.name, op.type, op.node_def.name, op.node_def.op, list(op.node_def.input), op.device]
            found += [sorted(op.node_def.attr), op.get_attr("dtype").name, v1.compat.as_str(op.get_attr("shared_name"))]
            found += [_names(op.op_def), op.op_def.is_stateful]
            found += [list(op.inputs), list(op.control_inputs), len(op.values()), op is variable.op]
            found += [session.run(op), op.run(), op.colocation_groups(), graph.get_operation_by_name(op.name) is op]
            found += [graph.as_graph_element(op.name) is op, op.graph is graph, len(op.outputs), bool(op.traceback)]
        found.append([session.run(x.op.name + ":0", {x: np.ones((1, 3))}).tolist(), repr(x.op.device), repr(y.device)])
        y.op._set_attr("_class", tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"loc:@layer/v"])))
        y.op._set_attr("_note", tf.AttrValue(s=b"hi"))
        y.op._set_attr("_count", tf.AttrValue(i=3))
        y.op._set_attr("_is", tf.AttrValue(b=True))
        found += [_names(y.op.op_def), [str(one) for one in (*y.op.op_def.input_arg, *y.op.op_def.output_arg)]]
        found += [y.op.get_attr(name) for name in ("_class", "_note", "_count", "_is")]
        found += [y.op.colocation_groups(), x.op.colocation_groups(), "_note" in y.op.node_def.attr]
        y.op._clear_attr("_note")
        for name in ("_note", "nothing"):
            try:
                found.append(y.op.get_attr(name))
            except ValueError:
                found.append(ValueError)
        definition = graph.as_graph_def()
        found.append([node.name for node in definition.node if node.op == "VarHandleOp"])
        found.append([node.name for node in session.graph_def.node if node.name in "xy"])
        found.append([len(tf.GraphDef().node), str(tf.GraphDef()), tf.import_graph_def(tf.GraphDef())])
        shapes = [node for node in graph.as_graph_def(add_shapes=True).node if node.name == "y"]
        found.append(["_output_shapes" in shapes[0].attr, "_output_shapes" in definition.node[-1].attr])
        found.append([device.device_type for device in session.list_devices()][-1])
    return found


def test_operations_are_seen_as_in_tensorflow(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    assert seen(v1) == seen(tensorflow.compat.v1)


def test_variables_are_found_by_name(engine):
    with v1.Graph().as_default() as graph, v1.Session() as session:
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        session.run(v.initializer)
        assert graph.get_tensor_by_name("v:0") is v and graph.as_graph_element("v") is v.op
        assert session.run("v:0").tolist() == [1.0, 2.0]
        assert session.run({"all": ["v:0", v.op]})["all"][1] is None
        assert session.run(v * 2.0, {"v:0": [3.0, 4.0]}).tolist() == [6.0, 8.0]
        session.run([v.op, "v"])
        with pytest.raises(ValueError, match="names <operation v VarHandleOp>"):
            graph.get_tensor_by_name("v")
        with pytest.raises(ValueError, match=r"has no attribute 'shapes'\. Did you mean 'shape'"):
            v.op.get_attr("shapes")
    with v1.Graph().as_default(), v1.Session() as session:
        with pytest.raises(ValueError, match="run it in a session of its graph"):
            session.run(v.op)
        with pytest.raises(KeyError, match="no operation 'v'"):
            session.run("v:0")


def test_the_operation_of_a_variable_without_a_graph():
    v = tf.Variable([1.0, 2.0], name="v")
    assert (v.op.name, v.op.type, v.op.graph, v.op.get_attr("shape")) == ("v", "VarHandleOp", None, (2,))


def test_notes_go_along_with_copies_and_are_no_edit_of_what_runs():
    graph = TensorFlowGraph()
    y = dt.ops.tanh(graph.placeholder(dt.spec((2,)), "x"))
    graph.outputs = [y]
    version = graph.version
    y.op._set_attr("_note", [b"a", b"b"])
    assert (y.op.get_attr("_note"), graph.version) == ([b"a", b"b"], version)
    for other in (copy.copy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.get_operation("Tanh").get_attr("_note") == [b"a", b"b"]
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        y.op._set_attr("_note", 1)
    with pytest.raises(NotImplementedError, match="leave from_version out"):
        graph.as_graph_def(from_version=0)


def grown(tf: Any) -> list[Any]:
    """Results of assignments of other shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=False)
        longer = tf.assign(v, tf.placeholder_with_default([3.0, 4.0, 5.0], [None]), validate_shape=False)
        w = tf.get_variable("w", initializer=tf.zeros([0, 2]), validate_shape=False, use_resource=False)
        row = tf.placeholder("float32", [None, 2])
        more = tf.assign(w, tf.concat([w, row], 0), validate_shape=False)
        total = tf.reduce_sum(w) + 1.0
        session.run(tf.global_variables_initializer())
        found = [session.run(x).tolist() for x in (v, longer, v.read_value(), total)]
        for count in (1, 2, 0, 3):
            found += [session.run(more, {row: np.ones((count, 2))}).shape, session.run(total), session.run(w).shape]
        with tf.Session() as other:
            other.run(tf.global_variables_initializer())
            found += [other.run(v).tolist(), other.run(w).shape]
    return found


def test_variables_take_values_of_other_shapes(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    assert grown(v1) == grown(tensorflow.compat.v1)
    with v1.Graph().as_default(), pytest.raises(ValueError, match="has the shape"):
        v1.assign(v1.Variable([1.0, 2.0]), [1.0])


def imported(tf: Any, data: bytes) -> list[Any]:
    """What programs find of variables in a definition that they import, twice, and what runs give."""
    found: list[Any] = []
    with tf.Graph().as_default() as graph, tf.Session() as session:
        for scope, name in (("", ""), ("import/", None), ("import_1/", None)):
            tf.import_graph_def(tf.GraphDef.FromString(data), name=name)
            tensor, op = graph.get_tensor_by_name(f"{scope}w:0"), graph.get_operation_by_name(f"{scope}w")
            session.run([f"{scope}w/Assign", f"{scope}w"])
            found += [op.name, tensor.name, tensor.shape.as_list(), tensor.op.name]
            found += [session.run(f"{scope}y:0", feeds).tolist() for feeds in ({}, {tensor: [5.0, 6.0]})]
        session.run("w/Assign", {"w/initial_value:0": [3.0, 4.0]})
        found += [one.tolist() for one in session.run(["w:0", graph.get_tensor_by_name("import/w:0"), "import_1/w:0"])]
        return [*found, len(tf.global_variables())]


def test_variables_of_imported_definitions_are_found_by_name(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    tf = tensorflow.compat.v1
    with tf.Graph().as_default() as graph:
        tf.identity(tf.Variable([1.0, 2.0], name="w", use_resource=False) * 2.0, name="y")
    data = graph.as_graph_def().SerializeToString()
    assert imported(v1, data) == imported(tf, data)
