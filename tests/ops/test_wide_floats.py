"""Python numbers as float64, complex128 and wide integers: they keep all their digits, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from dovetail import ops

LARGE = 2.0**24 + 1  # no float32
X = np.zeros(2)
CALLS: dict[str, tuple[Callable[[], Any], Any]] = {
    "cast": (lambda: ops.cast([0.1, LARGE, 3], "float64"), [0.1, LARGE, 3]),
    "cast of an int": (lambda: ops.cast(2**40 + 1, "float64"), 2.0**40 + 1),
    "cast to int64": (lambda: ops.cast([LARGE, True], "int64"), np.int64([2**24 + 1, 1])),
    "cast to complex128": (lambda: ops.cast([0.1j, 0.1, 1], "complex128"), [0.1j, 0.1, 1]),
    "cast of a large int to float32": (lambda: ops.cast(2**40, "float32"), np.float32(2**40)),
    "full": (lambda: ops.full((2,), 0.1, "float64"), [0.1, 0.1]),
    "full_like": (lambda: ops.full_like(X, 0.1), [0.1, 0.1]),
    "arange": (lambda: ops.arange(0.1, 1, 0.1, "float64"), np.arange(9) * 0.1 + 0.1),
    "pad": (lambda: ops.pad(X, 1, constant_values=0.1), [0.1, 0, 0, 0.1]),
    "leaky_relu": (lambda: ops.leaky_relu(X - 1, 0.1), [-0.1, -0.1]),
    "K.arange": (lambda: K.arange(0.1, 1, 0.1, "float64"), np.arange(9) * 0.1 + 0.1),
    "K.constant": (lambda: K.constant(0.1, "float64"), 0.1),
    "tf.range": (lambda: tf.range(LARGE, LARGE + 2, dtype=tf.float64), [LARGE, LARGE + 1]),
    "tf.fill": (lambda: tf.fill([2], tf.constant(0.1, tf.float64)), [0.1, 0.1]),
    "tf.one_hot": (lambda: tf.one_hot([0], 2, 0.1, 0.7, dtype=tf.float64), [[0.1, 0.7]]),
    "tf.experimental.numpy.linspace": (lambda: tf.experimental.numpy.linspace(0.1, 0.7, 5), np.linspace(0.1, 0.7, 5)),
    # TensorFlow makes a tensor of the number first.
    "tf.cast": (lambda: tf.cast(0.1, tf.float64), np.float64(np.float32(0.1))),
    "K.cast": (lambda: K.cast(0.1, "float64"), np.float64(np.float32(0.1))),
}


@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_keep_their_digits(engine: Any, name: str, compile_it: bool) -> None:
    call, wanted = CALLS[name]
    found = (dt.function(call) if compile_it else call)().numpy()
    assert found.dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=4e-16)


def test_the_slope_of_a_gradient(engine: Any) -> None:
    x = dt.Variable(np.float64([-1, 2]))
    with dt.GradientTape() as tape:
        y = ops.sum(ops.leaky_relu(x, 0.1))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [0.1, 1])
