"""Scopes: one record for a thread or task; scopes end in any order, and in any context."""

import ast
import asyncio
import contextvars
import itertools
import threading

import pytest

from dovetail.core.base.scopes import Scoped, Setting, change, enter, leave, opened, scopes, within

DEPTH, NAMES = Scoped(0), Scoped(())
# scope → (a function that opens it, a function that looks for it)
KINDS = {
    "a stack": (lambda: opened(lambda around: {"tapes": (*around.tapes, "tape")}), lambda: "tape" in scopes().tapes),
    "a field": (lambda: within(engine="engine"), lambda: scopes().engine == "engine"),
    "a value of a module": (lambda: DEPTH.scope(3), lambda: DEPTH.get() == 3),
    "several fields": (lambda: within(exact=True, overrides={"Tanh": "Other"}), lambda: scopes().exact),
}


def held(scope):
    """A generator that opens a scope in its first step."""
    with scope:
        yield


@pytest.mark.parametrize("order", list(itertools.permutations(KINDS)))
def test_scopes_end_in_any_order(order):
    before = scopes()
    generators = {}
    for name, (open_it, _) in KINDS.items():
        generators[name] = held(open_it())
        next(generators[name])
    for number, name in enumerate(order):
        generators[name].close()
        assert {n: see() for n, (_, see) in KINDS.items()} == {n: n in order[number + 1 :] for n in KINDS}
    assert scopes() is before


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("key", ["tapes", "graphs"])
def test_of_a_stack_each_scope_takes_its_own(key, order):
    generators = [held(opened(lambda around, n=n: {key: (*getattr(around, key), n)})) for n in range(3)]
    for generator in generators:
        next(generator)
    for done, number in enumerate(order):
        generators[number].close()
        assert getattr(scopes(), key) == tuple(sorted(order[done + 1 :]))


def test_the_same_value_twice_ends_once():
    first, second = held(DEPTH.scope(1)), held(DEPTH.scope(1))
    next(first)
    next(second)
    first.close()
    assert DEPTH.get() == 1
    second.close()
    assert DEPTH.get() == 0


def elsewhere(function, way):
    """Call a function in another context."""
    if way == "an empty context":
        return contextvars.Context().run(function)
    if way == "a copied context":
        return contextvars.copy_context().run(function)
    thread = threading.Thread(target=function)
    thread.start()
    return thread.join()


@pytest.mark.parametrize("way", ["an empty context", "a copied context", "another thread"])
def test_a_scope_that_ends_in_another_context_changes_nothing_there_or_here(way):
    generator, seen = held(within(engine="here")), []

    def end():
        with within(engine="there"), DEPTH.scope(1):
            generator.close()
            seen.append((scopes().engine, DEPTH.get()))
        seen.append(scopes().engine)

    before = scopes()
    with within(exact=True):
        next(generator)
        elsewhere(end, way)
        assert seen == [("there", 1), None]
        assert (scopes().engine, scopes().exact) == ("here", True)  # in this context it is still open
    assert scopes().engine == "here"
    leave(scopes().key)
    assert scopes() is before


def test_a_scope_around_that_ends_leaves_what_a_copy_of_its_context_has():
    with within(engine="around"):
        copy = contextvars.copy_context()

    def work():
        with DEPTH.scope(1):
            assert scopes().engine == "around"
        return scopes().engine

    assert copy.run(work) == "around"
    assert scopes().engine is None


def test_an_exception_ends_the_scopes_inside_too():
    with pytest.raises(KeyError), within(engine="outside"):
        enter({"tapes": ("left open",)}, object())
        raise KeyError
    assert scopes().tapes == () and scopes().engine is None


def test_a_change_lasts_until_the_scope_ends_that_says_the_same():
    before = scopes()
    with within(engine="first", chooses=True):
        with DEPTH.scope(1), within(exact=True):
            change({"engine": "second"})
            assert scopes().engine == "second"
        assert (scopes().engine, scopes().chooses, scopes().exact, DEPTH.get()) == ("second", True, False, 0)
    assert scopes() is before


def test_a_scope_decorates_a_function_that_calls_itself():
    @opened(lambda around: {"tapes": (*around.tapes, "tape")})
    def depth(rest):
        return depth(rest - 1) if rest else len(scopes().tapes)

    assert depth(3) == 4
    assert scopes().tapes == ()


def test_a_scope_gives_its_value():
    with opened({NAMES: ("a",)}, "target") as target:
        assert target == "target" and NAMES.get() == ("a",)


# -- settings ---------------------------------------------------------------------------------------------------------


def test_a_setting_is_the_threads_until_a_scope_says_another():
    setting = Setting("default")
    setting.set("set")
    with setting.scope("scope"):
        setting.set("set in it")
        assert setting.get() == "set in it"
    assert setting.get() == "set"
    found = []
    thread = threading.Thread(target=lambda: found.append(setting.get()))
    thread.start()
    thread.join()
    assert found == ["default"]


def test_a_setting_outlives_the_scopes_of_others():
    async def work():
        setting = Setting("default")
        with within(engine="some"), DEPTH.scope(1):
            setting.set("set")
        return setting.get(), scopes().engine

    assert asyncio.run(work()) == ("set", None)


def test_a_task_sets_for_itself():
    setting = Setting("default")

    async def work(number):
        before = setting.get()
        setting.set(number)
        await asyncio.sleep(0)
        return before, setting.get()

    async def callback():
        done = asyncio.get_running_loop().create_future()

        def call():
            setting.set("callback")
            done.set_result(setting.get())

        asyncio.get_running_loop().call_soon(call)
        return await done, setting.get()

    async def agen():
        setting.set("generator")
        yield setting.get()

    async def of_generator():
        return [value async for value in agen()]

    async def main():
        found = await asyncio.gather(*map(work, range(5)), callback(), of_generator())
        return found, setting.get()

    setting.set("thread")
    found, after = asyncio.run(main())
    assert found == [*(("thread", n) for n in range(5)), ("callback", "thread"), ["generator"]]
    assert after == setting.get() == "thread"


CELLS = {
    "without await": "found.append(s.get()); s.set('set'); found.append(s.get())",
    "with await": "await sleep(0); found.append(s.get()); s.set('set'); await sleep(0); found.append(s.get())",
    "in a function": "def f():\n    found.append(s.get())\n    s.set('set')\n    found.append(s.get())\nf()",
    "in a coroutine": (
        "async def f():\n    found.append(s.get())\n    await sleep(0)\n    s.set('set')\n    found.append(s.get())\n"
        "await f()"
    ),
    "in a class": "class A:\n    found.append(s.get())\n    s.set('set')\n    found.append(s.get())",
}


@pytest.mark.parametrize("name", ["<module>", "<cell line: 1>"])
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_cell_of_a_notebook_sets_for_the_next(cell, name):
    """Check cells that run in tasks with their own contexts, as IPython runs cells that await."""
    setting, found = Setting("default"), []
    names = {"s": setting, "found": found, "sleep": asyncio.sleep, "__name__": "__main__"}

    async def run(source):
        code = compile(source, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).replace(co_name=name)
        waits = eval(code, names)
        if waits is not None:
            await waits

    async def kernel():
        await asyncio.create_task(run(cell))
        await asyncio.create_task(run("found.append(s.get())"))
        await asyncio.create_task(run("await sleep(0); found.append(s.get())"))

    asyncio.run(kernel())
    assert found == ["default", "set", "set", "set"]


def test_a_task_that_a_cell_starts_sets_for_itself():
    setting, found = Setting("default"), []

    async def task():
        setting.set("task")
        found.append(setting.get())

    async def run():
        source = "from asyncio import create_task\nawait create_task(task())"
        await eval(compile(source, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {"task": task})

    asyncio.run(run())
    assert found == ["task"] and setting.get() == "default"
