"""Patterns: what they match, and rewriting by them."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph.patterns import match, scalar_constant, uniform_constant, wildcards
from tests.graph.random_edits import dump

x, y = wildcards("x y")


@pytest.fixture
def graph():
    return dt.Graph("test")


@pytest.fixture
def a(graph):
    return graph.placeholder(dt.spec((2, 3)), "a")


def test_a_wildcard_is_the_same_everywhere(a):
    b = ops.tanh(a)
    assert match(x + x, a + a)[x] is a
    assert match(x + x, a + b) is None
    found = match(x + y, a + b)
    assert (found[x], found[y], found.op.type) == (a, b, "AddV2")


def test_commutative_ops_match_in_any_order(a):
    b = ops.tanh(a)
    assert match(ops.tanh(x) + y, a + b)[y] is a
    assert match(ops.tanh(x) - y, a - b) is None
    assert match(ops.tanh(x) * ops.tanh(y), b * a) is None


def test_numbers_stand_for_scalar_constants(a):
    assert match(x * 2, 2.0 * a)[x] is a
    assert match(x * 2, a * 3) is None
    assert match(x * 2, a * np.full((2, 3), 2, "float32")) is None


def test_static_arguments_must_be_equal_or_are_bound(a):
    by_axis = ops.sum(x, axis=y)
    assert match(by_axis, ops.sum(a, axis=1))[y] == 1
    assert match(ops.sum(x, axis=0), ops.sum(a, axis=1)) is None
    assert match(ops.transpose(x, (1, 0)), ops.transpose(a, [1, 0])) is not None
    assert match(ops.matmul(x, y), ops.matmul(a, a, transpose_b=True)) is None


def test_wildcards_that_choose(a):
    small = wildcards("small", lambda t: t.ndim == 0)
    assert match(x * small, a * ops.sum(a)) is not None
    assert match(small * x, a * a) is None


def test_lists_of_tensors(a):
    b = ops.tanh(a)
    assert match(ops.stack((x, y)), ops.stack([a, b]))[y] is b
    assert match(ops.stack((x, y)), ops.stack([a, b, a])) is None


def test_constants(graph):
    assert scalar_constant(graph.constant(np.float32(0.5).reshape(()))) == 0.5
    assert scalar_constant(graph.constant(np.ones(1))) is None
    assert uniform_constant(graph.constant(np.full((2, 3), 7))).item() == 7
    assert uniform_constant(graph.constant(np.array([1, 2]))) is None
    assert uniform_constant(graph.constant(np.array([np.nan, np.nan]))) is None
    assert uniform_constant(graph.constant(np.zeros((0, 2)))) is None


def test_match_finds_every_place(graph, a):
    b = ops.tanh(ops.tanh(a) + 1)
    assert [found.tensor for found in graph.match(ops.tanh(x))] == [b.op.inputs[0].op.inputs[0], b]


def test_rewrite(graph, a):
    graph.outputs = [ops.tanh(ops.log(ops.exp(a)))]
    assert graph.rewrite(ops.log(ops.exp(x)), x) == 1
    assert graph.rewrite(ops.tanh(x), 2 * ops.sigmoid(2 * x) - 1) == 1
    graph.prune()
    graph.validate()
    assert graph.outputs[0].op.type == "Sub"
    assert "Tanh" not in [op.type for op in graph.operations]


def test_rewrite_by_a_function(graph, a):
    b = ops.exp(a)
    graph.outputs = [b, ops.exp(b)]
    first = next(graph.match(ops.exp(x))).op
    assert graph.rewrite(ops.exp(x), lambda found: None if found.op is first else ops.expm1(found[x])) == 1
    assert [t.op.type for t in graph.outputs] == ["Exp", "Expm1"]
    graph.validate()


def test_a_replacement_that_does_not_fit_is_refused(graph, a):
    graph.outputs = [ops.exp(a)]
    with pytest.raises(TypeError, match="cast it first"):
        graph.rewrite(ops.exp(x), lambda found: ops.cast(found[x], "int32"))
    graph.prune()
    assert [op.type for op in graph.operations] == ["Placeholder", "Exp"]


def test_nested_commutative_ops_match_in_any_order_b(graph, a):
    b = ops.tanh(a)
    pattern = (x + y) * x
    for tensor in ((a + b) * b, (b + a) * b, b * (a + b), b * (b + a)):
        found = match(pattern, tensor)
        assert (found[x], found[y]) == (b, a)
    assert match(pattern, (a + b) * ops.exp(a)) is None
    assert match(ops.maximum(x + y, y * 2), ops.maximum(b * 2, b + a))[y] is b


def test_constants_match_by_their_elements_b(graph, a):
    row = np.arange(3, dtype="float32")
    assert match(ops.add(x, [0, 1, 2]), a + row)[x] is a
    assert match(x * np.array([0.1, 0.2, 0.3]), a * np.array([0.1, 0.2, 0.3], "float32"))[x] is a
    assert match(x * 0.1, a * 0.1)[x] is a
    assert match(x + ops.constant(row), a + row)[x] is a
    assert match(x + np.arange(3), a + row[:1]) is None
    assert match(x + np.arange(3), a + (row + 1)) is None
    ints = ops.cast(a, "int32")
    assert match(x * 0.5, ints * 0) is None
    graph.prune([a + row])
    assert graph.rewrite(x + np.arange(3), x - np.arange(3)) == 1


def test_results_are_matched_by_number_b(graph, a):
    q, r = ops.qr(x)
    first, second = ops.qr(a)
    assert match(r, second)[x] is a
    assert match(r, first) is None
    assert [found.tensor for found in graph.match(r)] == [second]
    mean, variance = ops.moments(x, y)
    found = match((x - mean) / variance, (a - ops.moments(a, 0)[0]) / ops.moments(a, 0)[1])
    assert (found[x], found[y]) == (a, 0)
    assert match(ops.unstack(x, 2)[1], ops.unstack(a)[1])[x] is a
    assert repr(q), repr(r) == ("Qr(x, 'reduced')[0]", "Qr(x, 'reduced')[1]")
    with pytest.raises(TypeError, match="by its number"):
        list(ops.svd(x))
    with pytest.raises(IndexError, match="2 results"):
        ops.qr(x)[2]
    graph.outputs = [second]
    assert graph.rewrite(r, lambda found: ops.matmul(ops.qr(found[x])[0], found[x], transpose_a=True)) == 1
    graph.prune()
    graph.validate()


def test_axes_are_counted_from_either_end_b(graph, a):
    assert match(ops.sum(x, axis=-1), ops.sum(a, axis=1))[x] is a
    assert match(ops.sum(x, axis=1), ops.sum(a, axis=(-1,)))[x] is a
    assert match(ops.sum(x, axis=-1), ops.sum(a, axis=0)) is None
    assert match(ops.sum(x, axis=3), ops.sum(a, axis=1)) is None
    assert match(ops.softmax(x), ops.softmax(a, axis=1))[x] is a
    assert match(ops.stack((x, y), axis=-1), ops.stack([a, ops.exp(a)], axis=2))[x] is a
    assert match(ops.expand_dims(x, -1), ops.expand_dims(a, 2))[x] is a
    assert match(ops.transpose(x, (-1, 0)), ops.transpose(a, (1, 0)))[x] is a
    assert match(ops.sum(x, axis=y), ops.sum(a, axis=-1))[y] == -1


def test_what_a_rewrite_adds_takes_after_what_it_replaces_a13(graph, a):
    with graph.name_scope("layer"), graph.gradient_override_map({"Tanh": "Override"}):
        first = ops.print_tensor(a)
        with graph.control_dependencies([first.op]):
            old = ops.tanh(a)
    old.op.device, old.op.engine = "cpu:0", "numpy"
    with graph.control_dependencies([old.op]):
        later = ops.exp(a)
    graph.outputs = [old, later]
    assert graph.rewrite(ops.tanh(x), 2 * ops.sigmoid(2 * x) - 1) == 1
    new = graph.outputs[0].op
    added = [op for op in graph.operations if op.type in ("Sigmoid", "Sub", "Mul")]
    for op in added:
        assert op.name.startswith("layer/")
        assert (op.device, op.engine, op.overrides, op.where) == ("cpu:0", "numpy", old.op.overrides, old.op.where)
        assert op.control_inputs == (first.op,)
    assert later.op.control_inputs == (new,)
    graph.prune()
    graph.validate()
    assert first.op in graph


def test_a_rewrite_to_what_was_there_goes_on_waiting_a13(graph, a):
    first = ops.print_tensor(a)
    with graph.control_dependencies([first.op]):
        inner = -a
    graph.outputs = [-inner]
    assert graph.rewrite(ops.negative(-x), x) == 1
    graph.prune()
    assert [op.type for op in graph.operations] == ["Placeholder", "Print", "Identity"]
    assert graph.outputs[0].op.control_inputs == (first.op,)


def test_a_rewrite_that_is_refused_leaves_the_place_as_it_was(graph, a):
    graph.outputs = [ops.log(a) + np.ones((2, 3), "float32")]
    before = dump(graph)
    with pytest.raises(ValueError, match="broadcast"):
        graph.rewrite(ops.log(x), lambda found: ops.tile(ops.sin(found[x]), (1, 2)))
    assert dump(graph) == before
