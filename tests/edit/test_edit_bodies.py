"""Edits of graphs with shapes that are tensors, and with loops: they update the shapes and the bodies."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import refused


def test_a_shape_that_is_a_tensor_is_inferred_again_a12(graph):
    x = graph.placeholder(dt.spec((None, 3)), "x")
    y = ops.reshape(x, ops.stack([ops.shape(x)[0], 3]))
    z = ops.transpose(y)
    graph.outputs = [ops.sum(z, 1)]
    assert (y.shape, z.shape) == ((None, 3), (3, None))
    y.op.replace_input(1, ops.stack([3, ops.shape(x)[0]]))
    assert (y.shape, z.shape, graph.outputs[0].shape) == ((3, None), (None, 3), (None,))
    graph.validate()
    value = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(dt.function(graph)(value).numpy(), value.reshape(3, 2).sum(0))


def test_edits_of_arithmetic_with_shapes_reach_the_shapes_a12(graph):
    """Check that shape values are updated, though the replaced tensor keeps its own shape and dtype."""
    x = graph.placeholder(dt.spec((2, 6)), "x")
    w = graph.placeholder(dt.spec((3, 4)), "w")
    two = graph.constant(np.array(2, "int32"))
    y = ops.broadcast_to(x[0, 0], ops.stack([ops.shape(w)[0] * two, graph.placeholder(dt.spec((), "int32"))]))
    z = ops.sum(y, 1)
    assert (y.shape, z.shape) == ((6, None), (6,))
    graph.replace_all_uses(two, graph.constant(np.array(3, "int32")))
    assert (y.shape, z.shape) == ((9, None), (9,))
    graph.replace_all_uses(w, graph.placeholder(dt.spec((7, 2)), "v"))
    assert (y.shape, z.shape) == ((21, None), (21,))
    graph.replace_all_uses(w, graph.placeholder(dt.spec((None, 2)), "u"))
    graph.validate()


@pytest.fixture
def loop(graph, x):
    """A scan over three rows, which captures a tensor: its operation, and that operation's inputs."""
    xs = graph.placeholder(dt.spec((2, 2, 3)), "xs")
    scale = graph.placeholder(dt.spec((3,)), "scale")
    last, rows = ops.scan(lambda s, row: (ops.tanh(s + row * scale), s), x, xs)
    graph.outputs = [last, rows]
    return last.op


def test_bodies_are_inferred_again_a11(engine, graph, loop):
    rows = graph.placeholder(dt.spec((2, 3)), "rows")
    loop.replace_input(1, rows)
    body = loop.attr("body")
    assert [t.shape for t in body.inputs] == [(2, 3), (3,), (3,)]
    graph.validate()
    x, scale, given = graph.inputs[0], graph.inputs[2], np.ones((2, 3), "float32")
    graph.outputs = dt.gradients(ops.sum(loop.outputs[0]), [scale])
    part = graph.subgraph(graph.outputs, [x, rows, scale])
    found = dt.function(part)(given, given, given[0])

    def eager(c):
        s = dt.ops.constant(given)
        for _ in range(2):
            s = ops.tanh(s + c)
        return ops.sum(s)

    with dt.GradientTape() as tape:
        c = ops.constant(given[0])
        tape.watch(c)
        loss = eager(c)
    np.testing.assert_allclose(found.numpy(), tape.gradient(loss, c).numpy(), rtol=1e-5)


def test_loops_and_branches_refuse_what_their_bodies_cannot_take_a11(graph, x, loop):
    wide = graph.placeholder(dt.spec((2, 4)), "wide")
    refused(graph, ValueError, lambda: loop.replace_input(1, wide), "broadcast")
    refused(graph, ValueError, lambda: loop.replace_input(2, wide), "broadcast")
    refused(graph, ValueError, lambda: loop.replace_input(0, graph.inputs[2]), "carries")
    row = ops.exp(x)
    chosen = ops.cond(ops.sum(x) > 0, lambda: row * 2.0, lambda: ops.exp(row))
    total = ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s + row,), (x,))[0]
    vector = graph.inputs[2]
    refused(graph, ValueError, lambda: graph.replace_all_uses(x, wide), "broadcast")
    chosen.op.replace_input(1, vector)
    assert [chosen.op.attr(name).outputs[0].shape for name in ("then_branch", "else_branch")] == [(3,), (3,)]
    assert chosen.shape == (3,)
    total.op.replace_input(1, vector)
    assert total.op.attr("condition").inputs[1].shape == total.op.attr("body").inputs[1].shape == (3,)
    graph.validate()


def test_what_a_loop_carries_becomes_wider_a11(graph, loop):
    """Check an edit after which the body does not keep the number of rows."""
    loop.replace_input(0, graph.placeholder(dt.spec((1, 3)), "one"))
    loop.replace_input(1, graph.placeholder(dt.spec((2, 5, 3)), "xs"))
    body = loop.attr("body")
    assert [t.shape for t in body.inputs] == [(None, 3), (5, 3), (3,)]
    assert [t.shape for t in loop.outputs] == [(None, 3), (2, None, 3)]
    graph.validate()


def test_an_import_maps_the_input_of_a_loop_to_another_rank_a11(graph, x, loop):
    target = dt.Graph("target")
    rows, c = target.placeholder(dt.spec((2, 3)), "rows"), target.placeholder(dt.spec((2, 3)), "c")
    last, _ = target.import_graph(graph, {"xs": rows, "x": c})
    assert last.op.attr("body").inputs[1].shape == (3,)
    target.validate()
    wide = target.placeholder(dt.spec((2, 4)), "wide")
    refused(target, ValueError, lambda: target.import_graph(graph, {"xs": wide}), "broadcast")


def test_edits_inside_of_a_body_a11(engine, graph, x, loop):
    body = loop.attr("body")
    tanh = next(op for op in body.operations if op.type == "Tanh")
    with body.insert_after(tanh):
        half = tanh.outputs[0] * 0.5
    body.replace_all_uses(tanh.outputs[0], half)
    graph.validate()
    given = np.ones((2, 3), "float32")
    run = dt.function(graph)
    found = run(given, np.ones((2, 2, 3), "float32"), given[0])[0].numpy()
    np.testing.assert_allclose(found, np.tanh(np.tanh(2 * given) / 2 + 1) / 2, rtol=1e-5)
    body.outputs[0].op.replace_input(0, body.inputs[0])  # an edit of a body counts as one of the graph
    found = run(given, np.ones((2, 2, 3), "float32"), given[0])[0].numpy()
    np.testing.assert_allclose(found, given / 4, rtol=1e-5)


def test_edits_inside_of_a_body_that_the_loop_cannot_take_a11(graph, loop):
    body = loop.attr("body")
    state, row = body.inputs[:2]
    tanh = next(op for op in body.operations if op.type == "Tanh")
    with body.as_default():
        vector, ints = ops.sum(state, 0), ops.cast(state, "int32")
    refused(graph, ValueError, lambda: body.replace_all_uses(tanh.outputs[0], vector), "carries")
    refused(graph, TypeError, lambda: body.prune([ints, *body.outputs[1:]]), "int32")
    refused(graph, ValueError, lambda: body.prune(body.outputs[:1]), "1 results, not 2")
    refused(graph, ValueError, lambda: body.placeholder(dt.spec(()), "more"), "Scan.*provides the inputs")
    tanh.replace_input(0, state)
    body.prune()
    assert not row.is_used
    refused(graph, ValueError, lambda: body.remove(row.op), "Scan.*provides the inputs")


def test_a_loop_and_its_gradient_keep_their_own_bodies_a11(graph, x):
    """Check that they share one body until an edit of one of them needs another."""
    scale = graph.placeholder(dt.spec((3,)), "scale")
    y = ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s + scale,), (x,))[0]
    dt.gradients(y, x)
    gradient = next(op for op in graph.operations if op.type == "WhileGrad")
    assert gradient.attr("body") is y.op.attr("body")
    y.op.replace_input(1, graph.placeholder(dt.spec((1, 3)), "row"))
    assert gradient.attr("body").inputs[1].shape == (3,)
    assert y.op.attr("body").inputs[1].shape == (1, 3)
    graph.validate()
