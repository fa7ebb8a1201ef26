"""While loops that become scans, and those that stay."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.optimize import optimized_copy
from dovetail.passes.counted_loops import scan_counted_loops
from tests.passes.checks import optimized, traced, types

X, OPEN, STATE, W = dt.spec((5, 2, 3)), dt.spec((None, None, 3)), dt.spec((2, 3)), dt.spec((3, 3))
N = dt.spec((), "int32")


def row(stack, i, value):
    """A stack with another row."""
    return ops.slice_update(stack, [i, *[0] * value.ndim], ops.expand_dims(value, 0))


def counted(x, body, *first, until=None, start=0):
    """The last values of a loop over the rows of a tensor."""
    until = ops.shape(x)[0] if until is None else until
    return ops.while_loop(lambda i, *_: i < until, lambda i, *state: (i + 1, *body(i, *state)), (start, *first))


def last_state(x, h, w):
    return counted(x, lambda i, h: (ops.tanh(x[i] + h @ w),), h)


def all_states(x, h, w):
    def body(i, h, stack):
        h = ops.tanh(x[i] + h @ w)
        return h, row(stack, i, h)

    return counted(x, body, h, ops.zeros_like(x))


def along_the_middle(x, h, w):
    return counted(ops.transpose(x, (1, 0, 2)), lambda i, h: (x[:, i] + h,), x[:, 0])[1:]


def a_longer_stack(x, h, w):
    first = ops.zeros((0, 3))
    return counted(x, lambda i, rows: (ops.concatenate([rows, ops.mean(x[i], 0, keepdims=True)], 0),), first)


def with_numbers(x, h, w):
    """The number of the step counts, too; rows before the first step stay."""
    return counted(
        x, lambda i, h, s: (h + x[i], row(s, i, h * ops.cast(i, "float32"))), h, ops.ones_like(x), start=2, until=4
    )


def two_bounds(x, h, w):
    return ops.while_loop(
        lambda i, k, *_: (i < 4) & (k <= 30),
        lambda i, k, h, kept: (i + 1, k + 10, h + x[i] * kept, kept),
        (0, 0, h, w[0]),
    )


def a_limit(x, h, w):
    return ops.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, h + x[i]), (0, h), maximum_iterations=3)


def nested(x, h, w):
    def outer(i, h):
        return (counted(w, lambda k, h: (h * 0.5 + w[k],), h + x[i])[1],)

    return counted(x, outer, h)


def a_stack_that_is_read(x, h, w):
    return counted(x, lambda i, s: (row(s, i, s[0] + x[i]),), ops.zeros_like(x))


SCANNED = [
    last_state,
    all_states,
    along_the_middle,
    a_longer_stack,
    with_numbers,
    two_bounds,
    a_limit,
    nested,
    a_stack_that_is_read,
]


def everywhere(graph):
    return [name for part in (graph, *graph.subgraphs()) for name in types(part)]


NEEDS_SHAPES = [along_the_middle, a_stack_that_is_read]  # the shape of what they carry is that of `x`


@pytest.mark.parametrize("specs", [(X, STATE, W), (OPEN, STATE, W)], ids=["known", "open"])
@pytest.mark.parametrize("function", SCANNED)
def test_scanned(function, specs):
    """Where the shape of a carried value is not known, it may be another one in each step."""
    found = everywhere(optimized_copy(traced(function, *specs), get_engine("numpy")))
    is_scanned = "Scan" in found and "While" not in found
    assert is_scanned != (specs[0] is OPEN and function in NEEDS_SHAPES)


def until_it_is_large(x, h, w):
    return ops.while_loop(lambda i, h: ops.sum(h) < 9.0, lambda i, h: (i + 1, h + ops.absolute(x[i % 5]) + 1.0), (0, h))


def without_slices(x, h, w):
    return ops.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, h + x[0]), (0, h))


def a_counter_that_is_set(x, h, w):
    return ops.while_loop(lambda i, h: i < 5, lambda i, h: (ops.maximum(i + 1, 2), h + x[i]), (0, h))


def beyond_the_end(x, h, w):
    return counted(x, lambda i, s: (row(s, i, h),), ops.zeros_like(x)[:3])


def every_second_row(x, h, w):
    return ops.while_loop(lambda i, h: i < 5, lambda i, h: (i + 2, h + x[i]), (0, h))


def part_of_a_row(x, h, w):
    def body(i, s):
        return (ops.slice_update(s, [0, i, 0], ops.expand_dims(h, 0)),)

    return counted(x, body, ops.zeros_like(x), until=1)


LEFT = [
    until_it_is_large,
    without_slices,
    a_counter_that_is_set,
    beyond_the_end,
    every_second_row,
    part_of_a_row,
]


@pytest.mark.parametrize("function", LEFT)
def test_left_alone(function):
    graph = optimized(function, X, STATE, W, by=[scan_counted_loops])
    assert "While" in types(graph) and "Scan" not in types(graph)


def test_a_number_of_steps_that_depends_on_values_is_left_alone():
    graph = traced(lambda x, n: counted(x, lambda i, h: (h + x[i],), x[0], until=n), X, N)
    assert scan_counted_loops(graph) == 0


@pytest.mark.parametrize(
    ("function", "rows"), [*((function, 5) for function in SCANNED), (last_state, 0), (a_longer_stack, 0), (nested, 1)]
)
def test_values(function, rows, engine, rng):
    """Check loops against Python's, also without a step."""
    given = [rng.normal(size=shape).astype("float32") for shape in ((rows, 2, 3), (2, 3), (3, 3))]
    for ours, plain in zip(dt.function(function)(*given), function(*map(ops.convert, given)), strict=True):
        np.testing.assert_allclose(ours.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)


def test_effects_stay_in_their_order(engine):
    total = dt.Variable(np.zeros(3, "float32"))

    def function(x):
        def body(i, h):
            total.assign_add(x[i])
            return (h + total,)

        return counted(x, body, ops.zeros(3))[1]

    x = np.arange(12, dtype="float32").reshape(4, 3)
    np.testing.assert_allclose(dt.function(function)(x).numpy(), x.cumsum(0).sum(0))
    np.testing.assert_allclose(total.numpy(), x.sum(0))


def test_gradients(engine, rng):
    x, h, w = (rng.normal(size=spec.shape).astype("float32") for spec in (X, STATE, W))

    def step(x, h, w):
        with dt.GradientTape() as tape:
            tape.watch(w)
            loss = ops.sum(ops.square(all_states(x, h, w)[2]))
        return loss, tape.gradient(loss, w)

    given = [ops.convert(v) for v in (x, h, w)]
    for ours, plain in zip(dt.function(step)(*given), step(*given), strict=True):
        np.testing.assert_allclose(ours.numpy(), plain.numpy(), rtol=1e-4, atol=1e-5)
