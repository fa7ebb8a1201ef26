"""Integers of 64 bits as positions, classes and shapes: numbers out of range stay so, however large they are.

A call with a large number has the same outcome as one with a small number out of range: a value, or an exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine, get_engine
from tests.conftest import ENGINES

X = np.float32([10, 11, 12, 13, 14, 15])
M = np.arange(12, dtype="float32").reshape(3, 4)
P = np.float32([[0.2, 0.3, 0.5]])
FIVE = np.float32([5])

# name → a computation with integers, of which `n` is out of range
CALLS: dict[str, tuple[Callable[..., Any], Callable[[Any], list[Any]]]] = {
    "gather": (lambda i: ops.gather(X, i), lambda n: [[0, n]]),
    "gather a scalar": (lambda i: ops.gather(M, i, axis=1), lambda n: [n]),
    "gather with batch axes": (lambda i: ops.gather(M, i, axis=1, batch_dims=1), lambda n: [[[0], [1], [n]]]),
    "take": (lambda i: ops.take(X, i), lambda n: [[n]]),
    "take_along_axis": (lambda i: ops.take_along_axis(M, i, axis=1), lambda n: [[[0], [n], [1]]]),
    "gather_nd": (lambda i: ops.gather_nd(M, i), lambda n: [[[1, n]]]),
    "getitem": (lambda i: ops.convert(M)[1, i], lambda n: [n]),
    "getitem of positions": (lambda i: ops.convert(X)[i], lambda n: [[n]]),
    "getitem on two axes": (lambda i, j: ops.convert(M)[i, j], lambda n: [[0, 1], [2, n]]),
    "bounds of a slice": (lambda i: ops.sum(ops.convert(X)[i:]), lambda n: [n]),
    "slice": (lambda i: ops.slice(X, i, [2]), lambda n: [[n]]),
    "slice_update": (lambda i: ops.slice_update(X, i, FIVE), lambda n: [[n]]),
    "scatter_nd": (lambda i: ops.scatter_nd(i, FIVE, (6,)), lambda n: [[[n]]]),
    "tensor_scatter_update": (lambda i: ops.tensor_scatter_update(X, i, FIVE), lambda n: [[[n]]]),
    "tensor_scatter_add": (lambda i: ops.tensor_scatter_add(X, i, FIVE), lambda n: [[[n]]]),
    "tensor_scatter_mul": (lambda i: ops.tensor_scatter_mul(X, i, FIVE), lambda n: [[[n]]]),
    "tensor_scatter_max": (lambda i: ops.tensor_scatter_max(X, i, FIVE), lambda n: [[[n]]]),
    "one_hot": (lambda i: ops.one_hot(i, 6), lambda n: [[0, n]]),
    "multi_hot": (lambda i: ops.multi_hot(i, 6), lambda n: [[0, n]]),
    "in_top_k": (lambda i: ops.in_top_k(i, P, 2), lambda n: [[n]]),
    "bincount": (lambda i: ops.bincount(i, length=6), lambda n: [[1, n]]),
    "sparse_categorical_crossentropy": (lambda i: ops.sparse_categorical_crossentropy(i, P), lambda n: [[n]]),
    "sparse_softmax": (lambda i: ops.sparse_softmax_cross_entropy_with_logits(i, P), lambda n: [[n]]),
    "K.gather": (lambda i: K.gather(X, i), lambda n: [[n]]),
    "K.one_hot": (lambda i: K.one_hot(i, 3), lambda n: [[n]]),
    "K.in_top_k": (lambda i: K.in_top_k(P, i, 2), lambda n: [[n]]),
    "K.sparse_categorical_crossentropy": (lambda i: K.sparse_categorical_crossentropy(i, P), lambda n: [[n]]),
}
SMALL_AND_LARGE = {  # dtype → pairs of a number that is out of range, and large ones on the same side
    "int64": [(7, [2**31, 2**32, 2**32 + 1, 2**40 + 2, 2**63 - 1]), (-9, [-(2**32) - 1, -(2**33) - 3, -(2**63)])],
    "uint64": [(7, [2**32 + 1, 2**63 + 1, 2**64 - 1, 2**64 - 3])],
    "uint32": [(7, [2**31 + 1, 2**32 - 1])],
}


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """The outcome of a call: its value as text, where NaN equals NaN, or the type of its exception."""
    try:
        return str(np.asarray(call(*args)).tolist())
    except (IndexError, ValueError) as error:
        return type(error)


def in_a_session(call: Callable[..., Any], arrays: list[np.ndarray]) -> Callable[..., Any]:
    graph = dt.Graph()
    with graph.as_default():
        inputs = [graph.placeholder(dt.spec(a.shape, a.dtype)) for a in arrays]
        result = call(*inputs)
    return lambda *values: dt.Session(graph).run(result, dict(zip(inputs, values, strict=True)))


def on_its_own_values(call: Callable[..., Any], arrays: list[np.ndarray]) -> Callable[..., Any]:
    """The call with arrays of the engine's library."""

    def run(*values: Any) -> Any:
        engine = current_engine()
        return engine.to_numpy(call(*[engine.asarray(v, dt.core.dtypes.as_dtype(v.dtype)) for v in values]))

    return run


WAYS: dict[str, Callable[..., Any]] = {
    "eager": lambda call, arrays: call,
    "compiled": lambda call, arrays: dt.function(call),
    "session": in_a_session,
    "native": on_its_own_values,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_out_of_range_stays_out_of_range(engine, name, way):
    call, integers = CALLS[name]
    for dtype, pairs in SMALL_AND_LARGE.items():
        run = WAYS[way](call, [np.array(v, dtype) for v in integers(0)])
        for small, large in pairs:
            expected = outcome(run, *[np.array(v, dtype) for v in integers(small)])
            found = {n: outcome(run, *[np.array(v, dtype) for v in integers(n)]) for n in large}
            assert found == dict.fromkeys(large, expected), dtype


@pytest.mark.parametrize("name", ["gather", "one_hot", "scatter_nd", "sparse_categorical_crossentropy"])
@pytest.mark.parametrize("n", [2**31, 2**32 + 1, -(2**32) - 1, 2**63])
def test_python_integers_that_do_not_fit_are_refused(engine, name, n):
    call, integers = CALLS[name]
    with pytest.raises(OverflowError, match=f"{n} does not fit into int32"):
        call(*integers(n))


@pytest.mark.parametrize("way", ["eager", "compiled", "session"])
def test_an_explicit_cast_keeps_the_lower_bits(engine, way):
    x = np.int64([2**32 + 1, -(2**32) - 3, 2**31])
    for cast in (lambda t: ops.cast(t, "int32"), lambda t: K.cast(t, "int32")):
        assert np.asarray(WAYS[way](cast, [x])(x)).tolist() == x.astype("int32").tolist()


@pytest.mark.parametrize("n", [2**40, 2**62, 2**63 - 1])
def test_counts_of_a_number_too_large_for_any_memory_are_an_error(engine, n):
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        ops.bincount(np.int64([1, n]), minlength=3)


@pytest.mark.parametrize(
    ("shift", "axis"), [(2**32 + 1, 0), (-(2**40) - 1, 1), ((2**33 + 5, 2**31), (0, 1)), (2**34, None)]
)
def test_shifts_of_64_bits(engine, shift, axis):
    assert ops.roll(M, shift, axis).numpy().tolist() == np.roll(M, shift, axis).tolist()
    unknown = dt.function(lambda x: ops.roll(x, shift, axis), input_signature=[dt.spec((None, None))])
    assert unknown(M).numpy().tolist() == np.roll(M, shift, axis).tolist()


def test_there_are_numbers_for_more_positions_than_a_byte_has(engine):
    x = np.arange(600, dtype="float32").reshape(300, 2)
    second = np.ones((300, 1), "uint8")
    assert ops.gather(x, second, axis=1, batch_dims=1).numpy().tolist() == x[:, 1:].tolist()
    assert ops.take_along_axis(x, second, 1).numpy().tolist() == x[:, 1:].tolist()
    assert ops.repeat(x[:, 0], ops.convert(second[:, 0])).numpy().tolist() == x[:, 0].tolist()
    assert ops.one_hot(np.uint8([3]), 300).numpy().argmax() == 3


def test_ctc_takes_labels_of_a_byte(engine):
    scores = np.zeros((1, 300, 2), "float32")
    labels = np.tile(np.int64([1]), (1, 150))
    wide = ops.ctc_loss(labels, scores, [150], [300]).numpy()
    narrow = ops.ctc_loss(labels.astype("uint8"), scores, np.uint8([150]), [300]).numpy()
    assert np.isfinite(wide).all()
    np.testing.assert_array_equal(narrow, wide)


# -- saturating -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (np.int64([-(2**40), -7, 2**31, 2**63 - 1]), "int32", [-(2**31), -7, 2**31 - 1, 2**31 - 1]),
        (np.uint64([5, 2**63, 2**64 - 1]), "int64", [5, 2**63 - 1, 2**63 - 1]),
        (np.int16([-300, 300, 7]), "uint8", [0, 255, 7]),
        (np.float32([1e20, -1e20, 3.7]), "int32", [2147483520, -(2**31), 3]),  # the nearest float32 inside
        (np.float16([6e4, -3.0]), "int32", [60000, -3]),
        (np.float64([1e300, -math.inf]), "float32", [np.finfo("float32").max, np.finfo("float32").min]),
        (np.array([True, False]), "int8", [1, 0]),
        (np.int64([0, 7]), "bool", [False, True]),
    ],
)
def test_saturate_cast(engine, values, dtype, expected):
    found = ops.saturate_cast(values, dtype)
    assert found.dtype == dtype
    assert found.numpy().tolist() == np.array(expected, dtype).tolist()


@pytest.mark.parametrize("engine", [name for name in ENGINES if name == "jax"], indirect=True)
def test_values_of_64_bits_where_jax_has_32(engine):
    jax = pytest.importorskip("jax")
    wide = get_engine("jax").asarray(np.int64([2**32 + 1]), dt.core.dtypes.as_dtype("int64"))
    assert not jax.config.jax_enable_x64
    assert np.asarray(ops.saturate_cast(wide, "int32")).tolist() == [2**31 - 1]
    assert np.asarray(jax.jit(lambda i: ops.one_hot(i, 3))(jax.numpy.array([1, 7]))).tolist() == [[0, 1, 0], [0, 0, 0]]
