"""`recompute_grad`: the same gradients, with less kept for them."""

import numpy as np

import dovetail as dt
from dovetail import ops


def test_recompute(engine):
    w = dt.Variable([[0.5, -0.3], [0.2, 0.7]])
    runs = []

    def block(x, scale=1.0):
        runs.append(1)
        return {"y": ops.tanh(ops.matmul(x, w)) * scale, "x": x}

    def loss(f):
        def found(x):
            with dt.GradientTape() as outer:
                outer.watch(x)
                with dt.GradientTape() as tape:
                    tape.watch(x)
                    result = f(x, scale=2.0)
                    y = ops.sum(result["y"] * result["x"])
                slope = tape.gradient(y, [x, w])
                size = ops.sum(slope[0] * slope[0]) + ops.sum(slope[1])
            return [y, *slope, *outer.gradient(size, [x, w])]

        return found

    x = ops.constant([[0.1, 0.2]])
    expected = loss(block)(x)
    runs.clear()
    again = dt.recompute_grad(block)
    for way in (loss(again), dt.function(loss(again)), loss(dt.function(again))):
        for f, e in zip(way(x), expected, strict=True):
            np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-5, atol=1e-6)
    assert len(runs) > 3


def test_recompute_keeps_little():
    """A tape on recomputed blocks holds their arguments, not what is inside."""
    x = ops.constant(np.ones((8,), "float32"))

    def block(x):
        for _ in range(20):
            x = ops.tanh(x)
        return x

    with dt.GradientTape() as tape:
        tape.watch(x)
        dt.recompute_grad(block)(x)
    assert len(tape.nodes) == 1
