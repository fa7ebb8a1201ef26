"""Fourier transforms of real numbers, forth and back, with their gradients, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.ops.table import finite_differences


@pytest.mark.parametrize(("size", "length"), [(6, None), (5, None), (6, 4), (3, 8), (4, 7)])
def test_rfft_and_irfft(engine, rng, size, length):
    x = rng.normal(size=(2, size))
    found = ops.rfft(x, length)
    np.testing.assert_allclose(found.numpy(), np.fft.rfft(x, length), rtol=1e-9, atol=1e-9)
    back = ops.irfft(found, length or size)
    np.testing.assert_allclose(back.numpy(), np.fft.irfft(np.fft.rfft(x, length), length or size), atol=1e-9)


@pytest.mark.parametrize("length", [None, 4, 9])
def test_gradient_of_rfft(engine, rng, length):
    """Check the gradient by real numbers; the generated tests check none from complex results."""
    x = rng.normal(size=(2, 6))
    weights = rng.normal(size=np.fft.rfft(x, length).shape) + 1j * rng.normal(size=np.fft.rfft(x, length).shape)
    (expected,) = finite_differences(lambda new: float((np.fft.rfft(new[0], length) * weights).real.sum()), [x])
    tensor = ops.convert(x)
    with dt.GradientTape() as tape:
        tape.watch(tensor)
        y = ops.sum(ops.real(ops.rfft(tensor, length) * weights))
    np.testing.assert_allclose(tape.gradient(y, tensor).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ops.fft(np.ones(3)), TypeError, "complex numbers, not float64"),
        (lambda: ops.fft(1j), ValueError, "the rank is 0"),
        (lambda: ops.fft2d(np.ones(3, "complex64")), ValueError, "the rank is 1"),
        (lambda: ops.ifft(np.ones((2, 0), "complex64")), ValueError, "at least one number"),
        (lambda: ops.rfft(np.ones(3, "float16")), TypeError, "float32 or float64, not float16"),
        (lambda: ops.rfft(np.ones(3), 0), ValueError, "fft_length must be above 0"),
        (lambda: ops.irfft(np.ones(3)), TypeError, "complex numbers, not float64"),
        (lambda: ops.irfft(np.ones((2, 1), "complex64")), ValueError, "give fft_length"),
    ],
)
def test_what_is_refused(engine, call, kind, message):
    with pytest.raises(kind, match=message):
        call()
