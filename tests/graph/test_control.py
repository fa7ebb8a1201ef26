"""Control flow in graphs: what bodies and branches capture, promote, join and assign."""

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
    if engine != "jax":  # which needs to know every shape
        cut = dt.function(lambda c, x: ops.cond(c, lambda: x, lambda: x[1:]))
        assert cut.graph(ops.convert(True), np.zeros(3)).outputs[0].shape == (None,)
        assert cut(ops.convert(False), np.zeros(3)).shape == (2,)


def test_carried_dtypes_and_shapes_settle(engine):
    """An integer 0 is a fine start for a sum of floats."""

    def run(x):
        halved = ops.while_loop(lambda n, _: n < 3, lambda n, y: (n + 1, y * 0.5), (0, 8))
        return ops.scan(lambda c, t: (c + t, None), 0, x)[0], halved

    for call in (run, dt.function(run)):
        total, (count, y) = call(ops.convert([1.5, 2.0]))
        assert (float(total), total.dtype, int(count), float(y), y.dtype) == (3.5, "float32", 3, 1.0, "float32")


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
