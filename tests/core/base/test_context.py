"""The context of traces: one number, which is another one if a setting or a scope is, and the same if it is again."""

import asyncio
import threading

import dovetail as dt
from dovetail import backend as K
from dovetail.core.base.context import context
from dovetail.core.base.scopes import Scoped
from tests.frames import frames


def test_scopes_and_settings():
    first = context()
    assert context() == first
    changes = {
        "floatx": lambda: dt.config.set_floatx("float64"),
        "placement": lambda: dt.set_soft_placement(False),
        "phase": lambda: K.set_learning_phase(1),
    }
    back = {
        "floatx": lambda: dt.config.set_floatx("float32"),
        "placement": lambda: dt.set_soft_placement(True),
        "phase": lambda: K.clear_session(),
    }
    seen = {first}
    for name, change in changes.items():
        change()
        try:
            assert context() not in seen, name
            seen.add(context())
        finally:
            back[name]()
        assert context() == first, name
    for scope in (
        dt.device("cpu:0"),
        K.learning_phase_scope(0),
        dt.gradient_override_map({"Mul": "Own"}),
        dt.taps("M*"),
    ):
        with scope:
            assert context() not in seen
            seen.add(context())
        assert context() == first


def test_scopes_on_which_no_trace_depends_change_nothing():
    first, outside = context(), frames(context, "/src/dovetail/")
    with Scoped(0).scope(1):
        assert context() == first
        assert frames(context, "/src/dovetail/") == outside <= 5  # the values of Keras are read each time


def test_threads_and_tasks_have_their_own():
    first, found = context(), []

    def other():
        found.append(context())
        K.set_learning_phase(1)
        found.append(context())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found[0] == first == context() != found[1]

    async def work(phase):
        with K.learning_phase_scope(phase):
            await asyncio.sleep(0)
            return context()

    async def both():
        return await asyncio.gather(work(0), work(1), work(0))

    zero, one, again = asyncio.run(both())
    assert zero == again != one and first == context()
