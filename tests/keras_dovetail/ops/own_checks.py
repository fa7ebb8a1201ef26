"""Checks of functions without unique results: random numbers, functions of functions, factors.

The argument is the engine.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import keras  # first: it imports its backend
import numpy as np

import dovetail as dt
from keras_dovetail.src import random
from keras_dovetail.src.ops import core, image, linalg, nn, numpy
from keras_dovetail.src.rnn import activations, bidirectional_gru, bidirectional_lstm, lstm
from tests.keras_backends import main
from tests.keras_dovetail.ops.calls import floats

N = 4000


def drawn(function: Any, *args: Any, dtype: str = "float32", shape: tuple[int, ...] = (N,)) -> np.ndarray:
    """Random numbers, after a check that the seed determines them."""
    first, again, other = (np.asarray(function(*args, seed=seed)) for seed in (3, 3, 4))
    assert first.dtype == dtype and first.shape == shape
    assert (first == again).all() and (first != other).any()
    return first


def near(found: Any, wanted: float) -> None:
    assert abs(float(found) - wanted) < 0.1, f"{found}, not {wanted}"


def check_floats() -> None:
    normal = drawn(random.normal, (N,), 1.0, 2.0)
    near(normal.mean(), 1), near(normal.std(), 2)
    uniform = drawn(random.uniform, (N,), -1.0, 3.0)
    near(uniform.mean(), 1), near(uniform.min(), -1), near(uniform.max(), 3)
    cut = drawn(random.truncated_normal, (N,), 1.0, 2.0)
    near(cut.mean(), 1)
    assert cut.min() >= -3 and cut.max() <= 5
    near(drawn(random.gamma, (N,), 2.0).mean(), 2)
    near(drawn(random.beta, (N,), 1.0, 3.0).mean(), 0.25)
    near(drawn(random.binomial, (N,), 4.0, 0.5).mean(), 2)


def check_choices() -> None:
    whole = drawn(random.randint, (N,), 2, 5, dtype="int32")
    assert set(whole.tolist()) == {2, 3, 4}
    classes = drawn(random.categorical, np.log(np.float32([[1, 3], [1, 1e-9]])), N, dtype="int64", shape=(2, N))
    near(classes[0].mean(), 0.75), near(classes[1].mean(), 0)
    rows = np.asarray(random.shuffle(np.arange(20), seed=1))
    assert sorted(rows.tolist()) == list(range(20)) and rows.tolist() != list(range(20))


def check_dropout() -> None:
    x = np.ones((N, 2), "float32")
    kept = drawn(lambda seed: random.dropout(x, 0.2, seed=seed), shape=(N, 2))
    near(kept.mean(), 1)
    np.testing.assert_allclose(np.unique(kept), [0, 1.25])
    rows = np.asarray(random.dropout(x, 0.5, noise_shape=(None, 1), seed=1))
    assert (rows[:, 0] == rows[:, 1]).all()
    assert (np.asarray(random.dropout(x, 1.0)) == 0).all() and (np.asarray(random.dropout(x, 0)) == x).all()


def check_factors() -> None:
    x = floats(5, 3)
    u, s, v = map(np.asarray, linalg.svd(x, full_matrices=False))
    np.testing.assert_allclose(u * s @ v, x, atol=1e-5)
    q, r = map(np.asarray, linalg.qr(x, mode="complete"))
    np.testing.assert_allclose(q @ r, x, atol=1e-5)
    assert q.shape == (5, 5)


def check_what_has_no_factor_is_refused() -> None:
    for call in (lambda: linalg.cholesky(-np.eye(2, dtype="float32")), lambda: linalg.norm(floats(3), axis=1)):
        try:
            call()
        except ValueError as error:
            assert "positive definite" in str(error) or "axis" in str(error)
        else:
            raise AssertionError("it did not raise")


def check_different_rows() -> None:
    """Check rows of many columns, whose combinations exceed any integer; NaN differ from each other."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-(2**31), 2**31, (300, 40))[rng.integers(300, size=500)].astype("int32")
    rows[:, 0] = rng.integers(2, size=500)
    for x, axis in [(rows, 0), (rows.T, 1), (rows, None), (rows.astype("uint8") > 99, 0), (np.zeros((3, 0), "f"), 0)]:
        wanted = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        found = numpy.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)
    nothing = numpy.unique(np.zeros(0, "float32"), return_counts=True)
    assert [np.asarray(each).shape for each in nothing] == [(0,), (0,)]
    values, counts = numpy.unique(
        np.float32([[1, np.nan], [1, np.nan], [-0.0, 2], [0.0, 2]]), axis=0, return_counts=True
    )
    assert np.asarray(values).shape == (3, 2) and np.asarray(counts).tolist() == [2, 1, 1]


def check_grouped_queries() -> None:
    query, key = floats(1, 3, 4, 2), floats(1, 5, 2, 2)
    found = nn.dot_product_attention(query, key, key)
    apart = nn.dot_product_attention(query, *[np.repeat(key, 2, 2)] * 2)
    np.testing.assert_allclose(np.asarray(found), np.asarray(apart), rtol=1e-6)


def check_jvp() -> None:
    value, moved = linalg.jvp(lambda x: x * x, (np.float32([2, 3]),), (np.float32([1, 2]),))
    assert np.asarray(value).tolist() == [4, 9] and np.asarray(moved).tolist() == [4, 12]
    _, moved, aux = linalg.jvp(lambda x: (x * x, x + 1), (np.float32(3),), (np.float32(1),), has_aux=True)
    assert float(moved) == 6 and float(aux) == 4


def check_gradients() -> None:
    x, y = np.float32([1, 2]), np.float32([3, 4])
    assert np.asarray(core.grad(lambda x, y: x * y)(x, y)).tolist() == [3, 4]
    of_both = core.grad(lambda x, y, factor: factor * x * y, (1, 0))(x, y, factor=2)
    assert [np.asarray(each).tolist() for each in of_both] == [[2, 4], [6, 8]]
    of_parts = core.grad(lambda parts, x: parts["a"] * x, argnums=-2)({"a": x, "b": y}, y)
    assert np.asarray(of_parts["a"]).tolist() == [3, 4] and np.asarray(of_parts["b"]).tolist() == [0, 0]
    assert np.asarray(core.grad(core.grad(lambda x: x * x * x))(x)).tolist() == [6, 12]
    variable = keras.Variable(y)
    assert np.asarray(core.grad(lambda v: v * v)(variable)).tolist() == [6, 8]
    traced = dt.function(core.grad(lambda x, y: x * y))
    assert np.asarray(traced(x, y)).tolist() == [3, 4]


def check_positions_of_gradients_are_checked() -> None:
    for argnums, kind in (("x", TypeError), ((0, 1.5), TypeError), (2, ValueError), ((0, -2), ValueError)):
        try:
            core.grad(lambda x, y: x * y, argnums)(np.float32([1]), np.float32([2]))
        except kind as error:
            assert "argnums" in str(error)
        else:
            raise AssertionError(f"{argnums} did not raise")


def check_vectorize() -> None:
    total = numpy.vectorize(lambda x, y: x * y + 1)
    np.testing.assert_allclose(np.asarray(total(np.float32([1, 2]), np.float32([3, 4]))), [4, 9])
    rows = numpy.vectorize(lambda x, y: numpy.sum(x * y), signature="(n),(n)->()")
    x, y = floats(3, 4), floats(4)
    np.testing.assert_allclose(np.asarray(rows(x, y)), x @ y, rtol=1e-5)


def check_slopes() -> None:
    x = np.zeros((1, 4, 5, 1), "float32") + np.arange(5, dtype="float32")[:, None]
    edges = np.asarray(image.sobel_edges(x))
    assert edges.shape == (1, 4, 5, 1, 2)
    assert (edges[0, 1:-1, 1:-1, 0] == [0, 8]).all()
    first = np.asarray(image.sobel_edges(x.transpose(0, 3, 1, 2), data_format="channels_first"))
    assert (first.transpose(0, 2, 3, 1, 4) == edges).all()


def check_elastic_transform() -> None:
    x = floats(2, 6, 7, 3)
    moved = drawn(lambda seed: image.elastic_transform(x, alpha=2.0, sigma=1.0, seed=seed), shape=x.shape)
    assert x.min() <= moved.min() and moved.max() <= x.max() and (moved != x).any()
    np.testing.assert_allclose(np.asarray(image.elastic_transform(x, alpha=0.0, seed=1)), x, atol=1e-5)


def check_layers_that_are_no_one_op() -> None:
    """Check that these raise an error, upon which Keras composes them of other functions."""
    tanh, sigmoid = activations.tanh, activations.sigmoid
    for call in (
        bidirectional_lstm,
        bidirectional_gru,
        lambda: lstm(1, 1, 1, np.ones(3, bool), 1, 1, 1, tanh, sigmoid),
        lambda: lstm(1, 1, 1, None, 1, 1, 1, tanh, tanh),
    ):
        try:
            call()
        except NotImplementedError as error:
            assert "Keras runs" in str(error)
        else:
            raise AssertionError("it did not raise")


def on_engine(check: Callable[[], None]) -> None:
    with dt.engine(sys.argv[1]):
        check()


if __name__ == "__main__":
    checks = {name: check for name, check in globals().items() if name.startswith("check_")}
    main({name: functools.partial(on_engine, check) for name, check in checks.items()})
