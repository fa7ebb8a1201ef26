"""Shapes after an edit: inference from new inputs, shape values, bodies of loops."""

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.test_edit import refused


def import_all(part):
    """A graph into which another one is imported with its inputs."""
    graph = dt.Graph("other")
    graph.outputs = graph.import_graph(part)
    return graph


def test_a_shape_of_unknown_length_stays_unknown(graph):
    x, shape = graph.placeholder(dt.spec((4,)), "x"), graph.placeholder(dt.spec((None,), "int32"), "shape")
    y = ops.reshape(x, shape)
    z = ops.tanh(y)
    y.op.replace_input(0, graph.placeholder(dt.spec((2, 3))))
    assert y.shape is z.shape is None
    shape.set_shape((3,))
    y.op.replace_input(0, graph.placeholder(dt.spec((5, 6))))
    assert y.shape == z.shape == (None, None, None)
    graph.validate()


def test_a_shape_has_the_one_length_that_an_operation_takes(graph):
    images = graph.placeholder(dt.spec((1, 1, 1, 1)))
    y = ops.overlap_add(images, graph.placeholder(dt.spec((3,), "int32")), (1,), (1,), (1,), "valid")
    other, longer = (graph.placeholder(dt.spec((n,), "int32"), "other") for n in (None, 4))
    y.op.replace_input(1, other)
    assert y.shape == (None, None, None)
    refused(graph, ValueError, lambda: y.op.replace_input(1, longer), "shape")


def test_what_was_known_of_a_shape_stays_known_where_it_is_given(graph, x):
    """Check a part that has the shape as an input, so that it does not see the shape's origin."""
    n = graph.placeholder(dt.spec((), "int32"), "n")
    shape = ops.stack([2, n])
    y = ops.reshape(x, shape)
    assert y.shape == (2, None)
    part = graph.subgraph([y], [x, shape])
    new = part.outputs[0]
    new.op.replace_input(0, part.placeholder(dt.spec((4, 3)), "z"))
    assert new.shape == (2, None)
    part.validate()


@pytest.mark.parametrize("move", [copy.copy, lambda part: pickle.loads(pickle.dumps(part)), import_all])
def test_what_is_known_of_a_shape_goes_with_the_tensor(graph, x, move):
    """Check that shape values move with the tensor.

    They belong to no operation that takes the tensor: equal operations on it give equal results.
    """
    shape = ops.stack([2, graph.placeholder(dt.spec((), "int32"), "n")])
    y = ops.reshape(x, shape)
    assert not y.op.attrs
    part = move(graph.subgraph([y], [x, shape]))
    open_x = part.placeholder(dt.spec((None, 3)), "open")
    with part.as_default():
        assert ops.reshape(open_x, part.inputs[1]).shape == ops.broadcast_to(1.0, part.inputs[1]).shape == (2, None)
    part.validate()


def test_what_is_known_of_a_shape_follows_other_constants(graph, x):
    two = graph.constant(np.array(2, "int32"))
    y = ops.reshape(x, ops.stack([two, graph.placeholder(dt.spec((), "int32"), "n")]))
    assert y.shape == (2, None)
    graph.replace_all_uses(two, graph.constant(np.array(3, "int32")))
    assert y.shape == (3, None)
    graph.validate()


def test_another_shape_forgets_what_was_known_of_the_first(graph, x):
    y = ops.reshape(x, ops.stack([2, graph.placeholder(dt.spec((), "int32"))]))
    y.op.replace_input(1, graph.placeholder(dt.spec((2,), "int32")))
    assert y.shape == (None, None)
    y.op.replace_input(1, ops.stack([1, 2, graph.placeholder(dt.spec((), "int32"))]))
    assert y.shape == (1, 2, None)
    graph.validate()


def test_what_is_computed_of_a_shape_is_followed_to_its_end(graph):
    """Check operations behind results whose own shapes stay, but not behind tensors that are no shapes."""
    x = graph.placeholder(dt.spec((2, 6)), "x")
    n = ops.shape(x)[1]
    y = ops.broadcast_to(1.0, ops.stack([ops.minimum(n, 4) + 1, n // 2, graph.placeholder(dt.spec((), "int32"))]))
    z = ops.sum(y, 2)
    assert z.shape == (5, 3)
    graph.replace_all_uses(x, graph.placeholder(dt.spec((2, 3)), "narrow"))
    assert z.shape == (4, 1)
    graph.replace_all_uses(graph.inputs[-1], graph.placeholder(dt.spec((2, None)), "open"))
    assert z.shape == (None, None)
    graph.validate()


def test_ranks_follow(graph):
    x = graph.placeholder(dt.spec((None, 3)), "x")
    y = ops.shape(ops.tanh(x))
    z = ops.reshape(x, y)
    graph.replace_all_uses(x, graph.placeholder(dt.spec(None), "any"))
    assert (y.shape, z.shape) == ((None,), None)
    graph.replace_all_uses(graph.inputs[-1], graph.placeholder(dt.spec((2, 3, 4)), "cube"))
    assert (y.shape, z.shape) == ((3,), (2, 3, 4))
    graph.validate()


def test_each_operation_that_follows_is_inferred_once(graph, monkeypatch):
    """Check that operations are inferred in program order, so that each has known inputs at its turn."""
    from dovetail.edit import inference

    x = graph.placeholder(dt.spec((2, 3)), "x")
    y = x
    for _ in range(12):
        y = y + ops.transpose(ops.transpose(y))
    seen = []
    monkeypatch.setattr(inference, "infer_again", lambda op, real=inference.infer_again: seen.append(op) or real(op))
    graph.replace_all_uses(x, graph.placeholder(dt.spec((5, 7))))
    assert y.shape == (5, 7)
    assert len(seen) == len(set(seen)) == 36


def test_an_edit_must_not_change_dtypes_or_the_number_of_results(graph, x):
    last, rows = ops.scan(lambda s, row: (s + row, ops.tanh(s)), x[0], x)
    graph.outputs = [last, rows]
    body = last.op.attr("body")
    ints = ops.cast(body.outputs[1], "int32")
    refused(
        graph,
        TypeError,
        lambda: body.prune([body.outputs[0], ints]),
        r"would have \['float32', 'int32'\], not .*; cast them",
    )
    refused(graph, ValueError, lambda: body.prune([*body.outputs, body.outputs[0]]), "3 results, not 2")
    parts = ops.unstack(x)
    tall = graph.placeholder(dt.spec((3, 3)), "tall")
    refused(graph, ValueError, lambda: parts[0].op.replace_input(0, tall), "3")


def test_integers_that_do_not_change_shapes_leave_bodies_shared(graph, x):
    """Check that a loop and its gradient share one body until an edit gives one of them other shapes."""
    n, m = (graph.placeholder(dt.spec((), "int32"), name) for name in "nm")
    y = ops.while_loop(lambda s: ops.sum(s) < 9.0, lambda s: (s * ops.cast(n, "float32"),), (x,))[0]
    dt.gradients(y, x)
    gradient = next(op for op in graph.operations if op.type == "WhileGrad")
    body = y.op.attr("body")
    graph.replace_all_uses(n, m)
    assert y.op.attr("body") is gradient.attr("body") is body
    graph.validate()


def test_a_body_that_nobody_shares_is_edited_where_it_is(graph, x):
    last = ops.scan(lambda s, row: (ops.tanh(s + row), None), x[0], x)[0]
    body = last.op.attr("body")
    last.op.replace_input(1, graph.placeholder(dt.spec((2, 1)), "xs"))
    last.op.replace_input(0, graph.placeholder(dt.spec((1,)), "start"))
    assert last.op.attr("body") is body
    assert body.inputs[0].shape == body.inputs[1].shape == last.shape == (1,)
    graph.validate()


def test_a_loop_over_what_has_no_known_rank(graph, x):
    last, rows = ops.scan(lambda s, row: (s + 1.0, ops.tanh(row)), 0.0, x)
    last.op.replace_input(1, graph.placeholder(dt.spec(None), "any"))
    assert last.op.attr("body").inputs[1].shape is None
    assert (last.shape, rows.shape) == ((), None)
    last.op.replace_input(1, x)
    assert rows.shape == (2, 3)
    graph.validate()


def test_a_failing_edit_gives_bodies_their_shapes_back(graph, x):
    last, rows = ops.scan(lambda s, row: (s + ops.sum(row), row), 0.0, x)
    ops.matmul(rows, graph.placeholder(dt.spec((3, 2)), "w"))
    wide = graph.placeholder(dt.spec((2, 4)), "wide")
    refused(graph, ValueError, lambda: last.op.replace_input(1, wide), "inner")
    assert last.op.attr("body").inputs[1].shape == (3,)


def test_an_import_gives_its_inputs_the_shapes_of_what_they_are_mapped_to(graph):
    source = dt.Graph("source")
    a = source.placeholder(dt.spec((None, 3)), "a")
    source.outputs = [ops.reshape(a, (ops.shape(a)[0] * 3,))]
    target = dt.Graph("target")
    (y,) = target.import_graph(source, {"a": target.placeholder(dt.spec((4, 3)), "b")})
    assert y.shape == (12,)
    assert source.outputs[0].shape == (None,)
    target.validate()
    np.testing.assert_array_equal(dt.function(target.subgraph([y], target.inputs))(np.ones((4, 3), "f4")), np.ones(12))


def test_what_a_loop_carries_gets_another_rank_where_the_body_takes_it(graph, x):
    last, seen = ops.scan(lambda s, row: (ops.tanh(s) * 2.0, s), x[0], x)
    last.op.replace_input(0, graph.placeholder(dt.spec((4, 5)), "matrix"))
    assert (last.shape, seen.shape, last.op.attr("body").inputs[0].shape) == ((4, 5), (2, 4, 5), (4, 5))
    last.op.replace_input(0, graph.placeholder(dt.spec(()), "number"))
    assert (last.shape, seen.shape) == ((), (2,))
    graph.validate()
