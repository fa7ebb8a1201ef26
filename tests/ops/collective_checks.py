"""The checks that each rank of two computes; `test_collective.py` starts them, on an engine each."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import CollectiveError
from dovetail.core.engines.collectives import WORLD
from dovetail.distributed import transport
from tests.engines.test_transfer import pointer

dt.distributed.init(timeout=60)
RANK = dt.distributed.rank()
BOTH = [np.float32([[1, 7], [2, -5]]), np.float32([[4, 0], [-3, 3]])]
X = BOTH[RANK]
ROWS = slice(RANK, RANK + 1)
EXPECTED = {  # (function of a tensor) → its value on this rank
    "sum": (lambda x: ops.all_reduce(x), sum(BOTH)),
    "mean": (lambda x: ops.all_reduce(x, "mean"), sum(BOTH) / 2),
    "max": (lambda x: ops.all_reduce(x, "max"), np.maximum(*BOTH)),
    "min": (lambda x: ops.all_reduce(x, "min"), np.minimum(*BOTH)),
    "gather": (lambda x: ops.all_gather(x), np.concatenate(BOTH)),
    "scatter": (lambda x: ops.reduce_scatter(x), sum(BOTH)[ROWS]),
    "scatter mean": (lambda x: ops.reduce_scatter(x, "mean"), sum(BOTH)[ROWS] / 2),
    "broadcast": (lambda x: ops.broadcast_from(x, 1), BOTH[1]),
    "swap": (lambda x: ops.all_to_all(x), np.concatenate([part[ROWS] for part in BOTH])),
    "barrier": (lambda x: ops.barrier(x), X),
    "alone": (lambda x: ops.all_reduce(x, ranks=(RANK,)), X),
    "pair": (lambda x: ops.all_reduce(x, ranks=(1, 0)), sum(BOTH)),
}


def values() -> None:
    """Each collective gives its value: eagerly, in a function, in a session."""
    for name, (collective, expected) in EXPECTED.items():
        graph = dt.SessionGraph()
        with graph.as_default():
            x = graph.placeholder(dt.spec((2, 2)), "x")
            fetched = ops.tanh(collective(x) / 8.0)
        compiled = dt.function(lambda x, f=collective: ops.tanh(f(x) / 8.0))(X)
        with dt.Session(graph) as session:
            found = session.run(fetched, {x: X})
        for value in (ops.tanh(collective(X) / 8.0), compiled, found):
            np.testing.assert_allclose(value, np.tanh(expected / 8), rtol=1e-5, err_msg=name)
    for dtype in ("float64", "float16", "bfloat16", "int8", "int64", "uint16", "int16", "complex64"):
        np.testing.assert_array_equal(ops.cast(ops.all_reduce(ops.cast(abs(X), dtype)), "float32"), sum(map(abs, BOTH)))
    assert ops.all_reduce(X > 0, "min").numpy().tolist() == [[True, False], [False, False]]
    for size in (4, 400):  # NaN comes through, of few elements and of many
        own = np.ones(size, "float32")
        own[RANK] = np.nan
        for way in ("max", "min"):
            whole = ops.all_reduce(own, way).numpy()
            np.testing.assert_array_equal(whole, np.where(np.arange(size) < 2, np.nan, 1))
            np.testing.assert_array_equal(ops.reduce_scatter(own, way), np.split(whole, 2)[RANK])


def gradients() -> None:
    """Gradients belong to the sum of both ranks' losses; the tape and the graph agree."""
    own = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]]) * (RANK + 1)
    total = 3 * np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])
    expected = {
        "sum": total[:2],
        "mean": total[:2] / 2,
        "max": np.where(np.maximum(*BOTH) == X, total[:2], 0),
        "min": np.where(np.minimum(*BOTH) == X, total[:2], 0),
        "gather": total[2 * RANK : 2 * RANK + 2],
        "scatter": np.float32([[1, 2], [2, 4]]),
        "scatter mean": np.float32([[1, 2], [2, 4]]) / 2,
        "broadcast": total[:2] * RANK,
        "swap": np.float32([[1, 2], [2, 4]]) if RANK == 0 else np.float32([[3, 4], [6, 8]]),
        "barrier": own[:2],
    }

    def gradient(name, x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = EXPECTED[name][0](x)
            loss = ops.sum(y * own[: y.shape[0]])
        return tape.gradient(loss, x)

    for name, value in expected.items():
        for found in (gradient(name, ops.convert(X)), dt.function(lambda x, n=name: gradient(n, x))(X)):
            np.testing.assert_allclose(found, value, rtol=1e-5, err_msg=name)
    zero = ops.zeros(1)
    with dt.GradientTape() as tape:
        tape.watch(zero)
        loss = ops.sum(ops.sqrt(ops.broadcast_from(zero, 1)))
    assert tape.gradient(loss, zero).numpy() == (0, np.inf)[RANK]


def second_gradients() -> None:
    """A gradient of a gradient belongs to the sum of both ranks' losses, as finite differences show."""
    step, direction, x = 1e-6, np.float64([[0.3, -0.7], [0.2, 0.5]]), ops.cast(X / 4, "float64")

    def gradient(loss, value):
        with dt.GradientTape() as tape:
            tape.watch(value)
            total = loss(value)
        return tape.gradient(total, value)

    for name, (collective, _) in EXPECTED.items():

        def inner(value, collective=collective):
            return ops.sum(ops.sin(collective(value * value))) * (1.0 + RANK)

        def loss(value, inner=inner):
            return ops.sum(gradient(inner, value) ** 3)

        slope = float(ops.sum(gradient(loss, x) * direction))
        for rank in (0, 1):
            totals = [float(ops.all_reduce(loss(x + sign * step * direction * (rank == RANK)))) for sign in (1.0, -1.0)]
            if rank == RANK:
                np.testing.assert_allclose(slope, (totals[0] - totals[1]) / (2 * step), 1e-4, 1e-4, err_msg=name)


def control_flow() -> None:
    """Collectives meet in loops, in branches and if nobody uses them, in the order of the program."""

    def summed(v):
        return (ops.all_reduce(abs(v)) + 1.0,)

    @dt.function
    def f(x):
        y = ops.while_loop(lambda v: ops.max(v) < 100.0, summed, (x,))[0]
        ops.barrier(x)
        z = ops.cond(ops.max(y) > 0.0, lambda: ops.all_reduce(x, "max"), lambda: x)
        return y, z

    def meet(x):
        first = ops.all_reduce(ops.exp(ops.tanh(x)), "max")
        second = ops.all_gather(x)
        return second, first

    second, first = dt.function(meet)(X)
    np.testing.assert_allclose(first, np.exp(np.tanh(np.maximum(*BOTH))), rtol=1e-5)
    np.testing.assert_array_equal(second, np.concatenate(BOTH))
    expected, (y, z) = sum(map(np.abs, BOTH)) + 1, f(X)
    while expected.max() < 100:
        expected = 2 * expected + 1
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, np.maximum(*BOTH))


def mismatches() -> None:
    """Another op, shape or reduction is an error on both ranks, after which they go on."""
    for wrong in (
        lambda: ops.all_reduce(X, ("sum", "max")[RANK]),
        lambda: ops.all_reduce(X[: RANK + 1]),
        lambda: (ops.all_gather, ops.all_to_all)[RANK](X),
        lambda: dt.function(lambda x: ops.all_reduce(x[: RANK + 1]))(X),
    ):
        with pytest.raises(
            CollectiveError, match=r"All\w+ at collective_checks.py:\d+: rank 0 computes All.*; rank 1 "
        ):
            wrong()
    for rows, collective in ((3, ops.all_to_all), (401, ops.all_to_all), (3, ops.reduce_scatter)):
        uneven = dt.function(collective, input_signature=[dt.spec((None,))])
        with pytest.raises(ValueError, match=f"{rows} rows cannot be divided evenly among 2 ranks"):
            uneven(np.ones(rows, "float32"))
    np.testing.assert_array_equal(ops.all_reduce(X), sum(BOTH))
    with pytest.raises(ValueError, match=r"the group \(\d,\); leave it out"):
        ops.all_reduce(X, ranks=(1 - RANK,))


def averages() -> None:
    """The gradients of all dtypes are averaged, also by weights."""
    given = [X, None, np.float64(RANK), X[0], np.float32([])]
    plain, weighted = dt.distributed.average(given), dt.distributed.average(given, weight=1.0 + 2 * RANK)
    shares = (0.5, 0.5), (0.25, 0.75)
    for found, (a, b) in zip((plain, weighted), shares, strict=True):
        assert found[1] is None and [g.dtype for g in found if g is not None] == [
            "float32",
            "float64",
            *["float32"] * 2,
        ]
        np.testing.assert_allclose(found[0], a * BOTH[0] + b * BOTH[1], rtol=1e-6)
        np.testing.assert_allclose(found[3], (a * BOTH[0] + b * BOTH[1])[0], rtol=1e-6)
        assert float(found[2]) == b and found[4].shape == (0,)


def of_library(function, x, compiles):
    """The value and the gradient of a function, by the library of this rank's engine on its own values.

    jax and TensorFlow always compile; torch takes seconds for that.
    """
    engine = ops.convert(0.0).engine
    if engine == "jax":
        import jax

        value, gradient = jax.jit(jax.value_and_grad(function))(jax.numpy.asarray(x))
    elif engine == "torch":
        import torch

        given = torch.tensor(x, requires_grad=True)
        value = (torch.compile(function, backend="eager") if compiles else function)(given)
        (gradient,) = torch.autograd.grad(value, given)
        value = value.detach()
    elif engine == "tensorflow":
        import tensorflow as tf

        @tf.function(autograph=False)
        def differentiated(given):
            with tf.GradientTape() as tape:
                tape.watch(given)
                value = function(given)
            return value, tape.gradient(value, given)

        value, gradient = differentiated(tf.constant(x))
    else:
        given = ops.convert(x)
        with dt.GradientTape() as tape:
            tape.watch(given)
            value = function(given)
        gradient = tape.gradient(value, given)
    return np.asarray(value), np.asarray(gradient)


def native_values() -> None:
    """Libraries compile and differentiate collectives of their own values, also inside of a Dovetail function."""
    for name in ("sum", "mean", "max", "gather", "scatter", "broadcast", "swap", "barrier"):
        collective, expected = EXPECTED[name]

        def function(x, collective=collective):
            return ops.sum(ops.square(collective(x)))

        given = ops.convert(X)
        with dt.GradientTape() as tape:
            tape.watch(given)
            y = function(given)
        wanted = np.sum(np.square(expected)), tape.gradient(y, given).numpy()
        for found in (of_library(function, X, name == "sum"), of_library(dt.function(function), X, False)):
            for mine, theirs in zip(found, wanted, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-5, err_msg=name)


def halves() -> None:
    """Wider gradients travel as halves by choice, are summed in float32, and come as the same bits on both ranks."""
    rng = np.random.default_rng(3)
    both = rng.normal(size=(2, 5, 7)).astype("float32")
    for wire, error in (("bfloat16", 2**-7), ("float16", 2**-10)):
        for dtype in ("float32", "float64", "float16"):
            for weight, (a, b) in ((None, (0.5, 0.5)), (1.0 + 2 * RANK, (0.25, 0.75))):
                given = [ops.cast(both[RANK], dtype), ops.cast(both[RANK][0], dtype)]
                average = dt.function(lambda x, y, w=weight, wire=wire: dt.distributed.average([x, y], w, wire))
                for found in (average(*given), dt.distributed.average(given, weight, wire)):
                    expected = a * both[0] + b * both[1]
                    assert [(g.dtype, g.shape) for g in found] == [(dtype, (5, 7)), (dtype, (7,))]
                    own = 2**-9 if dtype == "float16" else error
                    np.testing.assert_allclose(ops.cast(found[0], "float32"), expected, rtol=own, atol=2 * own)
                    least, most = (ops.all_reduce(ops.cast(found[1], "float32"), how) for how in ("min", "max"))
                    np.testing.assert_array_equal(least, most)
    with pytest.raises(ValueError, match="gradients travel as 'bfloat16' or 'float16'"):
        dt.distributed.average([X], wire="int8")
    dt.distributed.init(wire="bfloat16")
    rounded = dt.distributed.average([both[RANK]])[0].numpy()
    np.testing.assert_array_equal(rounded, ops.cast(ops.cast(rounded, "bfloat16"), "float32"))
    dt.distributed.init(wire="")
    exact = both.mean(axis=0)
    np.testing.assert_allclose(dt.distributed.average([both[RANK]])[0], exact, rtol=1e-6)
    assert not np.array_equal(rounded, exact)


def large_halves() -> None:
    """A mean of halves is finite where their sum is not, also if it is weighted, of few elements and of many."""
    for size in (2, 1000):
        own = np.full(size, 60000, "float16")
        for found in (
            ops.all_reduce(own, "mean"),
            dt.distributed.average([own])[0],
            dt.distributed.average([own], weight=64.0 + 64 * RANK)[0],
            *dt.distributed.average([own], weight=3, wire="bfloat16"),
        ):
            np.testing.assert_array_equal(found, own)
        np.testing.assert_array_equal(ops.reduce_scatter(own, "mean"), own[: size // 2])


def memory() -> None:
    """NumPy and torch share their memory with the exchange, both ways; what jax sends is copied once."""
    exchange, on_host = WORLD.transport, transport._on_host
    sent, received, copies = [], [], []

    def exchanged(op, array, *rest):
        sent.append(array.ctypes.data)
        found = exchange(op, array, *rest)
        received.append(found.ctypes.data)
        return found

    def copied(array):
        found = on_host(array)
        if found is not array:
            copies.append(found.ctypes.data)
        return found

    x = ops.convert(np.arange(1000, dtype="float32"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WORLD, "transport", exchanged)
        patch.setattr(transport, "_on_host", copied)
        for name in ("sum", "mean", "max", "gather", "scatter", "broadcast", "swap"):
            y = EXPECTED[name][0](x)
            if x.engine in ("numpy", "torch"):
                assert (sent, received, copies) == ([pointer(x)], [pointer(y)], []), name
            elif x.engine == "jax":
                assert sent == [pointer(x)] and len(copies) == 1, name
                assert name not in ("sum", "mean", "max") or received == copies, name  # added up in the copy itself
            for pointers in (sent, received, copies):
                pointers.clear()


def parts() -> None:
    """A large array travels in several parts in the first calls, with the same numbers."""
    large = np.arange(100_001, dtype="float32") + RANK
    for _ in range(20):
        np.testing.assert_array_equal(ops.all_reduce(large, "mean"), large + 0.5 - RANK)


if __name__ == "__main__":
    for check in (
        *(values, gradients, second_gradients, averages, halves, large_halves, memory, parts, mismatches),
        *(control_flow, native_values),
    ):
        check()
        print("checked", check.__name__, flush=True)
