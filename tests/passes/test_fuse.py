"""Fusion."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.fuse import fuse
from dovetail.passes.prune import prune
from tests.passes.checks import optimized, traced, types

CLAIMED = {"FusedMatMul", "AddScaled", "LayerNormalization"}
X, Y = dt.spec((2, 3)), dt.spec((3, 4))


def fused_types(function, *specs, claimed=CLAIMED):
    return types(optimized(function, *specs, by=[lambda graph: fuse(graph, lambda op: claimed), prune], unknown=1))


@pytest.mark.parametrize(
    ("function", "specs", "expected"),
    [
        (lambda x, y, b: x @ y + b, [X, Y, dt.spec((4,))], ["FusedMatMul"]),
        (lambda x, y, b: b + x @ y, [X, Y, dt.spec((2, 4))], ["FusedMatMul"]),
        (lambda x, y: x - 0.1 * y, [X, X], ["AddScaled"]),
        (lambda x, y: x + y * 0.1, [X, X], ["AddScaled"]),
    ],
)
def test_fused(function, specs, expected):
    assert fused_types(function, *specs) == expected
    for claimed in ((), CLAIMED - set(expected)):
        assert expected[0] not in fused_types(function, *specs, claimed=claimed)


def _also_returns_the_product(x, y, b):
    product = x @ y
    return product + b, product


def _needs_the_product_elsewhere(x, y, b):
    product = x @ y
    return product + b, ops.exp(product)


@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (_also_returns_the_product, [X, Y, dt.spec((4,))]),
        (_needs_the_product_elsewhere, [X, Y, dt.spec((4,))]),
        (lambda x, y, b: x @ y + b, [dt.spec((2, 3), "int32"), dt.spec((3, 4), "int32"), dt.spec((4,), "int32")]),
        (lambda x, y, b: x @ y + b, [dt.spec((None, 3)), Y, dt.spec((None, 4))]),  # the bias may have more rows
        (lambda x, y, b: x @ y + b, [dt.spec((5, 2, 3)), Y, dt.spec((4,))]),  # more than matrices
        (lambda x, y, b: x @ y + b, [X, Y, dt.spec((5, 2, 4))]),  # the bias is wider than the product
        (lambda x, y, b: x @ y + b, [X, dt.spec((3, 1)), dt.spec((1, 5))]),  # the product is a column
        (lambda x, y, b: x @ y + b, [dt.spec((None, 3)), Y, dt.spec((5, 4))]),  # the product may be one row
        (lambda x, y: x - 0.1 * y, [dt.spec((3,)), X]),  # the first is narrower than the sum
        (lambda x, y: x - 2 * y, [dt.spec((3,), "int32")] * 2),
    ],
)
def test_left_alone(function, specs):
    assert not CLAIMED & set(fused_types(function, *specs))


@pytest.mark.parametrize("transposed", [(True, False), (False, True), (True, True)])
def test_transposed(transposed):
    """Check a bias as wide as the product, for each pair of transpositions."""
    x, y = (dt.spec((3, 2) if transposed[0] else (2, 3)), dt.spec((4, 3) if transposed[1] else (3, 4)))

    def function(x, y, b):
        return ops.matmul(x, y, *transposed) + b

    assert fused_types(function, x, y, dt.spec((1, 4))) == ["FusedMatMul"]


def spread(x, y, b, *shape):
    return ops.reshape(x @ y, shape) + b


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_a_bias_along_the_last_axes_of_a_product_that_is_reshaped(shape):
    b = dt.spec(shape)
    assert fused_types(lambda x, y, b: spread(x, y, b, 1, 2, *shape), X, Y, b)[-2:] == ["FusedMatMul", "Reshape"]


@pytest.mark.parametrize("shape", [(2,), (1, 2), (2, 1, 2)])
def test_a_bias_along_other_axes(shape):
    assert "FusedMatMul" not in fused_types(lambda x, y, b: spread(x, y, b, 2, 2, 2), X, Y, dt.spec(shape))


def test_a_reshaped_product_with_another_use():
    def function(x, y, b):
        product = x @ y
        return ops.reshape(product, (2, 2, 2)) + b, ops.exp(product)

    assert "FusedMatMul" not in fused_types(function, X, Y, dt.spec((2, 2)))


def normalized(x, gamma, beta, axis=-1, epsilon=1e-3):
    """A layer normalization as Keras composes it."""
    mean = ops.mean(x, axis, keepdims=True)
    factor = ops.rsqrt(ops.mean(ops.square(x - mean), axis, keepdims=True) + epsilon) * gamma
    return x * factor + (-mean * factor + beta)


@pytest.mark.parametrize(
    ("shape", "parameters", "axis"),
    [((2, 3, 4), (4,), -1), ((2, 3, 4), (1, 1, 4), 2), ((2, 3, 4), (1, 3, 4), (1, 2)), ((2, 3, 4), (1, 3, 1), 1)],
)
def test_layer_normalization(shape, parameters, axis, engine, rng):
    specs = [dt.spec(s) for s in (shape, parameters, parameters)]
    found = fused_types(lambda x, g, b: normalized(x, g, b, axis), *specs)
    assert found[-1] == "LayerNormalization" and {*found[:-1]} <= {"Reshape"}
    x, gamma, beta = (rng.normal(size=spec.shape).astype("float32") for spec in specs)
    made = dt.function(lambda x, g, b: normalized(x, g, b, axis))(x, gamma, beta)
    wide, at = x.astype("float64"), {"axis": axis, "keepdims": True}
    expected = (wide - wide.mean(**at)) / np.sqrt(wide.var(**at) + 1e-3) * gamma + beta
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        (((2, 3, 4), (2, 1, 4), (4,)), -1),  # factors for each row
        (((2, 3, None), (1, 1, 1), (1, 1, 1)), -1),  # one factor for all
        (((2, 3, 4), (4,), (2, 3, 4)), -1),
    ],
)
def test_other_normalizations(shapes, axis):
    found = fused_types(lambda x, g, b: normalized(x, g, b, axis), *map(dt.spec, shapes))
    assert "LayerNormalization" not in found


def test_how_many_were_fused():
    graph = traced(lambda x, y, b: ops.exp(x @ y + b) - 0.5 * (x @ y), X, Y, dt.spec((4,)))
    assert fuse(graph, lambda op: CLAIMED) == 2
    assert fuse(graph, lambda op: CLAIMED) == 0


def test_numbers(engine, rng):
    x, y, b = (rng.normal(size=s).astype("float32") for s in ((2, 3), (3, 4), (4,)))
    found = dt.function(lambda x, y, b: ops.tanh(x @ y + b) - 0.25 * (x @ y))(x, y, b)
    np.testing.assert_allclose(found.numpy(), np.tanh(x @ y + b) - 0.25 * (x @ y), rtol=1e-5, atol=1e-6)
