"""Scopes of devices: nesting, functions, copies, bodies, and their effect in a run."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.definition import definition_of, snapshot
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.compat.tf_graph.importing import import_definition


def placeholder(graph, name="x"):
    return graph.placeholder(dt.spec((2,)), name)


def test_scopes_of_devices_nest_and_none_closes_them(engine):
    graph = TensorFlowGraph()
    x = placeholder(graph)
    found = [ops.exp(x)]
    with graph.device("/job:worker/task:1"):
        found.append(ops.exp(x))
        with graph.device("/gpu:0"):
            found.append(ops.exp(x))
            with graph.device("/cpu:1"):
                found.append(ops.exp(x))
            with graph.device(None):
                found.append(ops.exp(x))
            with graph.device(""):
                found.append(ops.exp(x))
    found.append(ops.exp(x))
    assert [t.device for t in found] == [
        "", "/job:worker/task:1", "/job:worker/task:1/device:GPU:0", "/job:worker/task:1/device:CPU:1", "",
        "/job:worker/task:1/device:GPU:0", "",
    ]  # fmt: skip
    for value in dt.Session(graph).run(found, {x: [0.0, 1.0]}):  # whatever their device, they are computed here
        np.testing.assert_allclose(value, np.exp([0.0, 1.0]), rtol=1e-6)


def test_a_device_that_must_be_there(engine):
    graph = TensorFlowGraph()
    x = placeholder(graph)
    with graph.device("/device:TPU:3"):
        y = ops.exp(x, name="hot")
    with graph.device("/device:CPU:0"):
        z = ops.exp(x)
    strict = dt.Session(graph, allow_soft_placement=False)
    assert strict.run(z, {x: [0.0, 0.0]}).tolist() == [1.0, 1.0]
    with pytest.raises(
        ValueError, match=r"Exp at .*test_device_scopes.py:\d+: 'hot' is .* '/device:TPU:3', but .* has the devices"
    ):
        strict.run(y, {x: [0.0, 0.0]})
    with pytest.raises(ValueError, match="allow_soft_placement=True"):
        strict.run(y, {x: [0.0, 0.0]})
    assert dt.Session(graph).run(y, {x: [0.0, 0.0]}).tolist() == [1.0, 1.0]


def test_functions_say_the_device_of_each_operation():
    graph, seen = TensorFlowGraph(), []
    x = placeholder(graph)

    def choose(operation):
        seen.append((operation.type, operation.device, [t.name for t in operation.inputs]))
        return {"Exp": "/cpu:3", "Tanh": ""}.get(operation.type)

    with graph.device("/job:a"), graph.device(choose):
        assert ops.exp(x).device == "/job:a/device:CPU:3"
        assert ops.tanh(x).device == "/job:a"
        with graph.device("/gpu:5"):
            assert ops.exp(x).device == "/job:a/device:CPU:3"  # only the function's result counts, as in TensorFlow
            assert ops.tanh(x).device == "/job:a"
            assert ops.sin(x).device == "/job:a/device:GPU:5"
    assert seen[0] == ("Exp", "", ["x:0"]) and seen[2][1] == "/device:GPU:5"


def test_operations_beside_others():
    graph = TensorFlowGraph()
    x = placeholder(graph)
    with graph.device("/gpu:1"):
        a = ops.exp(x)
    b = ops.exp(x)
    with graph.device("/cpu:7"), graph.colocate_with(a):
        assert ops.tanh(x).device == "/device:GPU:1"
        with graph.device("/cpu:2"):
            assert ops.tanh(x).device == "/device:GPU:1"
        with graph.colocate_with(b.op):
            assert ops.tanh(x).device == "/device:GPU:1"
        with graph.colocate_with(b.op, ignore_existing=True):
            assert ops.tanh(x).device == ""
    with graph.device("/cpu:7"), graph.colocate_with(b):
        assert ops.tanh(x).device == ""
        with graph.device("/cpu:2"):
            assert ops.tanh(x).device == "/device:CPU:2"


@pytest.mark.parametrize(("device", "error"), [("/foo:0", ValueError), (3, TypeError), ("/cpu:0/gpu:0", ValueError)])
def test_what_is_no_device_is_refused_and_nothing_changes(device, error):
    graph = TensorFlowGraph()
    x = placeholder(graph)
    with graph.device("/gpu:0"):
        with pytest.raises(error), graph.device(device):
            pass
        y = ops.exp(x)
        with pytest.raises(ValueError, match="is no part of a device"):
            y.op.device = "/foo:1"
    assert y.device == "/device:GPU:0"
    y.op.device = "/cpu:0"
    assert y.device == "/device:CPU:0" and y.op.node_def.device == "/device:CPU:0"
    y.op.device = ""
    assert y.device == "" and y.op.node_def.device == ""


def test_bodies_and_gradients_are_for_the_device_of_what_they_belong_to(engine):
    graph = TensorFlowGraph()
    x = placeholder(graph)
    with graph.as_default(), graph.device("/gpu:0"):
        y = ops.while_loop(lambda v: ops.sum(v) < 10.0, lambda v: (v * 2.0,), (ops.exp(x),))[0]
    loop = y.op
    assert loop.device == "/device:GPU:0"
    assert {op.device for op in loop.body("body") if op.inputs} == {"/device:GPU:0"}
    (gradient,) = dt.gradients(y, [x])
    assert gradient.device == "/device:GPU:0"
    with graph.device("/cpu:0"):
        (gradient,) = dt.gradients(ops.exp(x), [x])
    assert gradient.op.device == "/device:CPU:0"
    np.testing.assert_allclose(dt.Session(graph).run(y, {x: [1.0, 1.0]}), np.exp([1.0, 1.0]) * 2, rtol=1e-6)


def test_copies_keep_devices_and_imports_take_the_scope_around():
    graph = TensorFlowGraph()
    x = placeholder(graph)
    with graph.device("/gpu:2"):
        y = ops.exp(x, name="y")
    graph.outputs = [ops.tanh(y, name="z")]
    for other in (copy.copy(graph), pickle.loads(pickle.dumps(graph)), snapshot(graph)):
        assert [other.get_operation(name).device for name in "yz"] == ["/device:GPU:2", ""]
    target = TensorFlowGraph()
    with target.device("/job:b/cpu:9"):
        found = import_definition(target, snapshot(graph), {}, ["y", "z"], "import")
    assert [op.device for op in found] == ["/job:b/device:GPU:2", "/job:b/device:CPU:9"]
    assert [node.device for node in definition_of(target).node if node.op == "Tanh"] == ["/job:b/device:CPU:9"]
