"""Activations at the edges: huge and infinite inputs, NaN, kinks, halves, and their derivatives there."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

BIG = [-1e38, -1e20, -1e4, -100.0, -0.0, 0.0, 100.0, 1e4, 1e20, 1e38]


def big(below, above):
    """The limits of a function for the inputs `BIG`: functions of x below and above zero, and 0 at zero."""
    return [below(x) if x < 0 else above(x) if x > 0 else None for x in BIG]


def identity(x):
    return x


def constant(value):
    return lambda x: value


LIMITS = {  # name: (op, value for very negative and very positive x, derivative there)
    "relu": (ops.relu, big(constant(0), identity), big(constant(0), constant(1))),
    "relu6": (ops.relu6, big(constant(0), constant(6)), big(constant(0), constant(0))),
    "leaky_relu": (ops.leaky_relu, big(lambda x: 0.2 * x, identity), big(constant(0.2), constant(1))),
    "elu": (ops.elu, big(constant(-1), identity), big(constant(0), constant(1))),
    "selu": (
        ops.selu,
        big(constant(-1.7580993), lambda x: 1.0507 * x),
        big(constant(0), constant(1.0507)),
    ),
    "softplus": (ops.softplus, big(constant(0), identity), big(constant(0), constant(1))),
    "softsign": (ops.softsign, big(lambda x: x / (1 - x), lambda x: x / (1 + x)), big(constant(0), constant(0))),
    "sigmoid": (ops.sigmoid, big(constant(0), constant(1)), big(constant(0), constant(0))),
    "log_sigmoid": (ops.log_sigmoid, big(identity, constant(0)), big(constant(1), constant(0))),
    "hard_sigmoid": (ops.hard_sigmoid, big(constant(0), constant(1)), big(constant(0), constant(0))),
    "hard_tanh": (ops.hard_tanh, big(constant(-1), constant(1)), big(constant(0), constant(0))),
    "silu": (ops.silu, big(constant(0), identity), big(constant(0), constant(1))),
    "hard_silu": (ops.hard_silu, big(constant(0), identity), big(constant(0), constant(1))),
    "gelu": (lambda x: ops.gelu(x, approximate=False), big(constant(0), identity), big(constant(0), constant(1))),
    "approximate gelu": (ops.gelu, big(constant(0), identity), big(constant(0), constant(1))),
    "mish": (ops.mish, big(constant(0), identity), big(constant(0), constant(1))),
}
each = pytest.mark.parametrize("name", LIMITS)


@each
def test_huge_inputs(engine, name):
    op, values, slopes = LIMITS[name]
    x = ops.convert(np.array(BIG, "float32"))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = op(x)
    for found, expected in ((y, values), (tape.gradient(y, x), slopes)):
        for at, f, e in zip(BIG, found.numpy(), expected, strict=True):
            if e is not None:
                assert f == pytest.approx(e, rel=1e-4, abs=2e-4), at


@each
def test_nan_stays_nan(engine, name):
    assert np.isnan(LIMITS[name][0](np.array([np.nan], "float32")).numpy()).all()


@each
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(engine, rng, name, dtype):
    op = LIMITS[name][0]
    x = ops.cast(rng.uniform(-4, 4, 50), dtype)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = op(x)
    g = tape.gradient(y, x)
    assert y.dtype == g.dtype == dtype
    wide = op(ops.cast(x, "float64"))
    np.testing.assert_allclose(y.numpy().astype("float64"), wide.numpy(), rtol=0.05, atol=0.05)


def test_infinity(engine):
    x = np.array([-np.inf, np.inf], "float32")
    for op, expected in (
        (ops.relu, [0, np.inf]),
        (ops.sigmoid, [0, 1]),
        (ops.softplus, [0, np.inf]),
        (ops.elu, [-1, np.inf]),
        (ops.log_sigmoid, [-np.inf, 0]),
        (ops.hard_sigmoid, [0, 1]),
    ):
        np.testing.assert_array_equal(op(x).numpy(), np.array(expected, "float32"))


@pytest.mark.parametrize(
    ("negative_slope", "max_value", "threshold"),
    [(0.1, 2.0, 0.5), (0.0, 3.0, -1.0), (0.3, None, 0.0), (0.0, 6, 0.0), (-1.0, 1.0, 0.0), (0.1, -1.0, 0.5)],
)
def test_relu_in_all_its_variants(engine, rng, negative_slope, max_value, threshold):
    x = rng.uniform(-4, 8, 40).astype("float32")
    above = x if max_value is None else np.clip(x, 0, max(max_value, 0))
    expected = np.where(x > threshold, above, negative_slope * (x - threshold))
    found = ops.relu(x, negative_slope, max_value, threshold)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_relu_keeps_integers(engine):
    found = ops.relu(np.array([-2, 3], "int32"))
    assert (found.dtype, found.tolist()) == ("int32", [0, 3])


def test_the_exact_values(engine):
    """Check values against the formulas, in float64, by Python's math."""
    for x in (-2.5, -0.3, 0.7, 3.0):
        at = ops.convert(np.array(x))
        cdf = 0.5 * math.erfc(-x / math.sqrt(2))
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        assert float(ops.gelu(at, approximate=False)) == pytest.approx(x * cdf, rel=1e-12)
        assert float(ops.gelu(at)) == pytest.approx(x * 0.5 * (1 + math.tanh(inner)), rel=1e-12)
        assert float(ops.mish(at)) == pytest.approx(x * math.tanh(math.log1p(math.exp(x))), rel=1e-12)
        assert float(ops.selu(at)) == pytest.approx(
            1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))
        )
        assert float(ops.celu(at, 0.5)) == pytest.approx(x if x > 0 else 0.5 * math.expm1(x / 0.5))


def test_softmax_of_huge_scores(engine):
    x = np.array([[1e30, -1e30, 0], [-1e30, -1e30, -1e30], [-np.inf, 0, 0], [3e38, 3e38, -3e38]], "float32")
    expected = np.array([[1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5], [0.5, 0.5, 0]], "float32")
    np.testing.assert_allclose(ops.softmax(x).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(ops.softmax(x.T, 0).numpy(), expected.T, rtol=1e-6)
    found = ops.log_softmax(np.array([[1e4, 0.0], [-np.inf, 0.0]], "float32")).numpy()
    np.testing.assert_array_equal(found, np.array([[0, -1e4], [-np.inf, 0]], "float32"))


def test_softmax_needs_its_axis(engine):
    with pytest.raises(IndexError, match="out of range"):
        ops.softmax(np.ones((2, 3), "float32"), axis=2)


def test_jax_differentiates_through_kinks():
    """Check the derivative by an engine's own differentiation at zero, where bodies have kinks."""
    jax = pytest.importorskip("jax")
    for op, slope in (
        (ops.sigmoid, 0.25),
        (ops.softplus, 0.5),
        (ops.silu, 0.5),
        (ops.elu, 1.0),
        (ops.relu, 0.0),
        (ops.gelu, 0.5),
    ):
        assert float(jax.grad(op)(0.0)) == pytest.approx(slope), op


def test_torch_differentiates_through(rng):
    torch = pytest.importorskip("torch")
    values = rng.normal(size=(3, 4))
    for op in (
        ops.relu,
        ops.relu6,
        ops.leaky_relu,
        ops.elu,
        ops.sigmoid,
        ops.silu,
        ops.gelu,
        ops.softmax,
        ops.log_softmax,
        ops.mish,
    ):
        x = torch.tensor(values, requires_grad=True)
        (native,) = torch.autograd.grad((op(x) ** 2).sum(), x)
        tensor = ops.convert(values)
        with dt.GradientTape() as tape:
            tape.watch(tensor)
            y = op(tensor)
            total = ops.sum(y * y)
        np.testing.assert_allclose(native.numpy(), tape.gradient(total, tensor).numpy(), rtol=1e-8, atol=1e-12)
