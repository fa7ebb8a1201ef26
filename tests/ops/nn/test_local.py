"""Locally connected layers against plain loops, and errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

X = np.ones((2, 5, 3), "float32")
GEOMETRIES = [  # sizes, window, strides, windows; the last ones do not reach the end
    ((5,), (2,), (1,), (4,)),
    ((6, 5), (2, 3), (2, 1), (3, 3)),
    ((6, 5), (2, 2), (1, 2), (3, 1)),
    ((3, 4, 3), (2, 2, 1), (1, 2, 1), (2, 2, 3)),
]


def by_loops(x, kernel, size, strides, counts, data_format):
    """The result, one window after the other; the channels come last in `x` and in the result."""
    y = np.zeros((x.shape[0], *counts, kernel.shape[-1]))
    for number, at in enumerate(itertools.product(*map(range, counts))):
        window = x[:, *(slice(i * s, i * s + k) for i, s, k in zip(at, strides, size, strict=True))]
        if data_format == "channels_first":
            window = np.moveaxis(window, -1, 1)
        y[:, *at] = window.reshape(x.shape[0], -1) @ kernel[number]
    return y


@pytest.mark.parametrize("data_format", dt.config.DATA_FORMATS)
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_local_conv(engine, rng, geometry, data_format):
    sizes, size, strides, counts = geometry
    x, kernel = rng.normal(size=(2, *sizes, 3)), rng.normal(size=(np.prod(counts), np.prod(size) * 3, 4))
    expected = by_loops(x, kernel, size, strides, counts, data_format)
    if data_format == "channels_first":
        x, expected = np.moveaxis(x, -1, 1), np.moveaxis(expected, -1, 1)

    def call(x, kernel):
        return ops.local_conv(x, kernel, size, strides, counts, data_format)

    signature = [dt.spec((None,) * (len(sizes) + 2), "float64"), dt.spec((None,) * 3, "float64")]
    for way in (call, dt.function(call), dt.function(call, input_signature=signature)):
        np.testing.assert_allclose(way(x, kernel).numpy(), expected, rtol=1e-9)


def test_errors(engine):
    k = np.ones((4, 6, 2), "float32")
    for call, words in [
        (lambda: ops.local_conv(X, k[:3], 2, data_format="channels_last"), r"the kernel must have the shape \(4, 6,"),
        (
            lambda: ops.local_conv(X, k[:, :5], 2, data_format="channels_last"),
            r"the kernel must have the shape \(4, 6,",
        ),
        (lambda: ops.local_conv(X, k, 2, 1, 5, "channels_last"), r"there are \(4,\) windows of size \(2,\)"),
        (lambda: ops.local_conv(X, k, 6, data_format="channels_last"), "does not fit"),
        (lambda: ops.local_conv(X, k, 2, 0, 4, data_format="channels_last"), "the strides must be 1 positive integers"),
        (lambda: ops.local_conv(X, k, 2, data_format="NWC"), "data_format must be one of"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_an_input_that_is_too_short_for_a_compiled_program(engine):
    program = dt.function(
        lambda x, k: ops.local_conv(x, k, 2, 1, 4, "channels_last"),
        input_signature=[dt.spec((None, None, 3)), dt.spec((4, 6, 2))],
    )
    kernel = np.ones((4, 6, 2), "float32")
    assert program(X, kernel).shape == (2, 4, 2)
    for steps in (1, 2, 4):
        with pytest.raises(ValueError, match=r"LocalConv|Reshape|MatMul|SlidingWindows"):
            program(X[:, :steps], kernel)
