"""Sorting and searching: order, ties, NaN, and gradients that follow the elements."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

NAN, INF = np.nan, np.inf
ROWS = np.array([[3.0, NAN, -INF, 3.0, INF, NAN], [0.0, 2.0, 2.0, 2.0, -1.0, 0.0]], "float32")


@pytest.mark.parametrize("axis", [-1, 0, None])
def test_order_is_ascending_and_stable_with_nan_last(engine, axis):
    np.testing.assert_array_equal(ops.sort(ROWS, axis).numpy(), np.sort(ROWS, axis))
    np.testing.assert_array_equal(ops.argsort(ROWS, axis).numpy(), np.argsort(ROWS, axis, kind="stable"))


def test_nan_of_halves_are_last(engine):
    x = ops.cast([3.0, NAN, 1.0, 2.0], "bfloat16")
    assert ops.argsort(x).numpy().tolist() == [2, 3, 0, 1]
    np.testing.assert_array_equal(ops.sort(x).numpy().astype("float32"), [1.0, 2.0, 3.0, NAN])
    assert ops.searchsorted(ops.sort(x), ops.cast([2.5], "bfloat16")).numpy().tolist() == [2]


def test_top_k_takes_the_first_of_equal_elements(engine):
    values, indices = ops.top_k(ROWS, 4)
    np.testing.assert_array_equal(values.numpy(), [[NAN, NAN, INF, 3.0], [2.0, 2.0, 2.0, 0.0]])
    assert indices.numpy().tolist() == [[1, 5, 4, 0], [1, 2, 3, 0]]
    assert indices.dtype == "int32"
    with pytest.raises(ValueError, match="k must be in"):
        ops.top_k(ROWS, 7)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "uint64"])
def test_integers_at_their_limits(engine, dtype):
    low, high = dt.dtypes.as_dtype(dtype).min, dt.dtypes.as_dtype(dtype).max
    x = np.array([high, low, high, low, 1], dtype)
    np.testing.assert_array_equal(ops.sort(x).numpy(), np.sort(x))
    np.testing.assert_array_equal(ops.top_k(x, 5)[0].numpy(), np.sort(x)[::-1])
    np.testing.assert_array_equal(ops.argsort(x).numpy(), np.argsort(x, kind="stable"))


def test_gradients_follow_the_elements(engine):
    x = ops.convert([3.0, 1.0, 2.0])
    with dt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        s = ops.sum(ops.sort(x) * ops.convert([1.0, 10.0, 100.0]))
        t = ops.sum(ops.top_k(x, 2)[0] * ops.convert([1.0, 10.0]))
    np.testing.assert_array_equal(tape.gradient(s, x).numpy(), [100, 1, 10])
    np.testing.assert_array_equal(tape.gradient(t, x).numpy(), [1, 0, 10])


def test_second_order_through_sort_and_top_k(engine):
    x = ops.convert([3.0, 1.0, 2.0])

    def cubes(x):
        return ops.sum(ops.sort(x) ** 3) + ops.sum(ops.top_k(x, 1)[0] ** 3)

    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as inner:
            inner.watch(x)
            y = cubes(x)
        g = ops.sum(inner.gradient(y, x))
    np.testing.assert_allclose(outer.gradient(g, x).numpy(), [36, 6, 12], rtol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(engine, side):
    sequence = np.array([0.0, 1.0, 1.0, 2.0], "float32")
    values = np.array([[-1.0, 0.0, 1.0], [1.5, 2.0, 9.0]], "float32")
    np.testing.assert_array_equal(
        ops.searchsorted(sequence, values, side).numpy(), np.searchsorted(sequence, values, side)
    )
    with pytest.raises(ValueError, match="one axis"):
        ops.searchsorted(values, values)


def test_in_top_k(engine):
    scores = np.array([[0.1, 0.9, 0.9], [0.5, INF, 0.4], [NAN, 0.1, 0.2]], "float32")
    assert ops.in_top_k([2, 1, 0], scores, 1).numpy().tolist() == [True, False, False]
    assert ops.in_top_k([0, -1, 3], scores, 3).numpy().tolist() == [True, False, False]
    assert ops.in_top_k([0, 0, 2], scores, 3).numpy().tolist() == [True, False, False]


def test_one_hot(engine):
    found = ops.one_hot(np.array([1, -1, 5]), 3, axis=0, dtype="bool")
    assert found.dtype == "bool"
    np.testing.assert_array_equal(found.numpy(), [[False] * 3, [True, False, False], [False] * 3])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_zeros_and_nan_are_equal_whatever_their_signs(engine, dtype):
    x = ops.convert([-0.0, 0.0, np.nan, -np.nan, 0.0, -1.0], dtype)
    places = lambda x: (ops.top_k(x, 6)[1], ops.argsort(x), ops.searchsorted(ops.sort(x), x))  # noqa: E731
    for call in (places, dt.function(places)):
        found = [one.tolist() for one in call(x)]
        assert found == [[2, 3, 0, 1, 4, 5], [5, 0, 1, 4, 2, 3], [1, 1, 4, 4, 1, 0]]
    assert ops.searchsorted(ops.sort(x), x, side="right").tolist() == [4, 4, 6, 6, 4, 1]
    assert np.signbit(ops.top_k(x, 4)[0].numpy().astype("float32"))[2:].tolist() == [True, False]
