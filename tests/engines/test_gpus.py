"""Kernels of GPUs, on each engine that has a GPU: values and gradients equal numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engine_registry import get_engine

UNITS = 5
PROGRAMS = {
    "product": (lambda x, y: x @ y, [(3, 4), (4, 5)]),
    "convolution": (lambda x, k: ops.conv(x, k, padding="same"), [(2, 6, 6, 3), (3, 3, 3, 4)]),
    "depthwise convolution": (lambda x, k: ops.depthwise_conv(x, k, padding="same"), [(2, 6, 6, 3), (3, 3, 3, 2)]),
    "pool": (lambda x: ops.max_pool(x, 2), [(2, 6, 6, 3)]),
    "LSTM": (ops.lstm, [(2, 7, 3), (2, UNITS), (2, UNITS), (3, 4 * UNITS), (UNITS, 4 * UNITS)]),
    "LSTM with a bias": (
        ops.lstm,
        [(2, 7, 3), (2, UNITS), (2, UNITS), (3, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)],
    ),
    "GRU": (ops.gru, [(2, 7, 3), (2, UNITS), (3, 3 * UNITS), (UNITS, 3 * UNITS)]),
    "GRU with biases": (ops.gru, [(2, 7, 3), (2, UNITS), (3, 3 * UNITS), (UNITS, 3 * UNITS), (2, 3 * UNITS)]),
    "softmax": (ops.softmax, [(4, 6)]),
    "cumulative sum": (ops.cumsum, [(20,)]),
    "sorted": (ops.sort, [(20,)]),
    "scan": (lambda x: ops.scan(lambda carry, row: (carry * row, carry + row), ops.ones(3), x)[1], [(6, 3)]),
    "branch": (lambda x: ops.cond(ops.sum(x) > 0, lambda: ops.tanh(x), lambda: -x), [(6,)]),
}


@pytest.fixture(params=["torch", "jax", "tensorflow"])
def gpu(request):
    """The name of an engine whose values are on a GPU."""
    if request.param not in dt.list_engines():
        pytest.skip("it is not installed")
    devices = get_engine(request.param).devices()
    if not devices[0].startswith("gpu"):
        pytest.skip("there is no GPU")
    with dt.engine(request.param), dt.device(devices[0]):
        yield request.param


def first(found):
    return found[0] if isinstance(found, (tuple, list)) else found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients(gpu, rng, name, dtype):
    program, shapes = PROGRAMS[name]
    arrays = [rng.uniform(0.1, 1.0, shape).astype(dtype) for shape in shapes]

    def computed():
        given = [ops.convert(array) for array in arrays]
        with dt.GradientTape() as tape:
            tape.watch(given)
            y = first(program(*given))
        compiled = first(dt.function(program)(*given))
        return [y, compiled, *tape.gradient(y, given)]

    found = computed()
    assert all(value.device.startswith("gpu") for value in found)
    with dt.engine("numpy"):
        expected = computed()
    for mine, theirs in zip(found, expected, strict=True):
        tolerance = 2e-3 if dtype == "float32" else 1e-6  # products of float32 may round to TF32
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), tolerance, tolerance)


def test_random_numbers_are_the_same(gpu):
    found = ops.random.normal(3, (1000,)), dt.function(lambda key: ops.random.uniform(key, (1000,)))(3)
    with dt.engine("numpy"):
        expected = ops.random.normal(3, (1000,)), ops.random.uniform(3, (1000,))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("other", ["numpy", "torch"])
def test_values_of_processors_go_along_in_jax(other):
    """Check values that move between JAX and an engine with values in the processor's memory.

    JAX computes on a GPU unless it is asked not to.
    """
    if not {"jax", other} <= set(dt.list_engines()) or not get_engine("jax").devices()[0].startswith("gpu"):
        pytest.skip("there is no GPU, or no such engine")
    with dt.engine("jax"):
        x, v = ops.constant([1.0, 2.0]), dt.Variable([3.0, 4.0])
        with dt.GradientTape() as tape:
            tape.watch(x)
            with dt.engine(other):
                y = ops.convert(x, engine=other) * 2.0
            z = x * ops.convert(y, engine="jax") + v
        slope = tape.gradient(z, x)
        assert {value.device for value in (x, z, slope)} == {"gpu:0"}
        np.testing.assert_allclose([z.numpy(), slope.numpy()], [[5.0, 12.0], [4.0, 8.0]])
    with dt.engine(other):
        v.assign(ops.convert([5.0, 6.0]))  # this moves it to the other engine
    with dt.engine("jax"):
        np.testing.assert_allclose(dt.function(lambda x: x + v)(x).numpy(), [6.0, 8.0])
