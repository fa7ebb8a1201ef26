"""`recompute_grad`: the same gradients, with less kept for them."""

import numpy as np
import pytest

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
    """Check that a tape on recomputed blocks keeps their arguments, not the tensors inside."""
    x = ops.constant(np.ones((8,), "float32"))

    def block(x):
        for _ in range(20):
            x = ops.tanh(x)
        return x

    with dt.GradientTape() as tape:
        tape.watch(x)
        dt.recompute_grad(block)(x)
    assert len(tape.nodes) == 1


def slope(f, x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def with_a_gradient_inside(x):
    return ops.sum(ops.tanh(slope(lambda x: ops.sum(ops.exp(ops.tanh(x))), x)))


def nested(x):
    inner = dt.recompute_grad(lambda x: ops.sin(ops.tanh(x)))
    return ops.sum(ops.exp(inner(ops.tanh(inner(ops.exp(x))))))


def in_loops(x):
    return ops.sum(ops.scan(lambda h, _: (dt.recompute_grad(lambda h: ops.sin(ops.tanh(h)))(h), None), x, length=3)[0])


@pytest.mark.parametrize("program", [with_a_gradient_inside, nested, in_loops])
def test_what_is_computed_inside(engine, program):
    x = ops.constant([0.3, -0.5])
    expected = slope(program, x).numpy()
    again = dt.recompute_grad(program)
    for way in (again, dt.function(again)):
        np.testing.assert_allclose(slope(way, x).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(dt.function(lambda x: slope(again, x))(x).numpy(), expected, rtol=1e-5)


def test_edits_of_what_a_function_recorded(engine):
    """Check that a graph holds a recomputed block's operations as usual, and that edits of them change its gradient."""
    again = dt.recompute_grad(lambda x: ops.exp(ops.tanh(x)))
    graph = dt.function(lambda x: ops.sum(again(x))).graph(dt.spec((2,)))
    assert [op.recompute_group is not None for op in graph if op.inputs] == [True, True, False]
    run, x = dt.function(graph), ops.constant([0.3, -0.5])
    graph.override_gradients({"Tanh": "Identity"})
    np.testing.assert_allclose(slope(run, x).numpy(), np.exp(np.tanh([0.3, -0.5])), rtol=1e-5)
    graph.get_operation("Tanh").change(op="Sin")
    np.testing.assert_allclose(slope(run, x).numpy(), np.exp(np.sin([0.3, -0.5])) * np.cos([0.3, -0.5]), rtol=1e-5)


def test_assignments_are_done_once(engine):
    v, x = dt.Variable(1.0, name="v"), ops.constant(0.1)

    def block(x):
        v.assign_add(x)
        return ops.exp(ops.tanh(x * v))

    f = dt.function(lambda x: slope(dt.recompute_grad(block), x))
    expected = np.exp(np.tanh(0.11)) * (1 - np.tanh(0.11) ** 2) * 1.1
    np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-4)
    assert float(v) == np.float32(1.1)
