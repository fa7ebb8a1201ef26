"""Allocation: large arrays of NumPy's begin at multiples of 64 bytes, and other engines read them in place."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name as handler_name

import dovetail as dt
from dovetail import ops
from dovetail.core.engines import allocation
from dovetail.core.engines.allocation import ALIGNED, HUGE, SMALLEST, aligned, aligned_empty
from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import require

LARGE = (64, 65)
FORTRAN = np.asfortranarray(np.arange(64 * 65, dtype="float32").reshape(LARGE))


def offset(tensor) -> int:
    return tensor.value.ctypes.data % ALIGNED


@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (1, SMALLEST)])
def test_an_aligned_array_is_like_others(shape):
    array = aligned_empty(shape, np.dtype("complex64"))
    assert (array.shape, array.dtype.name, array.ctypes.data % ALIGNED) == (shape, "complex64", 0)
    assert array.flags.c_contiguous and array.flags.writeable


MADE = {
    "convert": lambda x: x,
    "cast on the way": lambda x: ops.convert(np.float64(FORTRAN), dtype="float32"),
    "elementwise": lambda x: ops.exp(-x),
    "without a rule for `out`": lambda x: ops.sigmoid(x) ** 2.0,
    "a small argument first": lambda x: 1.0 - x,
    "comparison": lambda x: x > 0.5,
    "broadcast": lambda x: x[:1] + x,
    "product": lambda x: ops.matmul(x, x, transpose_b=True),
    "join": lambda x: ops.concatenate([x, x], axis=1),
    "reduction": lambda x: ops.sum(ops.reshape(x, (2, -1)), axis=0),
    "arg-reduction": lambda x: ops.argmax(ops.reshape(x, (2, -1)), axis=0),
    "running sum": lambda x: ops.cumsum(x, axis=1),
    "gather": lambda x: ops.take(x, [[5, 3, 1] * 3, [0, 2, 63] * 3], axis=1),
    "gradient of a slice": lambda x: ops.strided_slice_grad(x[:, 1:], LARGE, (0, 1), LARGE, (1, 1)),
    "scatter": lambda x: ops.tensor_scatter_update(x, [[1], [3]], x[5:7]),
    "sort": lambda x: ops.sort(x),
    "several results": lambda x: ops.top_k(x, 40)[0],
    "convolution": lambda x: ops.conv(ops.reshape(x, (1, 64, 65, 1)), np.ones((3, 3, 1, 2), "float32")),
    "contraction": lambda x: ops.einsum("ij,kj->ik", x, x),
    "loop": lambda x: ops.scan(lambda carry, row: (carry, row * 2.0), 0.0, x)[1],
    "small arguments": lambda x: x[:40, :1] + x[:1],
    "variable": lambda x: dt.Variable(x).read(),
}


WAYS = {
    "eager": lambda made: made,
    "compiled": dt.function,
    "of unknown size": dt.function(input_signature=[dt.spec((None, 65))]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_large_results_are_aligned(name, way):
    if way != "eager" and name == "variable":
        pytest.skip("a function makes no variables at each call")
    with dt.engine("numpy"):
        x, made = ops.convert(FORTRAN), WAYS[way](MADE[name])
        kept = [made(x) for _ in range(8)]  # malloc returns an aligned block now and then
    assert [offset(tensor) for tensor in kept] == [0] * 8
    np.testing.assert_array_equal(x.numpy(), FORTRAN)


def test_buffers_and_new_values_of_variables_are_aligned():
    with dt.engine("numpy"):
        v = dt.Variable(FORTRAN)

        @dt.function
        def step():
            v.assign(ops.exp(-ops.sin(v.read()) * 2.0) + 1.0)

        for _ in range(4):
            step()
            assert offset(v.read()) == 0
        (segment,) = step.plan().segments
        arena = segment.lowered.function.__globals__["arena"]()
    assert arena and [array.ctypes.data % ALIGNED for array in arena] == [0] * len(arena)


def test_single_calls_and_programs_give_the_same_numbers():
    with dt.engine("numpy"):
        x = ops.convert(FORTRAN / 100)
        for f in (ops.sqrt, ops.tanh, lambda x: x * x, lambda x: ops.maximum(x, 3.0), ops.isnan):
            small = f(x[:2])
            np.testing.assert_array_equal(f(x).numpy()[:2], small.numpy())
            np.testing.assert_array_equal(dt.function(f)(x).numpy(), f(x).numpy())


@pytest.mark.parametrize("size", [HUGE // 4, HUGE // 4 + 1, 3 * HUGE // 4])
def test_huge_results_are_aligned(size):
    with dt.engine("numpy"):
        x = ops.convert(np.zeros(size, "float32"))
        rows = ops.reshape(x, (-1, size if size % 1024 else 1024))
        taken, image = ops.take(rows, np.arange(len(rows))[::-1], axis=0), rows[None, ..., None]
        filtered = ops.conv(image, np.ones((1, 1, 1, 1), "float32"))
        for made in (x, ops.exp(x), x < 1.0, ops.relu(x - 1.0), ops.sigmoid(x), taken, ops.cumsum(rows), filtered):
            assert offset(made) == 0


@pytest.mark.skipif(allocation._made is None, reason="NumPy cannot be told how to take memory here")
def test_other_arrays_of_the_program_are_made_as_before():
    usual = handler_name()

    def fails(x):
        assert handler_name() == "dovetail_aligned"
        raise RuntimeError(x)

    with dt.engine("numpy"):
        assert handler_name(ops.exp(ops.convert(FORTRAN)).value) == "dovetail_aligned"
    with pytest.raises(RuntimeError, match="no"):
        aligned(fails, "no")
    names = [usual]
    thread = threading.Thread(target=lambda: names.append(handler_name()))
    aligned(lambda: (thread.start(), thread.join()))
    assert names == [usual, usual] and handler_name() == usual


def test_without_the_handler_arrays_are_aligned_too(monkeypatch):
    monkeypatch.setattr(allocation, "_made", None)
    assert [aligned_empty((5000,), np.dtype("int8")).ctypes.data % ALIGNED for _ in range(8)] == [0] * 8
    assert aligned(np.add, 1, 2) == 3


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
def test_engines_share_the_memory_of_large_results(name):
    require(name, "it reads NumPy's arrays in place")
    numpy, other = get_engine("numpy"), get_engine(name)
    with dt.engine("numpy"):
        x = ops.exp(ops.convert(FORTRAN / 1000))
    received = other.receive(x.value, numpy)
    assert other.to_numpy(received).ctypes.data == x.value.ctypes.data
