"""Gradients of control flow: taped, compiled, of compiled functions, of gradients, and for unknown dimensions."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine
from tests.ops.control.programs import agree, constants_alone, draw, gradient, prefix, programs, total
from tests.ops.table import finite_differences


@programs
def test_gradient(engine, function, shapes, rng):
    arrays = draw(rng, shapes)
    value = total(function)
    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(value(*map(ops.convert, new))), arrays)
    xs = [ops.convert(a) for a in arrays]
    calls = [gradient(value), gradient(dt.function(value))]
    if function is prefix or not current_engine().static_shapes:  # otherwise both are one program
        calls.append(dt.function(gradient(value)))
    if function is not prefix:
        open_dimensions = [dt.spec([None] * a.ndim, a.dtype) for a in arrays]
        calls.append(dt.function(gradient(value), input_signature=open_dimensions))
    for call in calls:
        agree(call(*xs), expected, 1e-5)


@programs
def test_gradient_of_gradient(engine, function, shapes, rng):
    arrays = draw(rng, shapes)

    def slope(*xs):
        return sum(ops.sum(g * g) for g in gradient(total(function))(*xs))

    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(slope(*map(ops.convert, new))), arrays)
    calls = [dt.function(gradient(slope))] if engine == "jax" else [gradient(slope), dt.function(gradient(slope))]
    for call in calls:
        agree(call(*map(ops.convert, arrays)), expected, 1e-4)


def test_big_loops_take_no_ages(engine):
    x = np.linspace(0, 1, 10_000)
    run = dt.function(gradient(lambda x: ops.scan(lambda c, t: (c * 0.999 + t * t, None), 0.0, x)[0]))
    run(ops.convert(x))
    start = time.perf_counter()
    (found,) = run(ops.convert(x))
    assert time.perf_counter() - start < 5
    agree([found], [2 * x * 0.999 ** np.arange(9_999, -1, -1)])


def test_what_depends_on_constants_alone_is_not_kept():
    graph = dt.function(gradient(total(constants_alone))).graph(np.ones((3, 2)), np.ones(2))
    forward, backward = (op for op in graph.operations if op.type == "Scan")
    assert len(forward.outputs) == 2  # the carry, and the stack of carries
    assert len(backward.args[1]) == 1  # only the stack of carries is sliced
    assert "Tanh" not in [op.type for op in backward.attr("body").operations]


def test_gradients_reach_variables_in_bodies(engine):
    w = dt.Variable(np.array([0.5, -0.3]), name="w")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def loss(x):
        return ops.sum(ops.scan(lambda c, t: (ops.tanh(c * w + t), None), ops.zeros_like(x[0]), x)[0])

    def train(x):
        with dt.GradientTape() as tape:
            y = loss(x)
        return tape.gradient(y, w)

    def of_compiled(x):
        with dt.GradientTape() as tape:
            y = dt.function(loss)(x)
        return tape.gradient(y, w)

    expected = train(ops.convert(x))
    agree([dt.function(train)(ops.convert(x)), of_compiled(ops.convert(x))], [expected, expected])


# loops whose gradient needs no value from any step: a function of the first carry, and its gradient
LINEAR = {
    "of slices that it does not use": (lambda c: ops.scan(lambda c, _: (c * 2.0, None), c, np.zeros(3))[0], 8),
    "of a number of steps": (lambda c: ops.scan(lambda c, _: (c * 2.0, None), c, length=3)[0], 8),
    "with results of each step": (lambda c: ops.sum(ops.scan(lambda c, _: (c * 2.0, c), c, np.zeros(3))[1]), 7),
    "with a number of steps, and results": (lambda c: ops.sum(ops.scan(lambda c, _: (c * 2.0, c), c, length=3)[1]), 7),
    "backwards": (lambda c: ops.scan(lambda c, _: (c * 2.0, None), c, np.zeros(3), reverse=True)[0], 8),
}


@pytest.mark.parametrize("case", LINEAR)
def test_loops_whose_gradient_needs_no_values(engine, case):
    function, slope = LINEAR[case]
    c = ops.convert(np.float64(5))
    for call in (gradient(function), dt.function(gradient(function)), gradient(dt.function(function))):
        agree(call(c), [np.float64(slope)])


def test_a_loop_that_replaces_what_it_carries_by_another_shape_has_gradients_of_the_first():
    graph = dt.Graph()
    x, n = graph.placeholder(dt.spec((2, 3)), "x"), graph.placeholder(dt.spec((None, None)), "n")
    start = x + 0.0 * ops.sum(n)
    result = ops.while_loop(lambda i, s: i < 1, lambda i, s: (i + 1, n * 2.0), (0, start))[1]
    gradient = dt.gradients(ops.sum(result), x)[0]
    assert gradient.eval({x: np.ones((2, 3)), n: np.ones((3, 2))}).tolist() == np.zeros((2, 3)).tolist()
