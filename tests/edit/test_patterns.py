"""Patterns: matching, and rewriting by them."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.edit.patterns import match, scalar_constant, uniform_constant, wildcards
from tests.edit.random_edits import dump

x, y = wildcards("x y")


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
    assert np.isnan(uniform_constant(graph.constant(np.array([np.nan, np.nan]))))
    assert uniform_constant(graph.constant(np.array([0.0, -0.0]))) is None
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


def test_tuples_of_other_lengths_and_none_do_not_match(a):
    cube = ops.stack([a, a])
    assert match(ops.transpose(x, (1, 0)), ops.transpose(a)) is None
    assert match(ops.transpose(x), ops.transpose(a, (1, 0))) is None
    assert match(ops.transpose(x, (1, 0)), ops.transpose(cube, (1, 0, 2))) is None
    assert match(ops.reshape(x, (3, 2)), ops.reshape(a, (3, 2)))[x] is a
    assert match(ops.reshape(x, (3, 2)), ops.reshape(a, (2, 3))) is None


def test_arrays_that_are_static_arguments(a):
    for widths in ([[1, 1], [0, 0]], np.array([[1, 1], [0, 0]])):
        assert match(ops.pad(x, widths, mode="reflect"), ops.pad(a, [[1, 1], [0, 0]], mode="reflect"))[x] is a
        assert match(ops.pad(x, widths, mode="reflect"), ops.pad(a, [[1, 0], [0, 0]], mode="reflect")) is None


def test_the_number_of_results_is_known_from_what_says_it(a):
    first, second = OPS["SplitV"](x, (1, 2), 1)
    found = OPS["SplitV"](a, (1, 2), 1)
    assert match(second, found[1])[x] is a
    assert match(first, found[1]) is None
    assert len(ops.unstack(x, 3)) == 3
    with pytest.raises(TypeError, match="as many results as its arguments say"):
        len(OPS["Unpack"](x, y, 0))
    third = OPS["Unpack"](x, y, 0)[2]
    assert match(third, ops.unstack(ops.transpose(a))[2]) is not None
    pair = ops.qr(x)
    assert [repr(r) for r in (pair[-1], *pair[:1])] == ["Qr(x, 'reduced')[1]", "Qr(x, 'reduced')[0]"]
    assert repr(pair) == "Qr(x, 'reduced')"
    assert repr(OPS["Unpack"](x, 1, 0)) == "Unpack(x, 1, 0)"


def test_who_waits_for_what_is_still_used_goes_on_waiting_for_it(graph, a):
    q, r = ops.qr(a)
    with graph.control_dependencies([q.op]):
        later = ops.exp(a)
    graph.outputs = [q, r, later]
    assert graph.rewrite(ops.qr(x)[1], lambda found: ops.matmul(q, found[x], transpose_a=True)) == 1
    assert later.op.control_inputs == (q.op,)
    graph.outputs = [graph.outputs[1], later]
    graph.validate()


def test_a_waiter_that_the_replacement_needs_does_not_wait_for_it(graph, a):
    old = ops.tanh(a)
    with graph.control_dependencies([old.op]):
        later = ops.exp(a)
    graph.outputs = [old, later]
    assert graph.rewrite(ops.tanh(x), lambda found: later * 2.0) == 1
    assert later.op.control_inputs == (old.op,)
    graph.validate()


def test_a_wildcard_for_static_values_is_the_same_everywhere(a):
    pattern = ops.sum(ops.cumsum(x, axis=y), axis=y)
    assert match(pattern, ops.sum(ops.cumsum(a, axis=1), axis=1))[y] == 1
    assert match(pattern, ops.sum(ops.cumsum(a, axis=1), axis=0)) is None
    assert match(ops.sum(x, axis=y) * y, ops.sum(a, axis=1) * ops.sum(a, axis=1)) is None  # a number is no tensor


def test_a_replacement_may_be_what_was_there(graph, a):
    graph.outputs = [ops.tanh(a)]
    assert graph.rewrite(ops.tanh(x), lambda found: found.tensor) == 0
    assert graph.rewrite(ops.tanh(x), lambda found: None) == 0
    assert graph.rewrite(ops.tanh(x) + 1, x) == 0


def test_what_another_pattern_made_meanwhile_is_matched(graph, a):
    """Check that operations that a replacement removed are no longer looked at."""
    graph.outputs = [ops.tanh(ops.tanh(a))]
    seen = []

    def replace(found):
        seen.append(found.op)
        graph.outputs = [a]
        graph.prune()

    assert graph.rewrite(ops.tanh(x), replace) == 0
    assert len(seen) == 1


def test_templates_with_lists_and_several_results(graph, a):
    graph.outputs = [ops.exp(a)]
    assert graph.rewrite(ops.exp(x), ops.sum(ops.stack((ops.qr(x)[1], x)), axis=0)) == 1
    (qr,) = (op for op in graph.operations if op.type == "Qr")
    (pack,) = (op for op in graph.operations if op.type == "Pack")
    assert pack.inputs == [qr.outputs[1], a]
    graph.validate()


def test_shapes_that_are_one_number_or_a_list(graph, a):
    ints = ops.cast(a, "int32")
    assert match(ops.reshape(x, 6), ops.reshape(a, (6,)))[x] is a
    assert match(ops.reshape(x, [3, 2]), ops.reshape(a, (3, 2)))[x] is a
    assert match(ops.reshape(x, (3, y)), ops.reshape(a, (3, 2)))[y] == 2
    assert match(ops.one_hot(x, 3), ops.one_hot(ints, 3))[x] is ints
    assert match(ops.one_hot(x, 3), ops.one_hot(ints, 4)) is None


def test_booleans_and_other_constants(graph, a):
    flags = graph.placeholder(dt.spec((2, 3), "bool"), "flags")
    assert match(ops.logical_and(x, True), ops.logical_and(flags, True))[x] is flags
    assert match(ops.logical_and(x, True), ops.logical_and(flags, False)) is None
    assert match(x * 2, a * ops.exp(a)) is None
    assert match(x * 2, a * np.array([2.0], "float32")) is None
    large = graph.constant(np.full((4096,), 3.0))
    assert uniform_constant(large).item() == 3
    assert uniform_constant(large).shape == ()
    assert uniform_constant(a) is scalar_constant(a) is None


def test_how_patterns_are_shown():
    assert repr(ops.exp(x) + 1) == "AddV2(Exp(x), 1)"
    assert [w.name for w in wildcards("a b c")] == ["a", "b", "c"]
    assert {x: 1, ops.exp(x): 2}[x] == 1


def test_one_pattern_cannot_be_unpacked():
    with pytest.raises(TypeError, match=r'write a = dovetail\.wildcards\("a"\)'):
        (_,) = wildcards("a")
    with pytest.raises(TypeError, match="one name gives a wildcard"):
        list(wildcards("a"))
    for pattern in (ops.exp(x), x + y, -x):
        with pytest.raises(TypeError, match=r"is the pattern of one tensor, which cannot be unpacked"):
            _, _ = pattern
    assert repr(ops.top_k(x, 2)[1]) == repr([*ops.top_k(x, 2)][1])  # an op with two results has two patterns


def test_axes_that_patterns_leave_open(graph, a):
    any_rank = graph.placeholder(dt.spec(None), "any")
    assert match(ops.sum(x, axis=0), ops.sum(any_rank, axis=0))[x] is any_rank
    assert match(ops.sum(x, axis=-1), ops.sum(any_rank, axis=0)) is None
    assert match(ops.sum(x, axis=-2), ops.sum(a, axis=0))[x] is a
    assert match(ops.sum(x, axis=(0, -1)), ops.sum(a, axis=(0, 1)))[x] is a
    assert match(ops.sum(x, axis=(0, 1)), ops.sum(a, axis=1)) is None
    assert match(ops.sum(x, axis=-3), ops.sum(a, axis=-1)) is None
    assert match(ops.sum(x), ops.sum(a))[x] is a
    assert match(ops.sum(x), ops.sum(a, axis=0)) is None
    assert match(ops.one_hot(x, 3, axis=-1), ops.one_hot(ops.cast(a, "int32"), 3, axis=2)) is not None
