"""Several threads at once: tapes, engines, tracing, compiled steps on shared variables."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.locks import Guard, holding, join, make_lock
from dovetail.core.engines.engine_registry import get_engine

THREADS = 6


def together(work, count=THREADS):
    """The results of work(0), work(1), …, started at the same moment, each in its own thread."""
    start = threading.Barrier(count)

    def begin(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [future.result(timeout=120) for future in [pool.submit(begin, i) for i in range(count)]]


def test_tapes_are_the_threads_own(engine):
    def work(number):
        with dt.engine(engine):
            x = ops.constant([float(number), 1.0])
            found = []
            for _ in range(10):
                with dt.GradientTape() as outer:
                    outer.watch(x)
                    with dt.GradientTape() as tape:
                        tape.watch(x)
                        y = ops.sum(x * x * x)
                    slope = tape.gradient(y, x)
                found.append((slope.numpy()[0], outer.gradient(slope, x).numpy()[0]))
            return set(found)

    assert together(work) == [{(3.0 * n * n, 6.0 * n)} for n in range(THREADS)]


def test_engines_are_the_threads_own():
    names = dt.list_engines()

    def work(number):
        name = names[number % len(names)]
        found = set()
        with dt.engine(name):
            for _ in range(30):
                found.add((ops.ones((2,)) + 1.0).engine)
        return found == {get_engine(name).holder.name}

    assert all(together(work))
    assert dt.list_engines() == names


def test_one_function_traced_by_all(engine):
    """Check that each signature is traced once, and that no graph shows up in another thread."""
    traced = []
    w = dt.Variable(2.0)

    @dt.function
    def inner(x):
        return ops.tanh(x) * w

    @dt.function
    def f(x):
        traced.append(x.shape)
        return ops.sum(inner(x)) + inner(ops.sum(x))

    def work(number):
        with dt.engine(engine):
            found = []
            for size in (1, 2, 3):
                x = ops.ones((size,)) * 0.1
                eager = ops.tanh(x)  # computed, not recorded in the graph that another thread traces
                assert eager.numpy().shape == (size,)
                found.append(float(f(x)))
            return found

    results = together(work)
    assert sorted(traced) == [(1,), (2,), (3,)]
    expected = [2 * (n * np.tanh(0.1) + np.tanh(n * 0.1)) for n in (1, 2, 3)]
    for found in results:
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_compiled_steps_on_one_variable(engine):
    """Check that steps in several threads run one after the other: no update is lost, and read values stay."""
    w, count = dt.Variable(np.zeros(5000, "float32")), dt.Variable(0)

    @dt.function
    def step():
        w.assign_add(ops.ones((5000,)))
        count.assign_add(1)
        return ops.max(w) - ops.min(w)

    def work(number):
        with dt.engine(engine):
            held = []
            for _ in range(20):
                assert float(step()) == 0
                value = w.read()
                held.append((value, value.numpy().copy()))
            return all((tensor.numpy() == numbers).all() and (numbers == numbers[0]).all() for tensor, numbers in held)

    assert all(together(work))
    assert w.numpy()[0] == w.numpy()[-1] == int(count) == 20 * THREADS


def test_compiled_steps_under_tapes(engine):
    """Check that each call of a function that assigns counts, also if a tape follows it."""
    count, w = dt.Variable(0, name="count"), dt.Variable(2.0, name="w")

    @dt.function
    def f(x):
        count.assign_add(1)
        return x * w

    def work(number):
        with dt.engine(engine):
            for _ in range(20):
                with dt.GradientTape() as tape:
                    y = f(np.float32(number))
                assert float(tape.gradient(y, w)) == number

    together(work)
    assert int(count) == 20 * THREADS


def test_steps_on_two_variables_in_both_orders(engine):
    """Check that locks are taken in one order, so that threads never deadlock."""
    a, b = dt.Variable(0.0), dt.Variable(0.0)

    @dt.function
    def forth():
        a.assign_add(1.0)
        b.assign_add(a)

    @dt.function
    def back():
        b.assign_sub(a)
        a.assign_add(1.0)

    def work(number):
        with dt.engine(engine):
            for _ in range(20):
                (forth if number % 2 else back)()

    together(work)
    assert float(a) == 20 * THREADS


def test_eager_assignments(engine):
    v = dt.Variable(0.0)

    def work(number):
        with dt.engine(engine):
            for _ in range(50):
                v.assign_add(1.0)

    together(work)
    assert float(v) == 50 * THREADS


def test_gradients_of_one_compiled_function(engine):
    w = dt.Variable(np.full(100, 2.0, "float32"))
    loss = dt.function(lambda x: ops.sum(ops.square(w * x)))

    def work(number):
        with dt.engine(engine):
            x = ops.ones((100,)) * float(number)
            with dt.GradientTape() as tape:
                tape.watch(x)
                y = loss(x)
            return [float(g.numpy()[0]) for g in tape.gradient(y, [x, w])]

    assert together(work) == [[8.0 * n, 4.0 * n * n] for n in range(THREADS)]


def test_buffers_are_the_threads_own(engine):
    """Check that a plan keeps its own buffers for each thread, from call to call."""
    f = dt.function(lambda x: ops.sum(ops.tanh(ops.exp(x * 0.5) + 1.0) * x))
    expected = []
    for n in range(THREADS):
        x = np.full(20000, n / 10, "float32")
        expected.append(float(np.sum(np.tanh(np.exp(x * 0.5) + 1) * x, dtype="float64")))

    def work(number):
        with dt.engine(engine):
            x = ops.convert(np.full(20000, number / 10, "float32"))
            return {float(f(x)) for _ in range(20)}

    for found, wanted in zip(together(work), expected, strict=True):
        assert len(found) == 1 or engine == "tensorflow"  # it goes on with XLA, which sums in another order
        np.testing.assert_allclose(list(found), wanted, rtol=1e-4)


def test_overrides_are_the_threads_own():
    @dt.RegisterGradient("ThreadsOwn")
    def _(op, g):
        return g * 100.0

    def work(number):
        x = ops.constant(0.0)
        found = set()
        for _ in range(30):
            with dt.GradientTape() as tape, dt.gradient_override_map({"Tanh": "ThreadsOwn"} if number % 2 else {}):
                tape.watch(x)
                y = ops.tanh(x)
            found.add(float(tape.gradient(y, x)))
        return found

    assert together(work) == [{100.0 if n % 2 else 1.0} for n in range(THREADS)]


def test_an_error_in_one_thread_is_not_anothers(engine):
    def work(number):
        with dt.engine(engine):
            f = dt.function(lambda x: ops.matmul(x, x))
            for _ in range(5):
                if number % 2:
                    with pytest.raises(ValueError, match="inner dimensions"):
                        f(ops.ones((2, 3)))
                else:
                    assert f(ops.ones((2, 2))).numpy().tolist() == [[2, 2], [2, 2]]

    together(work)


def test_what_waited_for_a_guard_that_was_joined_waits_for_the_other():
    """Check a thread that gets a guard's lock, finds the guard joined to another, and goes on to that guard."""
    whole, part = Guard(), Guard()
    waiting, done = threading.Event(), threading.Event()

    def other():
        waiting.set()
        part.holding(done.set)

    thread = threading.Thread(target=other)

    def joined():
        thread.start()
        waiting.wait()
        time.sleep(0.05)  # by now the other thread waits for the lock of `part`
        join([part, whole])

    def work():
        part.holding(joined)
        assert not done.wait(0.1)  # the lock of `part` is free, but not the lock of `whole`

    whole.holding(work)
    thread.join()
    assert done.is_set() and part.top is whole.top


@pytest.mark.parametrize("count", [1, 2, 5])
def test_guards_that_are_joined_are_one(count):
    guards = [Guard() for _ in range(count)]
    strangers = [Guard(), Guard()]
    top = join(reversed(guards))
    assert {guard.top for guard in guards} == {top} == {guards[0]}
    assert join([strangers[0], guards[-1]]) is guards[0]
    assert strangers[0].top is guards[0] is not strangers[1].top
    assert guards[-1].holding(lambda *args: guards[0].holding(max, *args), 1, 2) == 2


def test_guards_that_several_threads_join_in_all_orders_are_one():
    for _ in range(30):
        guards = [Guard() for _ in range(THREADS)]
        together(lambda number, guards=guards: join([*guards[number:], *guards[:number]]))
        assert {guard.top for guard in guards} == {guards[0]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_locks_in_a_forked_child():
    """Check that locks of other threads are free, and that the forking thread keeps its own."""
    theirs, own = make_lock(), make_lock()
    held, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: holding(theirs, lambda: held.set() or end.wait(60)))
    thread.start()
    held.wait()

    def fork():
        child = os.fork()
        if child == 0:
            free = theirs.acquire(timeout=5)
            os._exit(0 if free and own._is_owned() else 1)
        return os.waitpid(child, 0)[1]

    assert holding(own, fork) == 0
    end.set()
    thread.join()
