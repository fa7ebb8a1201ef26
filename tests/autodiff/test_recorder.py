"""Tapes while a graph is built: they follow eager Tensors wherever these come from and wherever they are used."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.ops.random import normal

X = np.array([1.0, 3.0, 5.0], "float32")
OUTSIDE = np.array([2.0, 4.0, 6.0], "float32")

SOURCES = {
    "zeros": lambda: ops.zeros((3,)),
    "constant": lambda: ops.constant([1.0, 2.0, 3.0]),
    "full": lambda: ops.full((3,), 2.0),
    "arange": lambda: ops.arange(3.0),
    "eye": lambda: ops.eye(3)[1],
    "random": lambda: normal(1, (3,)),
    "cast": lambda: ops.cast(np.arange(3), "float32"),
    "convert": lambda: ops.convert(OUTSIDE),
}

# The use that a loss makes of x and d → its gradient by d, as a function of x.
USES = {
    "directly": (lambda x, d: ops.sum(x * d), lambda x: x),
    "after an eager op": (lambda x, d: ops.sum(x * (d + 1.0)), lambda x: x),
    "in a composite": (lambda x, d: ops.mean_squared_error(x * 0.0, x * 0.0) + ops.sum(x * d), lambda x: x),
    "in a branch": (lambda x, d: ops.sum(ops.cond(x[0] > 0, lambda: d * x, lambda: x)), lambda x: x),
    "in a while loop": (
        lambda x, d: ops.sum(ops.while_loop(lambda i, _: i < 2, lambda i, s: (i + 1, s + d * x), (0, x))[1]),
        lambda x: 2 * x,
    ),
    "in a scan": (
        lambda x, d: ops.sum(ops.scan(lambda s, e: (s + e * d, None), ops.zeros((3,)), x)[0]),
        lambda x: np.full(3, x.sum()),
    ),
    "in a scan, after an eager op": (
        lambda x, d: ops.sum(ops.scan(lambda s, e: (s + e * (2.0 * d), None), ops.zeros((3,)), x)[0]),
        lambda x: np.full(3, 2 * x.sum()),
    ),
    "in a scan of a scan": (
        lambda x, d: ops.sum(
            ops.scan(
                lambda s, _: (ops.scan(lambda t, e: (t + e * d, None), s, x)[0], None), ops.zeros((3,)), np.zeros(2)
            )[0]
        ),
        lambda x: np.full(3, 2 * x.sum()),
    ),
}


def test_tensors_that_a_function_makes_are_followed_a1(engine):
    @dt.function
    def f(x):
        made = {name: make() for name, make in SOURCES.items()}
        with dt.GradientTape() as tape:
            tape.watch(made)
            y = ops.sum([ops.sum(x * (d + 1)) for d in made.values()])
        return tape.gradient(y, made)

    assert {name: g.numpy().tolist() for name, g in f(X).items()} == dict.fromkeys(SOURCES, X.tolist())


@pytest.mark.parametrize("use", USES)
def test_a_closed_over_tensor_is_followed_wherever_it_is_used_a1(engine, use):
    loss, expected = USES[use]
    d = ops.convert(OUTSIDE)

    @dt.function
    def inside(x):
        with dt.GradientTape() as tape:
            tape.watch(d)
            y = loss(x, d)
        return tape.gradient(y, d)

    compiled = dt.function(lambda x: loss(x, d))
    compiled.graph(X)  # traced while no tape records
    with dt.GradientTape() as tape:
        tape.watch(d)
        twice = compiled(X) + compiled(X)
    np.testing.assert_allclose(inside(X), expected(X), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(twice, d), 2 * expected(X), rtol=1e-6)


def test_the_function_of_a_graph_follows_what_the_graph_was_made_of_a1():
    d = ops.convert(OUTSIDE)
    graph = dt.function(lambda x: x * (d + 1)).graph(X)
    with dt.GradientTape() as tape:
        tape.watch(d)
        y = dt.function(graph)(X)
    assert tape.gradient(y, d).numpy().tolist() == X.tolist()


def test_jacobians_by_a_tensor_of_the_function_a1(engine):
    @dt.function
    def f(x):
        d = ops.zeros((3, 2))
        with dt.GradientTape(persistent=True) as tape:
            tape.watch(d)
            y = x[:, None] * (d + 1)
        return tape.jacobian(y, d), tape.batch_jacobian(y, d)

    whole, each = f(X)
    assert each.numpy().tolist() == [[[x, 0], [0, x]] for x in X]
    assert whole.numpy()[2, 1].tolist() == [[0, 0], [0, 0], [0, 5]]


def test_nested_tapes_in_a_loop_in_a_tape_a1(engine):
    d = ops.convert(np.float32(2))

    def step(s, e):
        with dt.GradientTape() as tape:
            tape.watch(d)
            y = e * d * d * d
        return s + tape.gradient(y, d), None

    @dt.function
    def f(x):
        with dt.GradientTape() as tape:
            tape.watch(d)
            first = ops.scan(step, ops.zeros(()), x)[0]
        return first, tape.gradient(first, d)

    assert [float(v) for v in f(X)] == [3 * 4 * 9, 6 * 2 * 9]


def test_what_a_custom_gradient_closes_over_a1(engine):
    d = ops.convert(np.float32(2))
    times = dt.custom_gradient(lambda x: (x * d, lambda g: g * (d * d)))

    @dt.function
    def f(x):
        with dt.GradientTape() as outer:
            outer.watch(d)
            with dt.GradientTape() as tape:
                tape.watch(x)
                y = times(x)
            found = tape.gradient(y, x)
        return outer.gradient(found, d)

    assert float(f(X)) == 2 * 2 * 3


def test_stop_recording_in_a_loop_a1(engine):
    d = ops.convert(np.float32(2))

    @dt.function
    def f(x):
        with dt.GradientTape() as tape:
            tape.watch(d)

            def step(s, e):
                with tape.stop_recording():
                    fixed = d * d
                return s + e * fixed, None

            y = ops.scan(step, ops.zeros(()), x)[0]
        return tape.gradient(y, d, unconnected_gradients="zero")

    assert float(f(X)) == 0


def test_gradients_in_a_graph_by_eager_tensors_a1(engine):
    graph = dt.Graph()
    x, d, other = graph.placeholder(dt.spec((3,)), "x"), ops.convert(OUTSIDE), ops.constant(1.0)
    y = ops.scan(lambda s, e: (s + e * d, None), ops.zeros((3,)), x)[0]
    found = dt.gradients(ops.sum(y * d), [d, other])
    assert found[1] is None
    graph.outputs = found[:1]
    graph.validate()
    np.testing.assert_allclose(dt.function(graph)(X), 2 * 9 * OUTSIDE, rtol=1e-6)


BODIES = {
    "map_fn": lambda f, xs: ops.sum(ops.map_fn(f, xs)),
    "cond": lambda f, xs: ops.cond(ops.constant(True), lambda: ops.sum(f(xs)), lambda: ops.constant(0.0)),
    "scan": lambda f, xs: ops.scan(lambda total, x: (total + f(x), x), ops.constant(0.0), xs)[0],
}


@pytest.mark.parametrize("body", BODIES)
def test_functions_in_bodies_are_followed_to_what_they_close_over(engine, body):
    """Check compiled functions whose captures were computed under the tape, before the loop's body was traced."""
    w, xs = dt.Variable(3.0), ops.constant([1.0, 2.0, 3.0])
    with dt.GradientTape() as tape:
        c = ops.constant(2.0)
        tape.watch([c, xs])
        square = c * c
        found = BODIES[body](dt.function(lambda x: x * square * w), xs)
    by_c, by_w, by_xs = tape.gradient(found, [c, w, xs])
    assert (found.item(), by_c.item(), by_w.item(), by_xs.tolist()) == (72, 72, 24, [12, 12, 12])


def test_several_ops_before_a_closure_are_followed_in_order(engine):
    """Check that a tape around the call goes back through `exp(tanh(d / 4))`, computed while the function is traced."""
    d = ops.convert(OUTSIDE)

    @dt.function
    def f(x):
        return ops.sum(x * ops.exp(ops.tanh(d * 0.25)))

    for _ in range(2):
        with dt.GradientTape() as tape:
            tape.watch(d)
            y = f(X)
        tanh = np.tanh(OUTSIDE / 4)
        expected = X * np.exp(tanh) * (1 - tanh**2) / 4
        np.testing.assert_allclose(tape.gradient(y, d).numpy(), expected, rtol=1e-4)
