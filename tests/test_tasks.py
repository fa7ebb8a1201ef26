"""Several asyncio tasks at once: tapes, graphs, sessions, scopes; and the first scopes of threads and contexts."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext

import dovetail.compat.tensorflow.compat.v1 as v1
import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from dovetail import ops
from dovetail.compat.tf_graph.device_scopes import device_scope
from tests.conftest import ENGINES

COUNT = 50


def pause():
    """Let the other tasks go on."""
    return asyncio.sleep(0)


def together(work, count=COUNT):
    """The results of work(0), work(1), …, each in its own task.

    A task goes on when the others pause.
    """

    async def all_of_them():
        return await asyncio.gather(*map(work, range(count)))

    return asyncio.run(all_of_them())


def types(graph):
    return [op.type for op in graph.operations]


# -- tapes ------------------------------------------------------------------------------------------------------------


def test_tapes(engine):
    variables = [dt.Variable(float(n), name=f"v{n}") for n in range(COUNT)]

    async def work(number):
        v = variables[number]
        with dt.engine(engine), dt.GradientTape() as outer:
            await pause()
            with dt.GradientTape() as tape:
                y = v * v
                await pause()
                y = y * v
                await pause()
            slope = tape.gradient(y, v)
            await pause()
        watched = [list(map(id, t.watched_variables())) for t in (tape, outer)]
        return float(slope), float(outer.gradient(slope, v)), watched == [[id(v)], [id(v)]], slope.engine

    assert together(work) == [(3.0 * n * n, 6.0 * n, True, engine) for n in range(COUNT)]


def test_a_tape_records_nothing_of_tasks_that_have_none(engine):
    v, done = dt.Variable(2.0), []

    async def with_tape():
        with dt.engine(engine), dt.GradientTape() as tape:
            while not done:
                await pause()
        return tape.watched_variables(), tape.nodes

    async def without():
        with dt.engine(engine):
            for _ in range(5):
                v.assign(v * 2.0 - v)
                await pause()
        done.append(True)

    async def main():
        return await asyncio.gather(with_tape(), without())

    assert asyncio.run(main())[0] == ([], [])


def test_one_tape_in_two_tasks():
    """Check that each has it until its own block ends."""
    tape, v = dt.GradientTape(persistent=True), dt.Variable(3.0)

    async def work(number):
        with tape:
            await pause()
            y = v * float(number + 1)
        await pause()
        before = len(tape.nodes)
        _ = v * 2.0
        return y, len(tape.nodes) - before

    for number, (y, later) in enumerate(together(work, 2)):
        assert (float(tape.gradient(y, v)), later) == (number + 1.0, 0)


def test_custom_gradients_and_what_is_computed_again(engine):
    @dt.custom_gradient
    def scaled(x):
        return x * 1.0, lambda g: g * 100.0

    @dt.recompute_grad
    def again(x):
        return ops.tanh(x) * x

    async def work(number):
        x = ops.constant(float(number))
        with dt.engine(engine), dt.GradientTape() as tape:
            tape.watch(x)
            await pause()
            y = scaled(x)
            await pause()
            y = y + again(x)
            await pause()
        return float(tape.gradient(y, x))

    n = np.arange(COUNT, dtype="float64")
    right = 100 + np.tanh(n) + n / np.cosh(n) ** 2
    np.testing.assert_allclose(together(work), right, rtol=1e-5)


# -- graphs -----------------------------------------------------------------------------------------------------------


def test_graphs_tapes_and_engines(engine):
    """Check tasks that build graphs, record tapes, compute, or trace functions, each on its own engine."""
    names = [engine, "numpy"]
    v = dt.Variable(2.0, name="v")

    async def build(number):
        graph = dt.Graph(f"graph{number}")
        with graph.as_default():
            x = graph.placeholder(dt.spec(()), "x")
            await pause()
            y = x * v
            await pause()
            graph.outputs = [y + float(number)]
            await pause()
        return types(graph), float(dt.Session(graph).run(graph.outputs[0], {x: 3.0}))

    async def record(number):
        with dt.GradientTape() as tape:
            await pause()
            y = v * float(number)
            await pause()
        return types_of(tape), float(tape.gradient(y, v))

    async def compute(number):
        y = v * float(number)
        await pause()
        return y.engine, float(y + 1.0)

    async def trace(number):
        @dt.function
        def f(x):
            return x * v + float(number)

        await pause()
        return f.graph(np.float32(1)).name, float(f(np.float32(3)))

    def types_of(tape):
        return len(tape.nodes)

    kinds = [build, record, compute, trace]
    built = ["Placeholder", "ReadVariableOp", "Mul", "Const", "AddV2"]

    async def work(number):
        with dt.engine(names[number % 2]):
            return await kinds[number % 4](number)

    found = together(work)
    for number, (form, value) in enumerate(found):
        right = [
            (sorted(built), 6.0 + number), (2, float(number)), (names[number % 2], 2.0 * number + 1),
            ("f", 6.0 + number),
        ][number % 4]  # fmt: skip
        assert (sorted(form) if number % 4 == 0 else form, value) == right


def test_sessions():
    async def work(number):
        graph = v1.Graph()
        with graph.as_default(), v1.Session() as session:
            await pause()
            x = v1.placeholder(v1.float32, [], "x")
            y = x * float(number)
            await pause()
            own = v1.get_default_session() is session and v1.get_default_graph() is graph
            await pause()
            value = float(y.eval({x: 2.0}))
        await pause()
        return own, value, v1.get_default_session(), len(graph.operations)

    assert together(work) == [(True, 2.0 * n, None, 3) for n in range(COUNT)]


def test_an_interactive_session_is_the_tasks():
    async def work(number):
        with v1.Graph().as_default():
            session = v1.InteractiveSession()
            await pause()
            assert v1.get_default_session() is session
            session.close()
            await pause()
            return v1.get_default_session()

    assert together(work, 5) == [None] * 5
    assert v1.get_default_session() is None


def test_default_graphs(engine):
    """Check that a task opens one for itself, and that ops on variables of other tasks are computed."""
    v = K.variable(2.0)

    async def work(number):
        with dt.engine(engine):
            await pause()
            if number % 2:
                y = v + float(number)
                await pause()
                return None, float(K.get_value(y))
            x = K.placeholder(())
            await pause()
            y = x * v + float(number)
            await pause()
            f = K.function([x], [y])
            assert K.get_session().graph is x.graph
            await pause()
            value = float(f([3.0])[0])
            K.clear_session()
            await pause()
            assert not K.is_symbolic(v + 1.0)
            return x.graph, value

    found = together(work)
    assert [value for _, value in found] == [2.0 + n if n % 2 else 6.0 + n for n in range(COUNT)]
    assert len({id(graph) for graph, _ in found if graph is not None}) == COUNT / 2
    assert not K.is_symbolic(v + 1.0)


def test_tasks_have_the_default_graph_of_their_thread_until_they_open_another():
    outside, v = K.placeholder((), name="outside").graph, K.variable(2.0)

    async def work(number):
        first = (v + 1.0).graph
        await pause()
        if number == 0:
            K.clear_session()
        await pause()
        return first is outside, K.is_symbolic(v + 1.0)

    assert together(work, 3) == [(True, False), (True, True), (True, True)]
    assert (v + 1.0).graph is outside


def test_modes_of_tensorflow():
    async def work(number):
        if number % 2:
            v1.disable_eager_execution()
        await pause()
        return tf.executing_eagerly(), hasattr(tf.zeros([2]), "op")

    assert together(work, 6) == [(True, False), (False, True)] * 3
    assert tf.executing_eagerly()


def test_learning_phases():
    async def work(number):
        if number % 3 == 0:
            K.set_learning_phase(number % 2)
        with K.learning_phase_scope(1) if number % 3 == 1 else nullcontext():
            await pause()
            inside = K.learning_phase(), K.in_train_phase("training", "testing")
        await pause()
        return inside, K.learning_phase()

    phases = [(n % 2, n % 2) if n % 3 == 0 else (n % 3 % 2, 0) for n in range(COUNT)]
    assert together(work) == [((a, "training" if a else "testing"), b) for a, b in phases]
    assert K.learning_phase() == 0


def test_summary_writers(tmp_path):
    async def work(number):
        writer = tf.summary.create_file_writer(str(tmp_path / str(number)))
        with writer.as_default(step=number) if number % 2 else nullcontext():
            await pause()
            return tf.summary.scalar("loss", 1.0)

    assert together(work, 6) == [False, True] * 3


def test_override_maps():
    dt.RegisterGradient("TasksTimesTen")(lambda op, g: g * 10.0)

    async def work(number):
        x, overrides = ops.constant(0.0), {"Tanh": "TasksTimesTen"} if number % 2 else {}
        graph = dt.Graph()
        with dt.gradient_override_map(overrides), dt.GradientTape() as tape:
            tape.watch(x)
            await pause()
            y = ops.tanh(x)
            z = ops.tanh(graph.placeholder(dt.spec(()), "z"))
            await pause()
        return float(tape.gradient(y, x)), dict(z.op.overrides)

    assert together(work) == [(10.0, {"Tanh": "TasksTimesTen"}) if n % 2 else (1.0, {}) for n in range(COUNT)]


def test_an_edit_that_fails_is_undone_and_others_are_not():
    async def work(number):
        graph = dt.Graph()
        x = graph.placeholder(dt.spec(()), "x")
        try:
            with graph.edit():
                y = ops.tanh(x)
                await pause()
                ops.exp(y)
                await pause()
                if number % 2:
                    raise KeyError
        except KeyError:
            pass
        return types(graph)

    whole = ["Placeholder", "Tanh", "Exp"]
    assert together(work, 6) == [whole, whole[:1]] * 3


# -- one graph, built by several tasks --------------------------------------------------------------------------------

# scope → (a function that opens it on a graph, a function that reads it from an operation)
SCOPES = {
    "name": (lambda graph, n: graph.name_scope(f"scope{n}"), lambda op: op.name.rpartition("/")[0][5:]),
    "control": (
        lambda graph, n: graph.control_dependencies([graph.get_operation(f"first{n}")]),
        lambda op: "".join(other.name for other in op.control_inputs)[5:],
    ),
    "overrides": (
        lambda graph, n: graph.gradient_override_map({"Tanh": f"name{n}"}),
        lambda op: op.overrides.get("Tanh", "")[4:],
    ),
    "device": (lambda graph, n: device_scope(graph, f"/gpu:{n}"), lambda op: (op.device or "")[len("/device:GPU:") :]),
    "part": (lambda graph, n: placed(graph, n), lambda op: str(op.part or "")),
    "place": (
        lambda graph, n: graph.insert_before(graph.get_operation(f"first{n}")),
        lambda op: next((other.name[5:] for other in behind(op) if other.name.startswith("first")), ""),
    ),
}


def behind(op):
    operations = op.graph.operations
    return operations[operations.index(op) + 1 :]


@contextmanager
def placed(graph, part):
    with graph.as_default(), dt.place(part=part):
        yield


@pytest.mark.parametrize("name", SCOPES)
def test_scopes_of_one_graph(name):
    open_it, seen = SCOPES[name]
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.as_default():
        for n in range(9):
            ops.identity(x, name=f"first{n}")

    async def work(number):
        with open_it(graph, number) if number % 3 else nullcontext():
            await pause()
            inside = ops.tanh(x)
            await pause()
            second = ops.tanh(inside)
            await pause()
        return [seen(op) for op in (inside.op, second.op, ops.tanh(x).op)]

    assert together(work, 9) == [[str(n) if n % 3 else ""] * 2 + [""] for n in range(9)]
    graph.validate()


def test_what_is_computed_again_in_one_graph():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")

    async def work(number):
        with graph.recomputed() if number % 2 else nullcontext():
            await pause()
            y = ops.tanh(x)
            await pause()
        return y.op.recompute_group

    spans = together(work, 6)
    assert spans[::2] == [None] * 3 and None not in spans[1::2] and len(set(spans)) == 4


def test_scopes_of_variables_in_one_graph():
    graph = v1.Graph()

    async def work(number):
        with graph.as_default(), v1.variable_scope(f"scope{number}", initializer=v1.zeros_initializer()):
            await pause()
            with v1.variable_scope("inner"), v1.name_scope("named"):
                await pause()
                v = v1.get_variable("v", [])
                await pause()
                return v.op_name, v1.identity(v, name="y").op.name, v1.get_variable_scope().name

    right = [(f"scope{n}/inner/v", f"scope{n}/inner/named/y", f"scope{n}/inner") for n in range(COUNT)]
    assert together(work) == right


def test_devices(engine):
    """Check scopes of devices that end out of order."""

    async def work(number):
        with dt.engine(engine):
            with dt.device("cpu:0"):
                await pause()
                for _ in range(number % 3):
                    await pause()
                x = ops.zeros((2,)) + ops.constant([1.0, 2.0])
            await pause()
        return x.device, x.tolist()

    assert together(work, 10) == [("cpu:0", [1.0, 2.0])] * 10


def test_devices_of_graphs_that_are_opened_in_them():
    async def work(number):
        with v1.device(f"/gpu:{number}"):
            await pause()
            inside = v1.placeholder(v1.float32)
            await pause()
        return inside.op.device, v1.placeholder(v1.float32).op.device

    assert together(work, 5) == [(f"/device:GPU:{n}", "") for n in range(5)]


# -- scopes that end in other ways ------------------------------------------------------------------------------------


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


# -- new threads and contexts -----------------------------------------------------------------------------------------


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
