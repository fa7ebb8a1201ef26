"""Scopes that end in another order, task, thread or context than they began."""

import asyncio
import contextvars
import threading
from contextlib import ExitStack, contextmanager

import dovetail.compat.tensorflow.compat.v1 as v1
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from tests.conftest import ENGINES
from tests.tasks.together import pause


def state():
    """The state of a thread or task: `PLAIN` if no scope is open."""
    v = dt.Variable(1.0)
    with dt.GradientTape() as tape:
        y = v * 2.0
    K.learning_phase()
    return float(y), float(tape.gradient(y, v)), (ops.ones(()) + 1.0).engine, K.is_symbolic(K.variable(1.0) + 1.0)


PLAIN = (2.0, 2.0, "numpy", False)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_generators_that_build_graphs_end_in_any_order(order):
    def building(graph):
        with graph.as_default():
            yield

    graphs = [dt.SessionGraph(f"graph{n}") for n in range(3)]
    generators = list(map(building, graphs))
    for generator in generators:
        next(generator)
    for done, number in enumerate(order):
        assert v1.get_default_graph() is graphs[max(order[done:])]
        generators[number].close()
    assert state() == PLAIN


@pytest.mark.parametrize("first", [0, 1])
def test_generators_with_engines_and_tapes_end_in_any_order(first):
    other = ENGINES[-1]

    def on_engine():
        with dt.engine(other):
            yield (ops.ones(()) + 1.0).engine

    def with_tape():
        with dt.GradientTape():
            yield

    generators = [on_engine(), with_tape()]
    for generator in generators:
        next(generator)
    generators[first].close()
    assert (ops.ones(()) + 1.0).engine == ("numpy" if first == 0 else other)
    generators[1 - first].close()
    assert state() == PLAIN


@contextmanager
def of_variables():
    with v1.Graph().as_default(), v1.variable_scope("scope"):
        yield


HOLDING = {
    "engine": lambda: dt.engine("numpy"),
    "device": lambda: dt.device("cpu:0"),
    "graph": lambda: dt.Graph().as_default(),
    "tape": dt.GradientTape,
    "stopped tape": lambda: dt.GradientTape().stop_recording(),
    "session": lambda: dt.Session(dt.SessionGraph()),
    "overrides": lambda: dt.gradient_override_map({}),
    "overrides of a graph": lambda: dt.Graph().gradient_override_map({}),
    "names": lambda: dt.Graph().name_scope("scope"),
    "names of Keras": lambda: K.name_scope("scope"),
    "control": lambda: dt.SessionGraph().control_dependencies([]),
    "phase": lambda: K.learning_phase_scope(1),
    "variables": of_variables,
    "edit": lambda: dt.Graph().edit(),
    "device of a graph": lambda: dt.SessionGraph().device("/gpu:0"),
}


@pytest.mark.parametrize("way", ["another context", "another thread", "a task", "at the end"])
@pytest.mark.parametrize("kind", HOLDING)
def test_scopes_that_generators_hold_end_elsewhere(kind, way):
    """Check that nothing raises, here or there, and that no scope is left where the generators end."""

    def hold():
        with HOLDING[kind]():
            yield

    generator = hold()
    contextvars.copy_context().run(next, generator)
    assert state() == PLAIN
    found = []

    def end():
        generator.close()
        found.append(state())

    async def task():
        end()

    if way == "another context":
        contextvars.copy_context().run(end)
    elif way == "another thread":
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
    elif way == "a task":
        asyncio.run(task())
    else:
        del generator
        found.append(state())
    assert found == [PLAIN] and state() == PLAIN


def test_asynchronous_generators_end_in_other_tasks():
    async def values():
        with dt.engine("numpy"), dt.GradientTape(), dt.Graph().as_default():
            yield 1
            yield 2

    async def main():
        generator = values()

        async def begin():
            return await anext(generator)

        assert await asyncio.create_task(begin()) == 1
        before = state()
        await generator.aclose()
        return before, state()

    assert asyncio.run(main()) == (PLAIN, PLAIN)


@pytest.mark.parametrize("kind", HOLDING)
@pytest.mark.parametrize("how", ["error", "cancel"])
def test_errors_and_cancelled_tasks_leave_the_state_as_it_was(kind, how):
    async def fail():
        with HOLDING[kind]():
            await pause()
            if how == "error":
                raise KeyError
            await asyncio.sleep(60)

    async def catch():
        before = state()
        task = asyncio.create_task(fail())
        await pause()
        await pause()
        task.cancel()
        try:
            await task
        except (KeyError, asyncio.CancelledError) as error:
            kinds = type(error).__name__
        return before, kinds, state()

    async def inside():
        """Check the same where the scope belongs to the task that goes on."""
        try:
            if how == "error":
                await fail()
            else:
                async with asyncio.timeout(0.001):
                    await fail()
        except (KeyError, TimeoutError):
            return state()

    assert asyncio.run(catch()) == (PLAIN, "KeyError" if how == "error" else "CancelledError", PLAIN)
    assert asyncio.run(inside()) == PLAIN
    assert state() == PLAIN


def test_a_session_that_is_closed_in_another_task():
    async def main():
        session = v1.Session(graph=v1.Graph())
        stack = ExitStack()

        async def begin():
            stack.enter_context(session)

        await asyncio.create_task(begin())
        stack.close()
        return v1.get_default_session(), state()

    assert asyncio.run(main()) == (None, PLAIN)
