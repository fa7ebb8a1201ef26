"""Batch normalization that becomes part of a convolution."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.normalized_convolutions import normalize_kernels
from dovetail.passes.prune import prune
from tests.passes.checks import optimized, types

KERNEL = np.random.default_rng(0).normal(size=(3, 3, 2, 4)).astype("float32")
MEAN, VARIANCE = np.linspace(-1, 1, 4, dtype="float32"), np.linspace(0.5, 2, 4, dtype="float32")
OFFSET, SCALE = np.linspace(1, 2, 4, dtype="float32"), np.linspace(-2, 2, 4, dtype="float32")


def network(data_format="channels_last", axis=-1, **affine):
    def run(x, kernel, mean, variance):
        y = ops.conv(x, kernel, padding="same", data_format=data_format)
        return ops.batch_normalization(y, mean, variance, axis=axis, **affine)

    return run


def specs(data_format="channels_last", batch=2, size=16, dtype="float32"):
    shape = (batch, size, size, 2) if data_format == "channels_last" else (batch, 2, size, size)
    return [dt.spec(shape, dtype), dt.spec(KERNEL.shape, dtype), dt.spec((4,), dtype), dt.spec((4,), dtype)]


def types_of(function, given):
    return types(optimized(function, *given, by=[normalize_kernels, prune], unknown=1))


@pytest.mark.parametrize(
    "affine", [{}, {"offset": OFFSET}, {"scale": SCALE}, {"offset": OFFSET, "scale": SCALE}], ids=str
)
@pytest.mark.parametrize(("data_format", "axis"), [("channels_last", -1), ("channels_first", 1)])
def test_taken(engine, rng, data_format, axis, affine):
    function, given = network(data_format, axis, **affine), specs(data_format)
    assert "BatchNormalization" not in types_of(function, given)
    x = rng.normal(size=given[0].shape).astype("float32")
    arguments = [ops.constant(v) for v in (x, KERNEL, MEAN, VARIANCE)]
    np.testing.assert_allclose(dt.function(function)(*arguments), function(*arguments), rtol=1e-4, atol=1e-4)


def test_taken_of_any_batch():
    assert "BatchNormalization" not in types_of(network(), specs(batch=None))


def _needs_the_result_elsewhere(x, kernel, mean, variance):
    y = ops.conv(x, kernel, padding="same")
    return ops.batch_normalization(y, mean, variance) + ops.exp(y)


def _trains(x, kernel, mean, variance):
    y = ops.conv(x, kernel, padding="same")
    return ops.batch_normalization(y, *ops.moments(y, (0, 1, 2)))


def _returns_the_result(x, kernel, mean, variance):
    y = ops.conv(x, kernel, padding="same")
    return ops.batch_normalization(y, mean, variance), y


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (_needs_the_result_elsewhere, specs()),
        (_trains, specs()),
        (_returns_the_result, specs()),
        (network(), specs(batch=1, size=2)),  # the kernel is as large as the result
        (network(), specs(dtype="float16")),
        (lambda x, kernel, mean, variance: ops.batch_normalization(x, mean[:2], variance[:2]), specs()),
    ],
)
def test_left_alone(function, given):
    assert "BatchNormalization" in types_of(function, given)


def test_the_gradient_is_that_of_the_program(engine, rng):
    """Check a fixed normalization while the kernel trains: the gradient needs the convolution's result."""
    kernel, x = dt.Variable(KERNEL), ops.constant(rng.normal(size=(2, 16, 16, 2)).astype("float32"))

    def gradient():
        with dt.GradientTape() as tape:
            y = ops.batch_normalization(ops.conv(x, kernel, padding="same"), MEAN, VARIANCE, scale=SCALE)
            loss = ops.mean(ops.square(y))
        return tape.gradient(loss, kernel)

    np.testing.assert_allclose(dt.function(gradient)(), gradient(), rtol=1e-3, atol=1e-5)
