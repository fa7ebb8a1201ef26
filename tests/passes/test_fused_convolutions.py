"""Convolutions that are fused with the next operations."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.fused_convolutions import fuse_convolutions
from dovetail.passes.prune import prune
from tests.passes.checks import optimized, traced, types

X, KERNEL = dt.spec((2, 5, 6, 3)), dt.spec((3, 3, 3, 4))
BIAS, SAME = dt.spec((4,)), dt.spec((2, 5, 6, 4))


def conv(x, kernel, **options):
    return ops.conv(x, kernel, padding="same", **options)


def channels_first(x, kernel):
    return ops.conv(x, kernel, padding="same", data_format="channels_first")


def fused_types(function, *specs, claimed=("FusedConv",)):
    return types(
        optimized(function, *specs, by=[lambda graph: fuse_convolutions(graph, lambda op: claimed), prune], unknown=2)
    )


@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (lambda x, k, b: conv(x, k) + b, [X, KERNEL, BIAS]),
        (lambda x, k, b: b + conv(x, k), [X, KERNEL, dt.spec((1, 1, 1, 4))]),
        (lambda x, k, b: ops.relu(conv(x, k) + ops.reshape(b, (1, 1, 1, 4))), [X, KERNEL, BIAS]),
        (lambda x, k, b: channels_first(x, k) + b, [dt.spec((2, 3, 5, 6)), KERNEL, dt.spec((4, 1, 1))]),
        (lambda x, k, b: ops.silu(conv(x, k) + b), [dt.spec((2, 5, 3)), dt.spec((3, 3, 4)), BIAS]),
        (lambda x, k: ops.tanh(conv(x, k)), [dt.spec((2, 3, 4, 5, 1)), dt.spec((2, 2, 2, 1, 3))]),
        (lambda x, k, b, y: ops.relu(y + (conv(x, k) + b)), [X, KERNEL, BIAS, SAME]),
        (lambda x, k, y: ops.sigmoid(conv(x, k) + y), [X, KERNEL, SAME]),
        (lambda x, k, y: conv(x, k) + y, [dt.spec((None, 5, 6, 3)), KERNEL, dt.spec((None, 5, 6, 4))]),
    ],
)
def test_fused(function, specs):
    found = fused_types(function, *specs)
    assert set(found) <= {"FusedConv", "Reshape"}
    assert found.count("FusedConv") == 1
    assert "FusedConv" not in fused_types(function, *specs, claimed=())


def _returns_the_convolution(x, k, b):
    y = conv(x, k)
    return y + b, y


def _needs_the_convolution_elsewhere(x, k, b):
    y = conv(x, k)
    return y + b, ops.exp(y)


@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (_returns_the_convolution, [X, KERNEL, BIAS]),
        (_needs_the_convolution_elsewhere, [X, KERNEL, BIAS]),
        (lambda x, k, b: conv(x, k) + b, [X, KERNEL, dt.spec((6, 4))]),  # more than a number for each channel
        (lambda x, k, b: conv(x, k) + b, [X, KERNEL, dt.spec((1,))]),
        (lambda x, k, b: conv(x, k) + b, [X, KERNEL, dt.spec((3, 2, 5, 6, 4))]),  # wider than the convolution
        (lambda x, k, b: channels_first(x, k) + b, [dt.spec((2, 3, 5, 4)), KERNEL, BIAS]),  # along another axis
        (lambda x, k: conv(x, k) * 2.0, [X, KERNEL]),
        (lambda x, k, b: conv(x, k) + b, [dt.spec(s.shape, "float16") for s in (X, KERNEL, BIAS)]),
        (lambda x, k: ops.add(*[conv(x, k)] * 2), [X, KERNEL]),
    ],
)
def test_left_alone(function, specs):
    assert "FusedConv" not in fused_types(function, *specs)


def test_what_is_returned_on_the_way_stays():
    def function(x, k, b):
        y = conv(x, k) + b
        return y, ops.relu(y)

    assert sorted(fused_types(function, X, KERNEL, BIAS)) == ["FusedConv", "Relu"]


def test_nothing_comes_after_an_activation():
    graph = traced(lambda x, k, b: ops.relu(conv(x, k)) + b, X, KERNEL, BIAS)
    assert fuse_convolutions(graph, lambda op: ["FusedConv"]) == 1
    assert fuse_convolutions(graph, lambda op: ["FusedConv"]) == 0
    prune(graph)
    assert types(graph) == ["FusedConv", "AddV2"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_and_numbers(engine, rng, dtype):
    """Check a training step, in which relu's gradient needs the result alone."""
    x, k, b = (rng.normal(size=s.shape).astype(dtype) for s in (X, KERNEL, BIAS))

    def step(x, k, b):
        with dt.GradientTape() as tape:
            tape.watch((k, b))
            y = ops.relu(conv(x, k) + b)
            loss = ops.mean(ops.square(y))
        return loss, *tape.gradient(loss, (k, b))

    given = [ops.convert(v) for v in (x, k, b)]
    for found, plain in zip(dt.function(step)(*given), step(*given), strict=True):
        np.testing.assert_allclose(found.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "relu6", "sigmoid", "silu", "tanh"])
def test_nan_stays_nan(engine, activation):
    """Check NaN also where a library's own kernel turns it into 0."""
    x, k = np.full((1, 4, 4, 16), np.nan, "float32"), np.ones((3, 3, 16, 16), "float32")
    function = dt.function(lambda x, k, y: getattr(ops, activation)(conv(x, k) + y))
    assert np.isnan(function(x, k, np.ones((1, 4, 4, 16), "float32")).numpy()).all()
