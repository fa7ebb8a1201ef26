"""Buffer planning: reused buffers, buffers that must not be reused, and right numbers."""

import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.buffers import SMALLEST

BIG = (64, 64)


def plan_of(function, *specs, engine="numpy"):
    return dt.function(function).concrete(*specs).plan(get_engine(engine))


def chain(x, length=12):
    for _ in range(length):
        x = ops.exp(-x)
    return x * 2.0


@pytest.mark.parametrize("engine", [e for e in ("numpy", "torch") if e in dt.list_engines()])
def test_a_chain_needs_one_buffer(engine):
    plan = plan_of(chain, dt.spec(BIG), engine=engine)
    assert len(plan.segments[0].buffers.specs) == 1
    x = np.full(BIG, 0.5, "float32")
    with dt.engine(engine):
        expected = chain(ops.convert(x)).numpy()
        f = dt.function(chain)
        for _ in range(3):
            np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-6)


def test_small_values_have_no_buffers():
    assert plan_of(chain, dt.spec((2, 2))).segments[0].buffers.specs == []


@pytest.mark.parametrize(
    ("size", "dtype", "count"),
    [(SMALLEST // 4, "float32", 1), (SMALLEST // 4 - 1, "float32", 0), (SMALLEST // 8, "float64", 1)],
)
def test_buffers_are_of_so_many_bytes_at_least(size, dtype, count):
    assert len(plan_of(chain, dt.spec((size,), dtype)).segments[0].buffers.specs) == count


def test_unknown_sizes_have_no_buffers():
    assert plan_of(chain, dt.spec((None, 64))).segments[0].buffers.specs == []


def test_results_are_never_in_the_arena(engine):
    """Check that a call's result does not change during the next calls, nor do views of intermediate values."""

    @dt.function
    def f(x):
        a = ops.exp(x)
        b = a + 1.0
        return b, ops.reshape(a, (-1,)), ops.transpose(b * 3.0), b[1:]

    kept = [(i, f(np.full(BIG, i, "float32"))) for i in range(3)]
    for i, (b, a, t, s) in kept:
        np.testing.assert_allclose(a.numpy(), np.full(64 * 64, np.exp(i)), rtol=1e-6)
        for found, expected in ((b, 1), (t, 3), (s, 1)):
            np.testing.assert_allclose(found.numpy(), (np.exp(i) + 1) * expected, rtol=1e-6)


def test_views_keep_their_buffer_alive(engine):
    """Check a transposed view that is read after the last use of its base."""

    @dt.function
    def f(x):
        a = ops.exp(x)
        view = ops.transpose(a)
        b = ops.exp(x * 2.0)
        c = ops.exp(x * 3.0)
        return view + b + c

    x = np.random.default_rng(0).normal(size=BIG).astype("float32")
    expected = np.exp(x).T + np.exp(2 * x) + np.exp(3 * x)
    np.testing.assert_allclose(f(x).numpy(), expected, rtol=1e-5)


def test_no_write_over_a_transposed_argument(engine):
    x = np.random.default_rng(0).normal(size=BIG).astype("float32")

    @dt.function
    def f(x):
        a = ops.exp(x)
        return (a + ops.transpose(a)) * 2.0

    if engine == "numpy":  # numpy copies if it reads and writes the same memory
        assert len(plan_of(f, x).segments[0].buffers.specs) == 2
    np.testing.assert_allclose(f(x).numpy(), 2 * (np.exp(x) + np.exp(x).T), rtol=1e-5)


def test_threads_have_arenas_of_their_own():
    f = dt.function(chain)
    results = {}

    def work(i):
        x = np.full(BIG, i / 10, "float32")
        results[i] = [f(x).numpy() for _ in range(50)]

    f(np.zeros(BIG, "float32"))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, found in results.items():
        expected = chain(ops.convert(np.full(BIG, i / 10, "float32"))).numpy()
        for value in found:
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(("size", "count"), [(SMALLEST // 4 - 60, 16), (SMALLEST // 4 - 61, 0)])
def test_spare_buffers_are_of_so_many_bytes_in_all_results(size, count):
    """Check that an op of several variables gets all their spare buffers, though the first is small."""
    slots = [dt.Variable(np.zeros(n, "float32")) for n in (*[4] * 15, size)]

    def step():
        for slot, value in zip(slots, ops.sgd_step(*[[s.value for s in slots]] * 2, [], 0.5), strict=True):
            slot.assign(value)

    assert len(plan_of(step).segments[0].buffers.spares) == count
