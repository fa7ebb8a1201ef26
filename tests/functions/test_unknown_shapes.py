"""Shapes that depend on values, on engines that compile programs of known shapes: NumPy computes these operations."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import require

X = np.float32([1, -2, 3, 4])


def test_results_are_those_of_other_engines(engine):
    @dt.function
    def kept(x):
        positive = ops.boolean_mask(x, x > 0)
        return ops.sum(positive) * 2.0, positive, ops.exp(x)

    for x in (X, X[:3]):
        total, positive, grown = kept(x)
        assert float(total) == 2 * x[x > 0].sum() and positive.numpy().tolist() == x[x > 0].tolist()
        np.testing.assert_allclose(grown.numpy(), np.exp(x), rtol=1e-6)


def test_only_such_operations_are_moved():
    require("jax", "it needs known shapes")
    function = dt.function(lambda x: ops.sum(ops.boolean_mask(x, x > 0)) + ops.sum(ops.exp(x)), engine="jax")
    numpys = [s for s in function.plan(dt.spec((4,))).segments if s.engine.name == "numpy"]
    types = {op.type for s in numpys for op in s.graph.operations}
    assert "Where" in types and "Exp" not in types


def test_gradients_of_slices_whose_bounds_follow_from_a_shape(engine):
    @dt.function(input_signature=[dt.spec((None, 3))])
    def half(x):
        return x[: ops.shape(x)[0] // 2] * 2.0

    x = dt.Variable(np.ones((4, 3), "float32"))
    with dt.GradientTape() as tape:
        loss = ops.sum(half(x))
    assert tape.gradient(loss, x).numpy()[:, 0].tolist() == [2, 2, 0, 0]


def test_a_value_that_fits_no_variable_leaves_it_as_it_was(engine):
    """Check it in a plan, under a tape and under a probe; the shape is only known in the run."""
    v = dt.Variable(np.ones(3, "float32"))

    @dt.function(input_signature=[dt.spec((None,))])
    def step(x):
        v.assign(x * v[:1])
        return ops.sum(x * v)

    x = ops.convert(np.arange(3, dtype="float32"))
    step(x)
    for run in (step, step.taps()):
        with pytest.raises(ValueError, match=r"\[2\]|\(2,\)"):
            run(ops.convert(np.ones(2, "float32")))
    with dt.GradientTape() as tape:
        with pytest.raises(ValueError, match=r"\[2\]|\(2,\)"):
            step(ops.convert(np.ones(2, "float32")))
        tape.watch(x)
        y = step(x)
    np.testing.assert_array_equal(v.numpy(), [0, 0, 0])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [0, 0, 0], atol=1e-6)
