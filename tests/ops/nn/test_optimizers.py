"""Steps of optimizers: against the formula, whatever lies in memory in another order, and as programs that train."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def formula(variable, gradient, mean, square_mean, rate, beta_1, beta_2, epsilon):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square_mean = beta_2 * square_mean + (1 - beta_2) * gradient**2
    return variable - rate * mean / (np.sqrt(square_mean) + epsilon), mean, square_mean


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_adam_is_its_formula(engine, rng, dtype):
    given = [rng.uniform(0.5, 2, (40, 30)).astype(dtype) for _ in range(4)]
    numbers = 0.3, 0.8, 0.95, 0.01
    expected = formula(*(np.asarray(a, "float64") for a in given), *numbers)
    tolerance = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    for step in (ops.adam_step, dt.function(ops.adam_step)):
        for found, wanted in zip(step(*given, *numbers), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance)


def test_adam_of_a_gradient_that_is_transposed(engine, rng):
    """As gradients of kernels are, whose memory a kernel may not read as if it lay in rows."""
    variable, gradient, mean = (rng.normal(size=(40, 30)) for _ in range(3))

    @dt.function
    def step(gradient):
        return ops.adam_step(ops.transpose(variable.T), ops.transpose(gradient), mean, mean**2, 0.1)

    expected = formula(variable, gradient, mean, mean**2, 0.1, 0.9, 0.999, 1e-7)
    for found, wanted in zip(step(gradient.T), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)


@pytest.mark.parametrize("size", [3, 2000])
def test_adam_in_a_program_that_trains(engine, rng, size):
    """The steps are written into arrays that variables left; what was read before stays as it was."""
    start, wanted = rng.normal(size=size), rng.normal(size=size)
    variable, mean, square_mean = slots = [dt.Variable(v) for v in (start, np.zeros(size), np.zeros(size))]

    @dt.function
    def train(rate):
        after = ops.adam_step(variable, 2 * (variable - wanted), mean, square_mean, rate)
        for slot, value in zip(slots, after, strict=True):
            slot.assign(value)

    expected = [start, np.zeros(size), np.zeros(size)]
    for _ in range(5):
        before = variable.numpy()
        kept = before.copy()
        train(0.5)
        expected = formula(expected[0], 2 * (expected[0] - wanted), *expected[1:], 0.5, 0.9, 0.999, 1e-7)
        for slot, value in zip(slots, expected, strict=True):
            np.testing.assert_allclose(slot.numpy(), value, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(before, kept)


@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_adam_of_shapes_that_differ(wrong):
    given = [np.ones((2, 3), "float32") for _ in range(4)]
    given[wrong] = np.ones((2, 1), "float32")
    with pytest.raises(ValueError, match=r"AdamStep.*shape"):
        ops.adam_step(*given, 0.1)
    with pytest.raises(ValueError, match="AdamStep"):
        ops.adam_step(*given[:1] * 4, [0.1])
