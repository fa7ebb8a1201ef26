"""Pools against plain loops over windows: every engine, both layouts, ties, second order; and errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

GEOMETRIES = [
    # sizes, window, strides
    ((7,), (3,), (2,)),
    ((6,), (2,), (1,)),
    ((7, 8), (2, 2), (2, 2)),
    ((5, 6), (3, 2), (1, 1)),
    ((6, 5), (2, 3), (3, 1)),
    ((7, 4), (1, 2), (2, 2)),
    ((4, 5, 3), (2, 2, 2), (2, 1, 1)),
]
cases = pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
paddings = pytest.mark.parametrize("padding", ["valid", "same"])
layouts = pytest.mark.parametrize("data_format", dt.config.DATA_FORMATS)


def windows(sizes, window, strides, padding):
    """Pairs (position of the window, positions in it that are not padding), by TensorFlow's rule."""
    starts = []
    for n, k, s in zip(sizes, window, strides, strict=True):
        count = -(-n // s) if padding == "same" else (n - k) // s + 1
        before = max((count - 1) * s + k - n, 0) // 2 if padding == "same" else 0
        starts.append([i * s - before for i in range(count)])
    for at in itertools.product(*(range(len(s)) for s in starts)):
        spans = [range(s[i], s[i] + k) for s, i, k in zip(starts, at, window, strict=True)]
        inside = [[p for p in span if 0 <= p < n] for span, n in zip(spans, sizes, strict=True)]
        yield at, list(itertools.product(*inside))


def by_loops(x, g, window, strides, padding, mean):
    """The pool and the gradient by x, one number at a time."""
    sizes = x.shape[1:-1]
    found = list(windows(sizes, window, strides, padding))
    counts = [max(at[i] for at, _ in found) + 1 for i in range(len(sizes))]
    y, dx = np.zeros((x.shape[0], *counts, x.shape[-1])), np.zeros_like(x)
    for b, c in itertools.product(range(x.shape[0]), range(x.shape[-1])):
        for at, inside in found:
            values = [x[b, *p, c] for p in inside]
            arriving = 0 if g is None else g[b, *at, c]
            if mean:
                y[b, *at, c] = np.mean(values)
                for p in inside:
                    dx[b, *p, c] += arriving / len(inside)
            else:
                y[b, *at, c] = np.max(values)
                dx[b, *inside[int(np.argmax(values))], c] += arriving
    return y, dx


def to_layout(a, data_format):
    return a if data_format == "channels_last" else np.moveaxis(a, -1, 1)


@cases
@paddings
@layouts
@pytest.mark.parametrize("pool", [ops.max_pool, ops.average_pool], ids=["max", "mean"])
def test_pool_and_gradient(engine, rng, geometry, padding, data_format, pool):
    sizes, window, strides = geometry
    x = rng.integers(0, 4, (2, *sizes, 3)).astype("float64")  # small integers: many ties
    mean = pool is ops.average_pool
    shape = by_loops(x, None, window, strides, padding, mean)[0].shape
    g = rng.normal(size=shape)
    y, dx = by_loops(x, g, window, strides, padding, mean)
    given = ops.convert(to_layout(x, data_format))
    with dt.GradientTape() as tape:
        tape.watch(given)
        found = pool(given, window, strides, padding, data_format)
    gradient = tape.gradient(found, given, to_layout(g, data_format))
    np.testing.assert_allclose(found.numpy(), to_layout(y, data_format), rtol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), to_layout(dx, data_format), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pool", [ops.max_pool, ops.average_pool], ids=["max", "mean"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(engine, rng, pool, dtype):
    x = ops.cast(rng.normal(size=(2, 5, 6, 3)), dtype)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = pool(x, 3, 2, "same", "channels_last")
    wide = pool(ops.cast(x, "float64"), 3, 2, "same", "channels_last")
    assert y.dtype == tape.gradient(y, x).dtype == dtype
    np.testing.assert_allclose(y.numpy().astype("float64"), wide.numpy(), rtol=0.03, atol=0.03)


def test_second_order_of_max_pool(engine, rng):
    """Check that the gradient of |dy³/dx|² flows through the pool's gradient to the positions of the maxima."""
    x = ops.convert(rng.permutation(2 * 5 * 5).reshape(2, 5, 5, 1) / 10.0)
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as inner:
            inner.watch(x)
            y = ops.max_pool(x, 2, data_format="channels_last")
            total = ops.sum(y * y * y)
        gradient = inner.gradient(total, x)
        norm = ops.sum(gradient * gradient)
    is_maximum = gradient.numpy() != 0
    expected = np.where(is_maximum, 36 * x.numpy() ** 3, 0)  # (3 x²)² has the derivative 36 x³
    np.testing.assert_allclose(outer.gradient(norm, x).numpy(), expected, rtol=1e-10)


def test_infinities_and_nan(engine):
    x = np.array([-np.inf, -np.inf, np.inf, 1, np.nan, 2], "float32").reshape(1, 6, 1)
    found = ops.max_pool(x, 2, data_format="channels_last").numpy().reshape(-1)
    np.testing.assert_array_equal(found, [-np.inf, np.inf, np.nan])


def test_unknown_dimensions(engine, rng):
    @dt.function(input_signature=[dt.spec((None, None, None, 2))])
    def step(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.max_pool(x, 2, padding="same", data_format="channels_last")
            y = ops.average_pool(y, 3, 2, "same", "channels_last")
        return y, tape.gradient(y, x)

    for shape in ((2, 7, 6, 2), (1, 4, 9, 2)):
        x = rng.normal(size=shape).astype("float32")
        y, g = step(x)
        pooled = ops.max_pool(x, 2, padding="same", data_format="channels_last")
        expected = ops.average_pool(pooled, 3, 2, "same", "channels_last")
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
        assert g.shape == shape


def test_global_pools(engine, rng):
    x = rng.normal(size=(2, 3, 4, 5))
    for data_format, axes in (("channels_last", (1, 2)), ("channels_first", (2, 3))):
        np.testing.assert_allclose(ops.global_average_pool(x, data_format).numpy(), x.mean(axes))
        kept = ops.global_max_pool(x, data_format, keepdims=True)
        np.testing.assert_array_equal(kept.numpy(), x.max(axes, keepdims=True))


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((2, 3), {}, "rank 3, 4 or 5"),
        ((1, 1, 5, 2), {}, "does not fit"),
        ((1, 5, 5, 2), {"padding": "full"}, "valid"),
        ((1, 5, 5, 2), {"strides": (2, 0)}, "positive integers"),
        ((1, 5, 5, 2), {"data_format": "NHWC"}, "channels_last, channels_first"),
    ],
)
def test_what_does_not_fit_is_refused(engine, shape, options, message):
    with pytest.raises(ValueError, match=message):
        ops.max_pool(np.ones(shape, "float32"), 2, **{"data_format": "channels_last", **options})
