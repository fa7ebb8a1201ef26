"""Specialising to shapes."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.transplant import copy_graph
from dovetail.passes.prune import prune
from dovetail.passes.specialize import check_static, specialize
from tests.graph.random_graphs import COLUMNS, ROWS
from tests.passes.checks import keeps_random_graphs, optimized, traced, types

test_random_graphs = keeps_random_graphs(lambda graph: specialize(graph, [(ROWS, COLUMNS)] * 2))


def at(*shapes):
    return [lambda graph: specialize(graph, shapes), prune]


def all_static(graph):
    return all(t.spec.is_static for part in (*graph.subgraphs(), graph) for op in part.operations for t in op.outputs)


def test_arithmetic_with_shapes_vanishes():
    def function(x):
        rows, columns = ops.shape(x)[0], ops.shape(x)[1]
        y = ops.reshape(x, (rows * columns // 2, 2))
        return ops.broadcast_to(ops.sum(y, 0), (rows, 2)) / ops.cast(rows, "float32")

    graph = copy_graph(traced(function, dt.spec((None, None))))
    specialize(graph, [(3, 4)])
    prune(graph)
    graph.validate()
    assert all_static(graph)
    assert types(graph) == ["Reshape", "Sum", "BroadcastTo", "RealDiv"]


def test_a_tensor_of_any_rank():
    graph = dt.Graph()
    graph.outputs = [ops.tanh(graph.placeholder(dt.spec(None))) * 2.0]
    specialize(graph, [(2, 3)])
    assert graph.outputs[0].shape == (2, 3)


def test_composites_are_inferred_again():
    graph = optimized(lambda x: ops.softmax(ops.expand_dims(x, 0)), dt.spec((None, 3)), by=at((2, 3)))
    assert all_static(graph)


def test_branches_and_loops():
    def function(x):
        doubled = ops.cond(ops.sum(x) > 0, lambda: x * 2.0, lambda: ops.reshape(x, ops.shape(x)))
        carry, rows = ops.scan(lambda c, row: (c + row, ops.concatenate([c, row], 0)), ops.zeros((3,)), doubled)
        (last,) = ops.while_loop(lambda c: ops.sum(c) < 100.0, lambda c: (ops.exp(c) + ops.mean(rows),), (carry,))
        return last, rows

    graph = copy_graph(traced(function, dt.spec((None, 3))))
    specialize(graph, [(5, 3)])
    prune(graph)
    graph.validate()
    assert all_static(graph)
    assert [t.shape for t in graph.outputs] == [(3,), (5, 6)]


@pytest.mark.skipif("jax" not in dt.list_engines(), reason="jax is not installed")
def test_jax_runs_open_signatures():
    @dt.function(input_signature=[dt.spec((None, 3))])
    def function(x):
        return ops.mean(ops.reshape(x, (ops.shape(x)[0] * 3,))), x - ops.mean(x, 0)

    with dt.engine("jax"):
        for rows in (2, 5):
            x = np.arange(rows * 3, dtype="float32").reshape(rows, 3)
            mean, centred = function(x)
            np.testing.assert_allclose(mean.numpy(), x.mean(), rtol=1e-6)
            np.testing.assert_allclose(centred.numpy(), x - x.mean(0), rtol=1e-6)


def test_shapes_that_depend_on_values_are_refused():
    graph = traced(lambda x: ops.sum(x[x > 0]), dt.spec((4,)))
    with pytest.raises(ValueError, match=r"Where at test_specialize.py:\d+: the shape .* depends on the values"):
        check_static(graph, "jax")


def test_shapes_that_do_not_fit_are_refused():
    graph = copy_graph(traced(lambda x, y: x + y, dt.spec((None,)), dt.spec((None,))))
    with pytest.raises(ValueError, match=r"AddV2 at test_specialize.py:\d+"):
        specialize(graph, [(2,), (3,)])


def test_shapes_that_a_loop_keeps_for_another(engine):
    """Check that a value that all steps of a scan stack alike is known, as shapes for gradients are."""

    @dt.function(input_signature=[dt.spec((None, 2))])
    def kept(x):
        _, shapes = ops.scan(lambda carry, _: (carry, ops.shape(carry)), x, length=3)
        return ops.scan(lambda carry, shape: (carry + 1.0, ops.reshape(ops.reshape(carry, (-1,)), shape)), x, shapes)[1]

    x = np.arange(6, dtype="float32").reshape(3, 2)
    np.testing.assert_allclose(kept(x), np.stack([x, x + 1, x + 2]))
