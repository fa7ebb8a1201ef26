"""Several asyncio tasks at once: each has its own tapes, graphs, sessions and modes."""

import asyncio
from contextlib import nullcontext

import dovetail.compat.tensorflow.compat.v1 as v1
import numpy as np

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from dovetail import ops
from tests.tasks.together import COUNT, pause, together, types

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
