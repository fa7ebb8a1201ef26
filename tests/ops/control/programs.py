"""Programs with control flow, for the tests of control flow, its graphs and its gradients."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def branch(x):
    return ops.cond(ops.sum(x) > 0, lambda: ops.tanh(x) * 2, lambda: x * x)


def branch_of_one_input(x, y):
    """A branch of which one side uses y alone, the other neither."""
    return ops.cond(ops.sum(x) > 0, lambda: y * 3.0, lambda: ops.ones_like(y))


def recurrent(x, w, h):
    last, ys = ops.scan(lambda c, t: (ops.tanh(c @ w + t), c * t), h, x)
    return ops.sum(last) + ops.sum(ys * ys, axis=0)


def backwards(x, w, h):
    last, ys = ops.scan(lambda c, t: (ops.tanh(c @ w + t),) * 2, h, x, reverse=True)
    return ops.sum(last) + ys


def structured(x, y):
    def step(carry, slices):
        total = carry["total"] + slices[0] * slices[1]
        return {"total": total, "number": carry["number"] + 1}, (total, {"product": slices[0] * carry["total"]})

    init = {"total": ops.zeros_like(x[0]), "number": 0}
    last, (totals, more) = ops.scan(step, init, (x, y))
    return last["total"] * ops.cast(last["number"], x.dtype) + ops.sum(totals + more["product"], axis=0)


def powers(x):
    return ops.scan(lambda c, _: (c * x, c), ops.ones_like(x), length=4)[1]


def constants_alone(x, w):
    """A loop whose steps use tanh(w), which does not depend on the step."""
    return ops.scan(lambda c, t: (c * ops.tanh(w) + t, None), ops.zeros_like(x[0]), x)[0]


def newton(x):
    """Square roots by Newton's method, until they are exact enough."""

    def goes_on(i, y):
        return ops.sum((y * y - x) * (y * y - x)) > 1e-3

    return ops.while_loop(goes_on, lambda i, y: (i + 1, (y + x / y) / 2), (0, x))[1]


def newton_bounded(x):
    return ops.while_loop(lambda y: ops.sum(y) > 0, lambda y: (y + x / y) / 2, x, maximum_iterations=3)


def newton_to_a_limit(x):
    """The same with a limit that is known only when the loop begins."""
    limit = ops.cast(ops.sum(x * 0), "int32") + 3
    return ops.while_loop(lambda y: ops.sum(y) > 0, lambda y: (y + x / y) / 2, x, maximum_iterations=limit)


def counted(x, w):
    return ops.fori_loop(0, 3, lambda i, y: ops.tanh(y * w) + ops.cast(i, x.dtype), x)


def counted_dynamically(x, w):
    count = ops.cast(ops.sum(w * 0), "int32") + 3
    return ops.fori_loop(0, count, lambda i, y: ops.tanh(y * w), x)


def never(x):
    return ops.while_loop(lambda y: ops.sum(y) > 1e9, lambda y: y * y, x) * 2


def nested(x, w):
    """A scan in a cond in a while, with captures from all around."""

    def body(i, y):
        def total():
            return ops.scan(lambda c, t: (c * w + t * y, None), y, x)[0]

        return i + 1, ops.tanh(ops.cond(ops.sum(y) > 0, total, lambda: y - w))

    return ops.while_loop(lambda i, y: i < 3, body, (0, x[0]), maximum_iterations=5)[1]


def scan_in_scan(x, w):
    def outer(c, row):
        inner = ops.scan(lambda d, t: (d * ops.tanh(t) + w, d * t), c, row)
        return inner[0], ops.sum(inner[1])

    last, ys = ops.scan(outer, 0.5, x)
    return last * ys


def mapped(x, y):
    first, second = ops.map_fn(lambda pair: (pair[0] * pair[1], ops.sum(pair[0] * pair[0])), (x, y))
    return ops.sum(first) * second


def folded(x):
    return ops.foldl(lambda a, t: a * t + t, x) + ops.foldr(lambda a, t: a - a * t, x, ops.ones_like(x[0]))


def prefix(x):
    return ops.associative_scan(lambda a, b: a * b, x) + ops.associative_scan(lambda a, b: a + b, x, reverse=True)


def switched(x, y):
    rows = ops.switch(ops.sum(x, axis=1, keepdims=True) > 0, x, lambda: y * 2)
    return rows * ops.switch_case(1, [lambda: x, lambda: y, lambda: x * y])


PROGRAMS = [  # functions of float arrays, and the shapes of these
    (branch, [(2, 3)]),
    (branch_of_one_input, [(3,), (2,)]),
    (recurrent, [(4, 2, 3), (3, 3), (2, 3)]),
    (backwards, [(4, 2, 3), (3, 3), (2, 3)]),
    (structured, [(3, 2), (3, 2)]),
    (powers, [(2,)]),
    (constants_alone, [(3, 2), (2,)]),
    (newton, [(2,)]),
    (newton_bounded, [(2,)]),
    (newton_to_a_limit, [(2,)]),
    (counted, [(2,), (2,)]),
    (counted_dynamically, [(2,), (2,)]),
    (never, [(2,)]),
    (nested, [(2, 3), (3,)]),
    (scan_in_scan, [(2, 3), ()]),
    (mapped, [(3, 2), (3, 2)]),
    (folded, [(4, 2)]),
    (prefix, [(5, 2)]),
    (switched, [(3, 2), (3, 2)]),
]
programs = pytest.mark.parametrize(("function", "shapes"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])


def total(function):
    """The function's results, weighted and summed to one number."""

    def value(*xs):
        y = function(*xs)
        return ops.sum(y * ops.tanh(y + 1))

    return value


def gradient(function):
    def run(*xs):
        with dt.GradientTape() as tape:
            tape.watch(list(xs))
            y = function(*xs)
        return tape.gradient(y, list(xs), unconnected_gradients="zero")

    return run


def draw(rng, shapes):
    return [rng.uniform(0.4, 1.2, shape) for shape in shapes]


def agree(found, expected, tolerance=1e-9):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=tolerance, atol=tolerance)


def compiled(run):
    """A call of a compiled program with a vector and a truth."""
    return lambda: dt.function(run)(ops.convert([1.0, 2.0]), ops.convert(True))
