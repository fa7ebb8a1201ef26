"""Accounting: live arrays and arenas by engine, limits that hold, and allocators of a program's own."""

from __future__ import annotations

import dataclasses
import gc
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine
from tests.conftest import ENGINES

SIZE = 50_000  # float32
BYTES = 4 * SIZE
COUNTING = [name for name in ("numpy", "torch") if name in ENGINES]
OTHERS = [name for name in ("jax", "tensorflow") if name in ENGINES]
ONES = np.ones(SIZE, "float32")


def here() -> dt.MemoryInfo:
    gc.collect()
    name = current_engine().name
    return next(info for info in dt.memory_info("cpu:0") if info.engine == name)


@pytest.fixture(params=COUNTING)
def counting(request):
    """An engine whose memory Dovetail counts, without a limit or an allocator after the test."""
    with dt.engine(request.param):
        yield request.param
    dt.set_memory_limit(None, request.param)
    dt.set_allocator(None, request.param)
    assert not {"allocate", "asarray", "copy"} & vars(current_engine()).keys()


def limited(room: int) -> None:
    """Leave room for so many more bytes."""
    info = here()
    dt.set_memory_limit(info.in_use + room)


def test_live_arrays_are_counted(engine):
    before = here()
    x = ops.convert(ONES)
    same, y, v = ops.identity(x), x * 2.0, dt.Variable(ONES)
    after = here()
    assert after.bytes - before.bytes == 3 * BYTES and after.arrays - before.arrays == 3
    assert (after.engine, after.device) == (engine, "cpu:0") and same.shape == x.shape
    del x, y, v, same
    assert here().bytes == before.bytes


@pytest.mark.parametrize("name", COUNTING)
def test_views_count_once_and_arenas_by_thread(name):
    with dt.engine(name):
        x = ops.convert(ONES)
        before = here()
        view = ops.reshape(x, (2, -1))[1]

        @dt.function
        def f(x):
            for _ in range(4):
                x = ops.exp(-x)
            return ops.sum(x)

        f(x)
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        thread.join()
        after = here()
    assert view.shape == (SIZE // 2,) and after.bytes - before.bytes < 100
    assert after.arenas - before.arenas == 1, "that of the thread is gone"
    assert after.arena_bytes - before.arena_bytes == BYTES
    assert after.in_use - before.in_use == after.bytes - before.bytes + BYTES


def test_an_unknown_device(engine):
    with pytest.raises(ValueError, match=r"memory_info at test_accounting.py:\d+: the engines in use have .*cpu:0"):
        dt.memory_info("gpu:77")


CALLS = {
    "elementwise": lambda x: ops.exp(x),
    "no rule for `out`": lambda x: ops.sigmoid(x) if current_engine().name == "numpy" else ops.cumsum(x),
    "product": lambda x: ops.matmul(x[:, None][:200], x[None, :200]),
    "conversion": lambda x: ops.convert(ONES),
    "variable": lambda x: dt.Variable(ONES),
    "by a body": lambda x: ops.silu(x),
    "compiled": lambda x: dt.function(lambda x: ops.exp(x) + 1.0)(x),
    "a buffer": lambda x: dt.function(lambda x: ops.sum(ops.exp(ops.sin(x))))(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_limit_is_enforced(counting, name):
    x = ops.convert(ONES)
    limited(3 * BYTES + 1000)
    kept = CALLS[name](x)
    limited(BYTES // 2)
    before = here()
    problem = (
        rf"at test_accounting.py:\d+: it needs [\d,]+ bytes on {counting} \(cpu:0\), where [\d,]+ bytes are in use"
    )
    with pytest.raises(MemoryError, match=problem):
        kept = kept, CALLS[name](x)
    assert dataclasses.replace(here(), peak=before.peak) == before
    limited(3 * BYTES + 1000)
    CALLS[name](x)


def test_what_is_let_go_makes_room(counting):
    limited(int(3.5 * BYTES))
    for _ in range(10):
        x = ops.convert(ONES)
        y = x + 1.0
    assert here().peak >= here().bytes
    with pytest.raises(MemoryError, match="and the limit is"):
        _ = [y, x * 2.0, x * 3.0]
    view = y[1:]
    del y
    with pytest.raises(MemoryError):
        _ = [x * 2.0, x * 3.0]
    assert view.shape == (SIZE - 1,)


def test_a_step_that_is_refused_leaves_variables_as_they_were(counting):
    v, w = dt.Variable(ONES), dt.Variable(ONES)

    @dt.function
    def step(x):
        v.assign(ops.exp(v.read()) * x)
        w.assign(ops.cumsum(w.read() * x))

    x = ops.convert(ONES)
    limited(0)
    for _ in range(2):
        with pytest.raises(MemoryError):
            step(x)
        np.testing.assert_array_equal(v.numpy(), ONES)
        np.testing.assert_array_equal(w.numpy(), ONES)
    dt.set_memory_limit(None)
    step(x)
    assert not np.array_equal(v.numpy(), ONES)


def test_limits_that_cannot_be():
    with dt.engine("numpy"):
        x = ops.convert(ONES)
        for limit, kind in ((True, TypeError), (1.5, TypeError), (-1, ValueError)):
            with pytest.raises(kind, match="set_memory_limit at test_accounting"):
                dt.set_memory_limit(limit)
        with pytest.raises(ValueError, match="has the devices cpu:0 here"):
            dt.set_memory_limit(10**9, device="gpu:0")
        with pytest.raises(MemoryError, match=r"set_memory_limit at test_accounting\.py"):
            dt.set_memory_limit(BYTES // 2)
        assert here().limit is None and x.shape == (SIZE,)


@pytest.mark.parametrize("name", OTHERS)
def test_engines_whose_library_takes_memory_by_itself_say_so(name):
    with pytest.raises(NotImplementedError, match="cannot be limited"):
        dt.set_memory_limit(10**9, name)
    with pytest.raises(NotImplementedError, match="takes memory from its own allocator alone"):
        dt.set_allocator(Pool(current_engine), name)


def test_a_limit_holds_on_an_engine_that_a_program_registers():
    """Check an engine whose arrays have no attributes, and nothing but rules."""
    from tests.core.boxes import BoxEngine, rules

    dt.register_engine(BoxEngine(rules))
    try:
        with dt.engine("boxes"):
            x = ops.convert(ONES)
            assert here().arrays == 1 and here().bytes == BYTES
            limited(BYTES // 2)
            for call in (lambda: ops.exp(x), lambda: ops.convert(ONES), dt.function(lambda: ops.exp(x) * 2.0)):
                with pytest.raises(MemoryError, match=r"at test_accounting\.py:\d+: it needs .* on boxes"):
                    call()
            assert here().bytes == BYTES
            with pytest.raises(NotImplementedError, match="takes memory from its own allocator alone"):
                dt.set_allocator(Pool(current_engine()))
            dt.set_memory_limit(None)
            assert dt.function(lambda: ops.exp(x) * 2.0)().shape == (SIZE,)
    finally:
        dt.unregister_engine("boxes")


# -- allocators -------------------------------------------------------------------------------------------------------


class Pool:
    """Counts what it gives, by addresses."""

    def __init__(self, engine) -> None:
        self.engine = engine
        self.live: list[int] = []
        self.given = 0

    def allocate(self, shape, dtype, device):
        array = type(self.engine).allocate(self.engine, shape, dtype, device)
        self.live.append(self.address(array))
        self.given += 1
        return array

    def release(self, array) -> None:
        self.live.remove(self.address(array))

    def address(self, array) -> int:
        return self.engine.to_numpy(array).ctypes.data

    def holds(self, tensor) -> bool:
        return self.address(tensor.read().value if isinstance(tensor, dt.Variable) else tensor.value) in self.live


@pytest.mark.parametrize("name", CALLS)
def test_an_allocator_gives_the_memory_of_large_results(counting, name):
    pool = Pool(current_engine())
    x = ops.convert(ONES)
    expected = CALLS[name](x)
    dt.set_allocator(pool)
    found = CALLS[name](x)
    assert pool.given > 0 and (name == "a buffer" or pool.holds(found))
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert here().bytes >= BYTES


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64", "complex64"])
def test_memory_is_released_after_the_last_view(counting, dtype):
    pool = Pool(current_engine())
    dt.set_allocator(pool)
    x = ops.convert(np.ones((100, 200)), dtype=dtype)
    assert pool.holds(x) and x.dtype == dtype and x.shape == (100, 200)
    array = current_engine().to_numpy(x.value)[1:]
    del x
    gc.collect()
    assert len(pool.live) == 1 and (array == 1).all()
    del array
    gc.collect()
    assert pool.live == []
    small = ops.convert([1.0]) * 2.0
    assert pool.live == [] and small.tolist() == [2.0]


def test_an_allocator_that_refuses(counting):
    x = ops.convert(ONES)

    class Empty:
        def allocate(self, shape, dtype, device):
            raise MemoryError("the pool is empty")

        def release(self, array):
            raise AssertionError("it gave none")

    dt.set_allocator(Empty())
    for call in (lambda: x * 2.0, lambda: ops.convert(ONES), dt.function(lambda: x * 2.0)):
        with pytest.raises(MemoryError, match=r"Empty.allocate at test_accounting\.py:\d+: the pool is empty"):
            call()
    dt.set_allocator(None)
    assert (x * 2.0).tolist() == [2.0] * SIZE


def test_wrong_allocators(counting):
    class Wrong:
        def allocate(self, shape, dtype, device):
            return [0.0] * SIZE

        def release(self, array):
            pass

    with pytest.raises(TypeError, match=r"set_allocator at .*allocate is missing"):
        dt.set_allocator(object())
    dt.set_allocator(Wrong())
    with pytest.raises(TypeError, match=rf"Wrong.allocate at .*an array of {counting}'s, float32\[50000\], not"):
        ops.convert(ONES)


def test_memory_that_is_in_use_is_not_given_again(counting):
    class One(Pool):
        array = None

        def allocate(self, shape, dtype, device):
            if self.array is None:
                self.array = super().allocate(shape, dtype, device)
            return self.array

        def release(self, array):
            pass

    dt.set_allocator(One(current_engine()))
    first = ops.convert(ONES)
    with pytest.raises(ValueError, match="in use until `release` has it"):
        ops.convert(ONES)
    assert first.tolist() == ONES.tolist()
    del first
    gc.collect()
    assert ops.convert(ONES).tolist() == ONES.tolist()


def test_an_allocator_and_a_limit(counting):
    pool = Pool(current_engine())
    dt.set_allocator(pool)
    x = ops.convert(ONES)
    limited(BYTES + 1000)
    y = x + 1.0
    given = pool.given
    with pytest.raises(MemoryError):
        x + 2.0
    assert pool.given == given and pool.holds(y)
