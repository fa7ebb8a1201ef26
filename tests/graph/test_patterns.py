"""Patterns: what they match, and rewriting by them."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph.patterns import match, scalar_constant, uniform_constant, wildcards

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
