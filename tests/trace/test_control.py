"""Control flow in graphs: captures, promotion, joins and assignments of bodies and branches."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.ops.control.programs import agree, compiled


def test_branches_are_promoted_and_dimensions_joined(engine):
    pick = dt.function(
        lambda c, x: ops.cond(c, lambda: x, lambda: 1), input_signature=[dt.spec((), "bool"), dt.spec(())]
    )
    for condition, expected in ((True, 2.5), (False, 1.0)):
        found = pick(condition, 2.5)
        assert (found.dtype, float(found)) == ("float32", expected)
    if engine != "jax":  # jax needs to know every shape
        cut = dt.function(lambda c, x: ops.cond(c, lambda: x, lambda: x[1:]))
        assert cut.graph(ops.convert(True), np.zeros(3)).outputs[0].shape == (None,)
        assert cut(ops.convert(False), np.zeros(3)).shape == (2,)


def test_carried_dtypes_and_shapes_settle(engine):
    """Check that an integer 0 can start a sum of floats."""

    def run(x):
        halved = ops.while_loop(lambda n, _: n < 3, lambda n, y: (n + 1, y * 0.5), (0, 8))
        return ops.scan(lambda c, t: (c + t, None), 0, x)[0], halved

    for call in (run, dt.function(run)):
        total, (count, y) = call(ops.convert([1.5, 2.0]))
        assert (float(total), total.dtype, int(count), float(y), y.dtype) == (3.5, "float32", 3, 1.0, "float32")


def test_a_value_from_outside_is_added_twice_in_a_loop(engine):
    """Check sums that TensorFlow's optimizer of graphs makes empty arrays of."""
    x, b = np.ones((3, 4), "float32"), np.full(4, 0.5, "float32")
    calls = {
        "while_loop": lambda x, b: ops.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y + 1.5 + 1.5 + b + b), (0, x)
        )[1],
        "scan": lambda x, b: ops.scan(lambda c, e: (c + 1.5 + 1.5 + b + b, e + 1.5 + 1.5), x, x[:2])[0],
    }
    for name, call in calls.items():
        for found in (call(ops.convert(x), ops.convert(b)), dt.function(call)(x, b)):
            np.testing.assert_allclose(found.numpy(), x + 8, err_msg=name)


def test_branches_of_different_ranks(engine):
    mean = dt.function(
        lambda x: ops.mean(ops.cond(ops.size(x) > 0, lambda: x * 2.0, lambda: 0.0)),
        input_signature=[dt.spec((None, 2))],
    )
    assert float(mean(np.ones((3, 2), "float32"))) == 2.0
    assert float(mean(np.ones((0, 2), "float32"))) == 0.0


def test_variables_in_bodies_and_branches(engine):
    count, total = dt.Variable(0, name="count"), dt.Variable(np.zeros(2), name="total")

    def run(x):
        def step(carry, t):
            total.assign_add(t)
            ops.cond(ops.sum(t) > 0, lambda: count.assign_add(1).read(), lambda: count.read())
            return carry, total.read()

        return ops.scan(step, (), x)[1]

    x = np.array([[1.0, 2.0], [-3.0, 1.0], [4.0, 5.0]])
    for call in (run, dt.function(run)):
        count.assign(0)
        total.assign(np.zeros(2))
        agree([call(ops.convert(x)), total, count], [np.cumsum(x, axis=0), x.sum(0), 2])


def test_a_while_loop_assigns_what_its_condition_reads(engine):
    left = dt.Variable(3)

    def run(x):
        def body(y):
            left.assign_sub(1)
            return (y * 2,)

        return ops.while_loop(lambda y: left.read() > 0, body, (x,))[0]

    for call in (run, dt.function(run)):
        left.assign(3)
        assert (float(call(ops.convert(1.0))), int(left)) == (8, 0)


def test_captures_from_two_levels_up(engine):
    def run(x, y):
        z = x * 2

        def outer(c, t):
            return ops.cond(t > 0, lambda: ops.scan(lambda d, s: (d + s * z * y, None), c, x)[0], lambda: c - z), None

        return ops.scan(outer, ops.zeros_like(x), y)[0]

    args = ops.convert(np.array([1.0, 2.0])), ops.convert(np.array([1.0, -1.0]))
    agree([dt.function(run)(*args)], [run(*args)])


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda x, c: ops.scan(lambda a, t: (a[None], t), x, x), ValueError, "must have one rank"),
        (lambda x, c: ops.while_loop(lambda a: a > 0, lambda a: a, x), ValueError, "must be a scalar"),
        (lambda x, c: ops.cond(c, lambda: 1.0, 2.0), TypeError, "false_fn must be a function"),
    ],
)
def test_errors_of_traced_bodies(run, error, words):
    with pytest.raises(error, match=words):
        compiled(run)()


def test_a_condition_must_not_assign():
    v = dt.Variable(0)
    with pytest.raises(ValueError, match=f"assigns {v.name}"):
        dt.function(lambda x: ops.while_loop(lambda y: v.assign_add(1).read() < 3, lambda y: y, x))(1.0)


def test_orders_lengths_and_limits(engine):
    def run(x):
        backwards, rows = ops.scan(lambda s, e: (s * 2.0 + e, s), 0.0, x, reverse=True)
        counted = ops.scan(lambda s, _: (s + 1.0, None), 0.0, length=4)[0]
        limited = ops.while_loop(lambda s: s < 100.0, lambda s: s * 3.0, 1.0, maximum_iterations=2)
        return backwards, rows, counted, limited

    x = ops.convert(np.array([1.0, 2.0, 3.0], "float32"))
    agree(dt.function(run)(x), [np.float32(17.0), np.array([8.0, 3.0, 0.0]), np.float32(4.0), np.float32(9.0)])


def test_what_is_carried_assigned_sliced_captured_and_read_comes_in_this_order():
    assigned, read = dt.Variable(1.0, name="assigned"), dt.Variable(2.0, name="read")
    graph = dt.Graph()
    x, captured = graph.placeholder(dt.spec((3,)), "x"), graph.placeholder(dt.spec(()), "captured")

    def step(s, e):
        assigned.assign(s * read.read() + captured)
        return s + e, e * assigned.read()

    with graph.as_default():
        last, rows = ops.scan(step, 0.0, x)
    op = last.op
    init, xs, constants, body, *_ = op.args
    assert [t.op.name for t in init][1:] == ["assigned/Read"]
    assert [t.op.name for t in (*xs, *constants)] == ["x", "captured", "read/Read"]
    assert [t.op.name for t in body.inputs] == ["carry0", "assigned", "x0", "captured", "read"]
    assert (last.index, rows.index, len(body.outputs)) == (0, 2, 3)
    assert graph.operations[-1].inputs == [op.outputs[1]]
    graph.validate()


def test_branches_take_the_same_inputs_in_one_order():
    v = dt.Variable(1.0, name="v")
    graph = dt.Graph()
    x, y = (graph.placeholder(dt.spec(()), name) for name in "xy")

    def then_branch():
        v.assign(x)
        return y

    with graph.as_default():
        chosen = ops.cond(x > 0, then_branch, lambda: x * v.read())
    _, inputs, one, other = chosen.op.args
    assert [t.op.name for t in inputs] == ["v/Read", "x", "y"]
    assert [len(g.inputs) for g in (one, other)] == [3, 3]
    assert [len(g.outputs) for g in (one, other)] == [2, 2]
    assert other.outputs[0] is other.inputs[0]  # a branch that does not assign `v` passes its value on
    assert (one.is_traced, other.is_traced, one.outer) == (True, True, graph)
    graph.validate()


def test_control_flow_without_results(engine):
    v = dt.Variable(0.0, name="v")

    def run(x):
        ops.cond(x > 0, lambda: [v.assign_add(x), None][1], lambda: None)
        ops.scan(lambda s, e: ([v.assign_add(1.0), ()][1], None), (), length=3)
        return x

    dt.function(run)(np.float32(2.0))
    assert float(v) == 5
    dt.function(run)(np.float32(-2.0))
    assert float(v) == 8


def test_dtypes_of_branches_and_loops_are_those_of_both():
    graph = dt.Graph()
    x, n = graph.placeholder(dt.spec(()), "x"), graph.placeholder(dt.spec((), "int32"), "n")
    assert ops.cond(x > 0, lambda: n, lambda: x).dtype == "float32"
    assert ops.cond(x > 0, lambda: (n, 1), lambda: (n, 2.5))[1].dtype == "float32"
    assert ops.while_loop(lambda s: s < 3, lambda s: s * 0.5, n).dtype == "float32"
    last, rows = ops.scan(lambda s, e: (s + e, s), n, ops.stack([x, x]))
    assert (last.dtype, rows.dtype) == ("float32", "float32")
    test = ops.while_loop(lambda s: n, lambda s: s + 1, x).op.attr("condition")
    assert test.outputs[0].dtype == "bool"
    graph.validate()


def test_tapes_see_the_operation_and_not_what_is_in_it(engine):
    @dt.function
    def run(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.scan(lambda s, e: (s * e, None), 1.0, x)[0]
        return tape.gradient(y, x)

    agree([run(ops.convert(np.array([2.0, 3.0, 5.0], "float32")))], [np.array([15.0, 10.0, 6.0])])


def test_what_has_neither_results_nor_effects_is_not_recorded():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    before = len(graph)
    assert ops.scan(lambda s, e: ((), None), (), x)[1] is None
    assert "Scan" not in [op.type for op in graph.operations]
    ops.cond(x[0] > 0, lambda: None, lambda: None)
    assert "If" not in [op.type for op in graph.operations]
    assert len(graph) > before
