"""Graphs as data, and the graph editor, which TensorFlow 2 lacks: checked by numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from tests.libraries import Library, require

v1 = tf.compat.v1
ge = v1.contrib.graph_editor


@pytest.fixture
def graph():
    """y = relu(x · w) · 2, in a session graph."""
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.float32, [None, 2], name="x")
        w = v1.Variable([[1.0], [2.0]], name="w")
        h = v1.nn.relu(v1.matmul(x, w, name="product"), name="h")
        v1.multiply(h, 2.0, name="y")
        yield graph


def run(graph, tensor, **fed):
    session = v1.Session(graph=graph)
    with graph.as_default():
        session.run(v1.global_variables_initializer())
    return session.run(tensor, {f"{name}:0": value for name, value in fed.items()}).tolist()


def test_walks(graph):
    product, h, y = (graph.get_operation_by_name(name) for name in ("product", "h", "y"))
    assert ge.get_forward_walk_ops(h) == [h, y]
    assert ge.get_forward_walk_ops(h, inclusive=False) == [y]
    assert h in ge.get_backward_walk_ops(y)
    assert ge.get_backward_walk_ops(
        y, stop_at_ts=[product.outputs[0]], within_ops_fn=lambda op: op.type != "Const"
    ) == [h, y]


def test_copies(graph):
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    other = v1.placeholder(v1.float32, [None, 2], name="other")
    again = ge.graph_replace(y, {x: other * 10.0})
    assert run(graph, again, other=[[1.0, 1.0]]) == [[60.0]]
    view, info = ge.copy_with_input_replacements(
        ge.sgv("^h$", "^y$", graph=graph), {graph.get_tensor_by_name("product:0"): v1.constant([[5.0]])}
    )
    assert run(graph, info.transformed(y)) == [[10.0]]
    assert [op.type for op in view.ops if op.type != "Const"] == ["Relu", "Mul"]


def test_rerouting(graph):
    x, h, y = (graph.get_tensor_by_name(f"{name}:0") for name in ("x", "h", "y"))
    other = v1.constant([[7.0]], name="other")
    assert ge.reroute_ts(other, h) == 1
    assert run(graph, y) == [[14.0]]
    ge.reroute_ts(h, other, can_modify=[y.op])
    assert run(graph, y, x=[[1.0, 1.0]]) == [[6.0]]
    shifted = v1.add(other, 1.0, name="shifted")
    assert ge.swap_ts(h, other) == 2
    assert (run(graph, y), run(graph, shifted, x=[[1.0, 1.0]])) == ([[14.0]], [[4.0]])
    assert x.consumers()


def test_views(graph):
    h, y = graph.get_tensor_by_name("h:0"), graph.get_tensor_by_name("y:0")
    view = ge.sgv(h.op)
    assert ([t.name for t in view.inputs], view.outputs) == (["product:0"], [h])
    ge.bypass(view)
    assert run(graph, y, x=[[-1.0, 0.0]]) == [[-2.0]]
    ge.reroute_ts(h, y.op.inputs[0], can_modify=[y.op])
    _, taken, given = ge.detach(ge.sgv(h.op))
    assert run(graph, y, **{given[0].op.name: [[3.0]]}) == [[6.0]]
    assert run(graph, h, **{taken[0].op.name: [[-3.0]]}) == [[0.0]]


def test_connecting(graph):
    first = v1.identity(v1.constant([[4.0]]), name="first")
    y = graph.get_tensor_by_name("y:0")
    h = graph.get_tensor_by_name("h:0")
    ge.connect(ge.sgv(first.op), ge.sgv(h.op))
    assert run(graph, y) == [[8.0]]


def names(operations):
    return [op.name for op in operations]


def test_uses_that_may_not_change_stay(graph):
    h, y = graph.get_tensor_by_name("h:0"), graph.get_tensor_by_name("y:0")
    other = v1.constant([[7.0]], name="other")
    of_other, of_h = v1.add(other, 1.0, name="of_other"), v1.add(h, 1.0, name="of_h")
    assert ge.swap_ts(h, other, can_modify=[y.op, of_other.op]) == 2
    assert (y.op.inputs[0], of_other.op.inputs[0], of_h.op.inputs[0]) == (other, h, h)
    assert ge.swap_ts(h, other, cannot_modify=[of_other.op]) == 2
    assert (y.op.inputs[0], of_other.op.inputs[0], of_h.op.inputs[0]) == (h, h, other)
    assert ge.swap_ts(h, other, can_modify=[]) == 0
    assert ge.swap_ts(h, h) == ge.swap_ts([], []) == 0


@pytest.mark.parametrize("disconnects", [False, True])
def test_what_took_the_outputs_of_a_view_before_it_is_connected(graph, disconnects):
    first = v1.identity(v1.constant([[4.0]]), name="first")
    after = v1.add(first, 1.0, name="after")
    ge.connect(ge.sgv(first.op), ge.sgv(graph.get_operation_by_name("h")), disconnect_first=disconnects)
    assert after.op.inputs[0].op.type == ("Placeholder" if disconnects else "Identity")
    assert graph.get_operation_by_name("h").inputs[0] is first


@pytest.mark.parametrize(
    ("given", "waits"),
    [
        ({}, (True, True)),
        ({"control_inputs": True}, (False, True)),
        ({"control_outputs": ge.ControlOutputs}, (True, False)),
        ({"control_ios": ge.ControlOutputs}, (False, False)),
    ],
)
def test_detached_views_wait_for_others_unless_said_otherwise(graph, given, waits):
    before, after = (v1.no_op(name=name) for name in ("before", "after"))
    h = graph.get_operation_by_name("h")
    h.add_control_input(before)
    after.add_control_input(h)
    assert names(ge.ControlOutputs(graph).get(h)) == ["after"]
    ge.detach(ge.sgv(h), **{key: kind(graph) if callable(kind) else kind for key, kind in given.items()})
    assert (before in h.control_inputs, h in after.control_inputs) == waits


def test_what_is_no_control_outputs_is_refused(graph):
    view, outputs = ge.sgv(graph.get_operation_by_name("h")), ge.ControlOutputs(graph)
    before = [(op.name, list(op.inputs)) for op in graph.get_operations()]
    with pytest.raises(TypeError, match=r"takes tf\.contrib\.graph_editor\.ControlOutputs\(graph\), not True"):
        ge.detach(view, control_outputs=True)
    with pytest.raises(ValueError, match="give only one of them"):
        ge.detach(view, control_outputs=outputs, control_ios=outputs)
    assert [(op.name, list(op.inputs)) for op in graph.get_operations()] == before
    assert outputs.update().get_all() == {}


def test_copies_are_in_the_scope_that_is_said(graph):
    h, y = (graph.get_operation_by_name(name) for name in ("h", "y"))
    copied = lambda **given: ge.copy_with_input_replacements(ge.sgv(h), {}, **given)[0].ops[0].name  # noqa: E731
    assert [copied(dst_scope="to"), copied(dst_scope="to"), copied(dst_scope="to", reuse_dst_scope=True)] == [
        "to/h", "to_1/h", "to/h_1",
    ]  # fmt: skip
    with v1.name_scope("from"):
        inner = v1.tanh(h.outputs[0], name="t")
    view, info = ge.copy_with_input_replacements(ge.sgv(inner.op), {}, dst_scope="there", src_scope="from")
    assert names(view.ops) == ["there/t"]
    assert info.transformed([inner, {"a": inner.op}]) == [view.ops[0].outputs[0], {"a": view.ops[0]}]
    assert info.transformed(y) is None and info.transformed((y,), missing_fn=lambda op: op.name) == ("y",)
    with pytest.raises(ValueError, match=r"is not in the scope 'from/'"):
        copied(dst_scope="there", src_scope="from")


def test_expressions_say_of_which_kind_they_are(graph):
    assert names(ge.select_ops("(?#ops)^h$", "(?#ts)^y", graph=graph)) == ["h"]
    assert names(ge.select_ops("^h$", "(?#ops)^y$", graph=graph, restrict_ops_regex=True)) == ["y"]
    assert names(ge.select_ops(re.compile("^h$"), graph=graph)) == ["h"]
    assert names(ge.select_ts("(?#ts)^h:", "(?#ops)^y", graph=graph)) == ["h:0"]
    assert names(ge.select_ts("^h:", "(?#ts)^y:", graph=graph, restrict_ts_regex=True)) == ["y:0"]


def test_selecting(graph):
    assert [op.name for op in ge.select_ops("^h", graph=graph)] == ["h"]
    assert [t.name for t in ge.select_ts("product", graph=graph)] == ["product:0"]
    ops = graph.get_operations()
    assert [t.name for t in ge.filter_ts_from_regex(ops, "^[hy]:")] == ["h:0", "y:0"]
    assert len(ge.filter_ts(ops, True)) == len(ops)
    count = v1.assign_add(v1.Variable(0, name="count"), 1)
    y = graph.get_operation_by_name("y")
    ge.add_control_inputs(y, count.op)
    assert count.op in y.control_inputs
    with pytest.raises(ValueError, match="needs a graph"):
        ge.select_ops("h")


def test_definitions_are_imported_and_frozen(graph, engine):
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        definition = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    v1.global_variables()[0].load([[0.0], [0.0]])
    assert [node.op for node in definition.node if node.name in ("w", "h")] == ["Const", "Relu"]
    with v1.Graph().as_default() as other:
        x = v1.placeholder(v1.float32, [1, 2], name="input")
        y, h = tf.import_graph_def(definition, {"x:0": x}, ["y:0", "h"], name="net")
        assert (y.name, h.name, h.type) == ("net/y:0", "net/h", "Relu")
        assert run(other, y, input=[[1.0, 1.0]]) == [[6.0]]
        assert run(other, v1.gradients(y, x)[0], input=[[1.0, 1.0]]) == [[2.0, 4.0]]
    part = v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["product"])
    assert "h" not in [node.name for node in part.node]
    with v1.Graph().as_default():
        v1.identity(v1.identity(v1.constant(1.0), name="i"), name="end")
        kept = v1.graph_util.remove_training_nodes(v1.get_default_graph().as_graph_def(), ["end"])
    assert [node.name for node in kept.node if node.op == "Identity"] == ["end"]
    with pytest.raises(TypeError, match="as_graph_def"):
        tf.import_graph_def(object())


def test_values_of_the_session_that_is_given_are_frozen(graph):
    with v1.Session() as one, v1.Session() as other:
        for session, value in ((one, 1.0), (other, 3.0)):
            session.run(v1.global_variables_initializer())
            v1.global_variables()[0].load([[value], [value]], session)
        definition = v1.graph_util.convert_variables_to_constants(one, graph.as_graph_def(), ["y"])
    with v1.Graph().as_default() as frozen:
        (y,) = tf.import_graph_def(definition, return_elements=["y:0"], name="")
        assert run(frozen, y, x=[[1.0, 1.0]]) == [[4.0]]


@pytest.mark.parametrize("given", ["graph", "definition"])
def test_a_graph_is_written_as_the_text_of_a_protocol_buffer_that_tensorflow_runs(tmp_path, given):
    require("tensorflow", "it reads the text")
    theirs, value = Library("tensorflow"), [[2.0], [3.0]]
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.float32, [None, 2], name="x")
        w = v1.get_variable("w", [2, 1], initializer=v1.ones_initializer())
        y = v1.cond(v1.reduce_sum(x) > 0.0, lambda: v1.matmul(x, w), lambda: x[:, :1] * 0.5, name="y")
        v1.square(y, name="square")
    found = graph if given == "graph" else graph.as_graph_def()
    path = tf.io.write_graph(found, str(tmp_path / "folder"), "graph.pbtxt")
    definition = theirs.compat.v1.GraphDef()
    Library("google.protobuf.text_format").Parse(Path(path).read_text(), definition)
    nodes = {node.name: node for node in definition.node}
    assert (nodes["square"].op, list(nodes["square"].input), nodes["w"].op) == ("Square", [y.op.name], "VarHandleOp")
    assert [size.size for size in nodes["x"].attr["shape"].shape.dim] == [-1, 2]
    with theirs.Graph().as_default() as imported, theirs.compat.v1.Session() as session:
        theirs.graph_util.import_graph_def(definition, name="")
        handle = imported.get_tensor_by_name("w:0")
        session.run(theirs.raw_ops.AssignVariableOp(resource=handle, value=value))
        assert session.run("square:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[25.0]]
        assert session.run("square:0", {"x:0": [[-1.0, 0.5]]}).tolist() == [[0.25]]
    assert len(definition.library.function) == 2 + (given == "graph")  # the branches, and Dovetail's document
    assert [file.name for file in (tmp_path / "folder").iterdir()] == ["graph.pbtxt"]


def test_gradients_are_overridden_while_a_definition_is_imported(graph):
    @tf.RegisterGradient("TwiceForCompat")
    def _(op, g):
        return 2.0 * g

    definition = graph.as_graph_def()
    v1.global_variables_initializer().run()
    with v1.Graph().as_default() as other:
        x = v1.placeholder(v1.float32, [1, 2], name="input")
        with other.gradient_override_map({"Relu": "TwiceForCompat"}):
            (y,) = tf.import_graph_def(definition, {"x:0": x}, ["y:0"], name="")
        assert run(other, v1.gradients(y, x)[0], input=[[-1.0, 0.0]]) == [[4.0, 8.0]]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ApproxTopK", {"input": np.float32([[3, 1, 2]]), "k": 2}),
        ("ApproxTopK", {"input": np.float32([[3, 1, 2]]), "k": 1, "reduction_dimension": -1, "is_max_k": True}),
        ("DenseBincount", {"input": np.int32([1, 3, 1]), "size": np.int32(5), "weights": np.float32([])}),
        ("DenseBincount", {"input": np.int32([[1, 1]]), "size": np.int32(3), "weights": np.float32([[2, 3]])}),
        ("MatrixDiagPartV3", {"input": np.float32([[1, 2], [3, 4]]), "k": [-1, 0], "padding_value": np.float32(9)}),
    ],
)
def test_types_of_files_are_raw_ops(name, given, engine):
    ours, theirs = (getattr(library.raw_ops, name)(**given) for library in (tf, Library("tensorflow")))
    lists = [[*found] if isinstance(found, list | tuple) else [found] for found in (ours, theirs)]
    for one, other in zip(*lists, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), strict=True)


def test_raw_ops(engine):
    assert tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0], [4.0]]).numpy().tolist() == [[11.0]]
    assert tf.raw_ops.Sum(input=[[1.0, 2.0]], axis=1, keep_dims=True).numpy().tolist() == [[3.0]]
    assert tf.raw_ops.Relu(features=np.float32([-1, 2])).numpy().tolist() == [0.0, 2.0]
    with pytest.raises(TypeError, match=r"no argument 'c'.*takes x, y"):
        tf.raw_ops.AddV2(x=1.0, c=2.0)
    with pytest.raises(TypeError, match=r"no argument 'x'.*takes input, size, weights, binary_output"):
        tf.raw_ops.DenseBincount(x=[1], size=2, weights=[])


@tf.RegisterGradient("EditorsGuided")
def _(op, g):
    return tf.where(tf.logical_and(g > 0.0, op.outputs[0] > 0.0), g, tf.zeros_like(g))


def test_gradients_by_type_while_building_on_a_graph_that_is_there_and_imported(engine):
    """Check guided backpropagation.

    The gradient of relu(x) · [1, -1, 1] at [1, 2, -3] is then [1, 0, 0], and without it [1, -1, 0].
    """

    def net(x):
        loop = tf.while_loop(lambda i, h: i < 1, lambda i, h: (i + 1, tf.nn.relu(h)), (0, x))[1]
        return loop * tf.constant([1.0, -1.0, 1.0])

    def found(y, x):
        return v1.Session(graph=y.graph).run(v1.gradients(y, x)[0], {x: [1.0, 2.0, -3.0]}).tolist()

    override = {"Relu": "EditorsGuided"}
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.float32, [3], name="x")
        plain = tf.identity(net(x), name="plain")
        with graph.gradient_override_map(override):
            guided = net(x)
    definition = graph.as_graph_def()
    assert (found(plain, x), found(guided, x)) == ([1.0, -1.0, 0.0], [1.0, 0.0, 0.0])
    assert graph.override_gradients(override, within=ge.get_backward_walk_ops(plain)) == 1
    assert found(plain, x) == [1.0, 0.0, 0.0]
    with v1.Graph().as_default() as other:
        z = v1.placeholder(v1.float32, [3], name="z")
        with other.gradient_override_map(override):
            (imported,) = v1.import_graph_def(definition, {"x:0": z}, ["plain:0"])
        (after,) = v1.import_graph_def(definition, {"x:0": z}, ["plain:0"], name="after")
    assert (found(imported, z), found(after, z)) == ([1.0, 0.0, 0.0], [1.0, -1.0, 0.0])
