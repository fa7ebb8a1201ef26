"""FLOPs and parameters before a run; the oracle is TensorFlow's profiler of graphs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def network(tf: Any) -> Any:
    """A graph of TensorFlow's names, with layers in scopes."""
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [8, 12, 12, 3])
        zeros = v1.zeros_initializer()
        with v1.name_scope("first"):
            y = tf.nn.conv2d(x, v1.get_variable("k", [3, 3, 3, 16], initializer=zeros), [1, 2, 2, 1], "SAME")
            y = tf.nn.bias_add(y, v1.get_variable("b", [16], initializer=zeros))
        with v1.name_scope("second"):
            d = v1.get_variable("d", [3, 3, 16, 2], initializer=zeros)
            y = tf.nn.relu(tf.nn.depthwise_conv2d(y, d, [1, 1, 1, 1], "VALID"))
            y = tf.nn.max_pool2d(y, 2, 2, "VALID") + tf.nn.avg_pool2d(y, 2, 2, "VALID")
        with v1.name_scope("last"):
            w = v1.get_variable("w", [128, 10], initializer=zeros)
            y = tf.nn.softmax(tf.matmul(tf.reshape(y, [8, -1]), w))
        tf.reduce_mean(y * y) - tf.reduce_sum(tf.square(y), 0)
    return graph


def counted(tf: Any, graph: Any, kind: str) -> tuple[int, int, list[int]]:
    """The floating-point operations, the parameters, and the operations of each node."""
    builder = tf.compat.v1.profiler.ProfileOptionBuilder
    options = builder(getattr(builder, kind)()).with_empty_output().build()
    found = tf.compat.v1.profiler.profile(graph, options=options)
    return found.total_float_ops, found.total_parameters, sorted(filter(None, nodes(found)))


def nodes(node: Any) -> Iterator[int]:
    yield node.float_ops
    for child in node.children:
        yield from nodes(child)


@pytest.mark.parametrize("kind", ["float_operation", "trainable_variables_parameter"])
def test_tensorflows_profiler_counts_the_same(kind):
    theirs = pytest.importorskip("tensorflow")
    ours = importlib.import_module("dovetail.compat.tensorflow")
    found, expected = (counted(tf, network(tf), kind) for tf in (ours, theirs))
    assert found == expected and any(expected)


def test_the_count_of_random_draws_is_no_parameter():
    from dovetail.compat.tensorflow.compat import v1

    with v1.Graph().as_default() as graph:
        v1.nn.dropout(v1.ones([2, 3]) @ v1.get_variable("w", [3, 4], initializer=v1.zeros_initializer()), rate=0.5)
    options = v1.profiler.ProfileOptionBuilder.trainable_variables_parameter() | {"output": "none"}
    assert v1.profiler.profile(graph, options=options).total_parameters == 12


def odd(tf: Any) -> Any:
    """A graph with an unknown batch, a variable that is not trained, one that nothing uses, and random numbers."""
    v1, graph = tf.compat.v1, tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, (None, 4))
        zeros = v1.zeros_initializer()
        x @ v1.get_variable("w", (4, 5), initializer=zeros)
        v1.get_variable("still", (3,), initializer=zeros, trainable=False) + 1.0
        v1.get_variable("unused", (7,))
    return graph


@pytest.mark.parametrize("kind", ["float_operation", "trainable_variables_parameter"])
def test_unknown_sizes_and_variables_count_as_in_tensorflow(kind):
    theirs = pytest.importorskip("tensorflow")
    ours = importlib.import_module("dovetail.compat.tensorflow")
    found, expected = (counted(tf, odd(tf), kind)[:2] for tf in (ours, theirs))
    assert found == expected and any(expected)


def test_models_of_files_are_counted(tmp_path):
    w = dt.Variable(np.ones((4, 5), "float32"))
    model = dt.function(lambda x: x @ w, input_signature=[dt.spec((None, 4))])
    dt.onnx.save(model, tmp_path / "x.onnx")
    dt.saved_model.save(model, tmp_path / "folder")
    loaded = dt.saved_model.load(tmp_path / "folder")
    for one in (dt.onnx.load(tmp_path / "x.onnx"), loaded, loaded.signature):
        assert dt.flops(one, dt.spec((2, 4))).total == 80
    known = dt.onnx.load(tmp_path / "x.onnx", shapes={"x": (1, 4)})
    assert dt.flops(known).total == 40


def test_the_profile_is_printed_written_and_refused(capsys, tmp_path):
    tf = importlib.import_module("dovetail.compat.tensorflow")
    graph, profiler = network(tf), tf.compat.v1.profiler
    profiler.profile(graph, cmd="op", options=profiler.ProfileOptionBuilder.float_operation())
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith("_TFProfRoot (") and "  MatMul (20,480 flops, 0 params)" in printed
    builder = profiler.ProfileOptionBuilder().with_file_output(str(tmp_path / "costs"))
    profiler.profile(graph, cmd="op", options=builder.build())
    assert (tmp_path / "costs").read_text() == printed and not capsys.readouterr().out
    with pytest.raises(NotImplementedError, match=r"dovetail\.profile"):
        profiler.profile(graph, cmd="code")


COSTS = {
    "product": (lambda x, y: x @ y, [(8, 16), (16, 4)], 2 * 8 * 16 * 4),
    "batches": (lambda x, y: x @ y, [(3, 8, 16), (16, 4)], 2 * 3 * 8 * 16 * 4),
    "einsum": (lambda x, y: ops.einsum("bij,bkj->bik", x, y), [(3, 8, 16), (3, 4, 16)], 2 * 3 * 8 * 16 * 4),
    "convolution": (lambda x, k: ops.conv(x, k, strides=2), [(1, 8, 8, 3), (3, 3, 3, 5)], 2 * 9 * 5 * 27),
    "pool": (lambda x: ops.average_pool(x, 3, 1), [(1, 5, 5, 2)], 9 * 2 * 9),
    "elementwise": (lambda x: ops.exp(x) + 1.0, [(2, 3)], 12),
    "composite": (lambda x: ops.softsign(x), [(10,)], 30),
    "sum": (lambda x: ops.sum(x, 0), [(10, 4)], 36),
    "data": (lambda x: ops.transpose(ops.reshape(x, (4, 10))), [(10, 4)], 0),
    "loop": (lambda x: ops.fori_loop(0, 7, lambda i, y: y * 2.0, x), [(5,)], 35),
}


@pytest.mark.parametrize("name", COSTS)
def test_costs(name):
    function, shapes, expected = COSTS[name]
    assert dt.flops(function, *map(dt.spec, shapes)).total == expected


def test_the_larger_branch_counts():
    found = dt.flops(lambda x: ops.cond(ops.sum(x) > 0, lambda: x @ x, lambda: x + 1.0), dt.spec((4, 4)))
    assert found.by_type()["If"]["flops"] == 2 * 4**3


def test_parameters_count_once_where_they_are_first_used():
    w = dt.Variable(ops.ones((3, 3)))
    found = dt.flops(lambda x: (x @ ops.transpose(w)) @ w, dt.spec((2, 3)))
    assert found.parameters == 9 and [row.parameters for row in found.rows if row.type == "MatMul"] == [9, 0]


def test_layers_types_and_pictures(tmp_path):
    w = dt.Variable(ops.ones((3, 4)))
    function = dt.function(lambda x: ops.tanh(x @ w))
    found = dt.flops(function, dt.spec((2, 3)))
    graph = function.graph(dt.spec((2, 3)))
    assert found.by_operation() == {"MatMul": {"flops": 48, "parameters": 12}, "Tanh": {"flops": 8, "parameters": 0}}
    graph.show(tmp_path / "graph.html", data=found.by_operation())
    assert '"flops"' in (tmp_path / "graph.html").read_text()
    assert str(found) == found.table("layer") and found.table("type").split()[-3:] == ["56", "12", "total"]
    with pytest.raises(ValueError, match="'layer', 'name' or 'type'"):
        found.table("line")


def test_refusals():
    with pytest.raises(ValueError, match="shapes are known"):
        dt.flops(lambda x: x + 1.0, dt.spec((None, 3)))
    with pytest.raises(TypeError, match="a function, a graph or a model"):
        dt.flops(3)


def test_the_comparison_in_random_numbers_counts_nothing():
    v1 = importlib.import_module("dovetail.compat.tensorflow").compat.v1
    with v1.Graph().as_default() as graph:
        v1.random_uniform([3, 4], 1.0, 2.0)
        x = v1.placeholder("float32", [5])
        v1.where(x < 2.0, x, x)
    options = v1.profiler.ProfileOptionBuilder.float_operation() | {"output": "none"}
    found = {one.name: one.total_float_ops for one in v1.profiler.profile(graph, cmd="op", options=options).children}
    assert found["Less"] == 5 and found["Mul"] == 12
