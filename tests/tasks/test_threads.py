"""The first scopes of new threads and contexts."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import dovetail.compat.tensorflow.compat.v1 as v1
import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from dovetail import ops
from tests.conftest import ENGINES
from tests.tasks.together import COUNT, pause, together


def view():
    """The open scopes, as a program sees them."""
    v = K.variable(3.0)
    y = v * 2.0
    return K.is_symbolic(y), (ops.ones(()) + 1.0).engine, K.learning_phase(), v1.get_default_session()


def opened():
    """Opened scopes, and the result of `view` inside them."""
    stack = ExitStack()
    stack.enter_context(dt.engine(ENGINES[-1]))
    session = stack.enter_context(dt.Session(dt.SessionGraph()))
    stack.enter_context(K.learning_phase_scope(1))
    return stack, (True, ENGINES[-1], 1, session)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def in_pool(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize("begin", [in_thread, in_pool])
def test_a_new_thread_begins_with_nothing(begin):
    stack, seen = opened()
    with stack:
        assert view() == seen
        assert begin(view) == (False, "numpy", 0, None)


def test_a_copied_context_has_what_is_open():
    stack, seen = opened()
    with stack:
        copy = contextvars.copy_context()
    assert view() == (False, "numpy", 0, None)
    assert copy.run(view) == seen
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(copy.run, view).result() == seen
        assert pool.submit(view).result() == (False, "numpy", 0, None)


def test_tasks_and_to_thread_begin_with_what_is_open():
    async def viewed():
        return view()

    async def main():
        stack, seen = opened()
        with stack:
            later = asyncio.create_task(viewed())
            found = [await asyncio.create_task(viewed()), await asyncio.to_thread(view)]
        return found == [seen, seen], await later == seen, view()

    assert asyncio.run(main()) == (True, True, (False, "numpy", 0, None))


def test_a_tape_that_is_open_records_what_to_thread_computes(engine):
    async def main():
        x = ops.constant(3.0)
        with dt.engine(engine), dt.GradientTape() as tape:
            tape.watch(x)
            y = await asyncio.to_thread(lambda: x * x)
        return float(tape.gradient(y, x))

    assert asyncio.run(main()) == 6.0


def test_python_that_is_called_by_operations_sees_the_context_of_the_call(engine):
    own = contextvars.ContextVar("own", default="default")
    found = []

    def look(x):
        found.append((own.get(), K.learning_phase()))
        return x

    def work():
        with dt.engine(engine), K.learning_phase_scope(1):
            own.set("mine")
            tf.numpy_function(look, [np.float32(1)], tf.float32)

    contextvars.copy_context().run(work)
    assert found == [("mine", 1)]


def test_rules_that_programs_bring_see_the_context_of_the_call(engine):
    own = contextvars.ContextVar("own", default="default")
    found = []

    @dt.register_op("LooksAround", infer=lambda x: x)
    def look(x: dt.kinds.Float): ...

    @look.rule(engine)
    def _(x):
        found.append((own.get(), K.learning_phase()))
        return x

    def work():
        with dt.engine(engine), K.learning_phase_scope(1):
            own.set("mine")
            look(np.float32(1))

    try:
        contextvars.copy_context().run(work)
    finally:
        dt.unregister_op("LooksAround")
    assert found == [("mine", 1)]


def test_functions_are_traced_and_compiled_in_tasks(engine):
    """Check one trace for each signature; the threads that compile in the background do not belong to the task."""
    traced = []

    @dt.function
    def f(x):
        traced.append(x.shape)
        return ops.sum(ops.tanh(x))

    async def work(number):
        with dt.engine(engine), dt.GradientTape() as tape:
            x = ops.ones((number % 3 + 1,)) * 0.5
            tape.watch(x)
            await pause()
            y = f(x)
            await pause()
        return float(y), float(ops.sum(tape.gradient(y, x)))

    sizes = np.arange(COUNT) % 3 + 1
    np.testing.assert_allclose(
        together(work), np.stack([sizes * np.tanh(0.5), sizes / np.cosh(0.5) ** 2], 1), rtol=1e-5
    )
    assert sorted(traced) == [(1,), (2,), (3,)]
