"""K's branches and loops beyond parity: engines' own values, and messages."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import backend as K

X = np.arange(6, dtype="float32").reshape(2, 3)


def fails():
    raise AssertionError("the branch that is not picked was called")


def programs(x):
    """Every function of the family once."""
    return (
        K.switch(K.sum(x) > 0.0, lambda: x * 2.0, lambda: -x),
        K.switch(x > 2.0, x, 0.0 * x),
        K.map_fn(lambda row: K.sum(row), x),
        K.foldl(lambda a, row: a * 2.0 - row, x),
        K.foldr(lambda a, row: a * 2.0 - row, x),
    )


def test_engines_own_values_stay_theirs():
    expected = [np.asarray(v) for v in programs(X)]
    jax, torch, tf = (pytest.importorskip(name) for name in ("jax", "torch", "tensorflow"))
    for kind, call, given in (
        (torch.Tensor, programs, torch.tensor(X)),
        (jax.Array, jax.jit(programs), jax.numpy.asarray(X)),
        (tf.Tensor, tf.function(programs), tf.constant(X)),
    ):
        for found, wanted in zip(call(given), expected, strict=True):
            assert isinstance(found, kind)
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)


def test_a_known_condition_picks_an_engines_own_value():
    torch = pytest.importorskip("torch")
    a, b = torch.ones(2), torch.zeros(2)
    assert type(K.switch(True, a, b)) is torch.Tensor
    assert type(K.switch(False, fails, lambda: b)) is torch.Tensor


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: K.switch(None, X, X), TypeError, "K.switch .*must be a tensor or a bool, not None"),
        (lambda: K.switch(np.ones((2, 3, 1)), X, X), ValueError, "K.switch.*rank 3 is larger than the rank 2"),
        (lambda: K.switch(X, X[0], X), ValueError, "K.switch.*rank 2 is larger than the rank 1"),
        (lambda: K.map_fn(lambda x: (x, x), X), ValueError, r"K.map_fn: .*\(\*, \*\), not \*.*dtype="),
        (lambda: K.map_fn(K.square, 1.0), ValueError, "K.map_fn .*must have an axis.*K.constant"),
        (lambda: K.map_fn(K.square, ()), ValueError, r"K.map_fn .*a structure of tensors, not \(\)"),
        (lambda: K.map_fn(3, X), TypeError, "K.map_fn.*must be a function, not 3"),
        (lambda: K.foldl(lambda a, x: (a, x), X), ValueError, r"K.foldl: .*return the structure that it gets, but \*"),
        (lambda: K.foldr(K.maximum, X[:0]), ValueError, "K.foldr .*no slices.*initializer"),
        (lambda: K.foldl(K.maximum, 1.0), ValueError, "K.foldl .*must have an axis"),
        (lambda: K.foldr(3, X), TypeError, "K.foldr.*must be a function, not 3"),
    ],
)
def test_errors_say_what_is_needed(call, error, words):
    with pytest.raises(error, match=words):
        call()
