"""Functions and sessions of the default graph: feeds, fetches, assignments, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.sessions.session_graph import recording_graph


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


# -- functions --------------------------------------------------------------------------------------------------------


def test_updates_read_what_was_before_the_call(engine):
    x, v, u = K.placeholder(()), K.variable(1.0), K.variable(10.0)
    f = K.function([x], [v + u], updates=[(v, u + x), K.update(u, v * 2.0), None])
    assert (f([3.0]), K.batch_get_value([v, u])) == ([11.0], [13.0, 2.0])
    assert (f([0.0]), K.batch_get_value([v, u])) == ([15.0], [2.0, 26.0])


def test_an_update_that_an_output_needs_is_made(engine):
    x, v = K.placeholder(()), K.variable(1.0)
    moved = K.update_add(v, x)
    f, g = K.function([x], moved * 10.0), K.function([x], x + v)
    assert (f(2.0), K.get_value(v)) == (30.0, 3.0)
    assert (g(2.0), K.get_value(v)) == (5.0, 3.0)


def test_what_an_output_waits_for_is_done_in_composites_a13(engine, capsys):
    x = K.placeholder((2,))
    with K.control_dependencies([K.print_tensor(x, "x is")]):
        y = dt.ops.log_softmax(x)
        z = K.softmax(K.expand_dims(x, 0))
    f = K.function([x], [y, z])
    f([[0.0, 1.0]])
    assert capsys.readouterr().out == "x is [0 1]\n"


def test_a_session_sees_edits_a14(engine):
    x = K.placeholder((2,))
    y = K.exp(x)
    session = K.get_session()
    value = np.array([1.0, 2.0], "float32")
    assert session.run(y, {x: value})[0] > 2
    assert session.run(y * 1.0, {x: value})[0] > 2
    kept = len(session._programs)
    session.run(y, {x: value})
    assert len(session._programs) == kept  # an added operation is no edit
    y.op.replace_input(0, x * 0.0)
    assert session.run(y, {x: value}).tolist() == [1.0, 1.0]
    shown = K.print_tensor(x)
    y.op.add_control_input(shown.op)
    y.op.replace_input(0, x)
    assert session.run(y, {x: value * 0.0}).tolist() == [1.0, 1.0]
    z = K.tanh(x)
    session.run(z, {x: value})
    z.graph.remove(z.op)
    with pytest.raises(ValueError, match=r"Tanh:0.* was removed"):
        session.run(z, {x: value})


def test_nothing_is_assigned_while_the_graph_is_built(engine):
    v = K.variable(1.0)
    K.placeholder(())
    K.update(v, 5.0), K.update_add(v, 1.0), K.moving_average_update(v, 3.0, 0.5)
    assert K.get_value(v) == 1.0
    K.set_value(v, 2.0)
    assert K.get_value(v) == 2.0
    v.assign_add(K.variable(3.0))
    assert float(v) == 5.0


def test_any_tensor_can_be_an_input_or_be_fed(engine):
    x, v = K.placeholder((None,)), K.variable([1.0, 2.0])
    h = x * 2.0
    y = h + v
    assert K.function([h], [y])([[10.0, 10.0]])[0].tolist() == [11.0, 12.0]
    assert K.function([x, v], y)([[1.0, 1.0], [5.0, 6.0]]).tolist() == [7.0, 8.0]
    session = K.get_session()
    assert session.run(y, {h: [0.0, 0.0], v: [3.0, 4.0]}).tolist() == [3.0, 4.0]
    assert K.get_value(v).tolist() == [1.0, 2.0]


def test_values_may_be_tensors_of_any_kind(engine):
    x = K.placeholder((2,))
    f = K.function([x], x + 1.0)
    for value in ([1, 2], (1, 2), np.array([1, 2]), K.constant([1, 2]), K.variable([1.0, 2.0]), dt.ops.convert([1, 2])):
        found = f([value])
        assert (found.tolist(), found.dtype) == ([2.0, 3.0], "float32")


def test_results_are_arrays_of_their_own(engine):
    x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
    given = np.array([1.0, 2.0], "float32")
    same, held = K.function([x], [x, v])([given])
    same += 1.0
    held += 1.0
    assert given.tolist() == K.get_value(v).tolist() == [1.0, 2.0]
    assert type(K.function([x], K.sum(x))([given])) is np.float32


def test_constants_and_variables_among_the_outputs(engine):
    x, v = K.placeholder(()), K.variable([1.0])
    f = K.function([x], {"v": v, "c": K.constant([1, 2]), "n": 3, "none": None, "nothing": []})
    K.set_value(v, [7.0])
    found = f([0.0])
    assert (found["v"], found["c"].tolist(), found["n"]) == ([7.0], [1, 2], 3)
    assert (found["none"], found["nothing"]) == (None, [])


def test_without_placeholders(engine):
    v = K.variable([1.0, 2.0])
    f = K.function([], [K.symbolic(K.sum)(v)], updates=[(v, [5.0, 6.0])])
    assert (f([]), K.get_value(v).tolist()) == ([3.0], [5.0, 6.0])
    assert f([]) == [11.0]


def test_a_call_that_fails_changes_nothing(engine):
    x, v, count = K.placeholder((None,)), K.variable([1.0, 2.0]), K.variable(0.0)
    f = K.function([x], [x], updates=[K.update_add(count, 1.0), K.update(v, x)])
    with pytest.raises(ValueError, match=r"K.function: AssignVariableOp at test_session.py:\d+: .*\(3,\)"):
        f([[1.0, 2.0, 3.0]])
    assert (K.get_value(count), K.get_value(v).tolist()) == (0.0, [1.0, 2.0])
    f([[5.0, 6.0]])
    assert (K.get_value(count), K.get_value(v).tolist()) == (1.0, [5.0, 6.0])


def test_a_function_is_compiled_once(engine, monkeypatch):
    from dovetail.execute.plan import Plan

    made = []
    init = Plan.__init__
    monkeypatch.setattr(Plan, "__init__", lambda self, *args: (made.append(self), init(self, *args))[1])
    x = K.placeholder((None, 2))
    f = K.function([x], x * 2.0)
    for _ in range(3):
        f([np.ones((3, 2))])
    assert len(made) == 1


def test_functions_outlive_the_session(engine):
    x, v = K.placeholder(()), K.variable(1.0)
    f = K.function([x], [x + v], updates=[K.update_add(v, x)])
    K.clear_session()
    assert (f([2.0]), f([2.0])) == ([3.0], [5.0])


MISTAKES = {
    "unfed": (
        lambda x, y: K.function([x], [x + y]),
        ValueError, r"K.function at test_session.py:\d+: .* 'y' \(float32\[2\], made at test_session.py:\d+\)",
    ),
    "unfed in a run": (
        lambda x, y: K.get_session().run(x + y, {x: [1.0, 2.0]}),
        ValueError, r"K.get_session\(\).run at test_session.py:\d+: a value is needed for the placeholder 'y'",
    ),
    "unfed in eval": (lambda x, y: K.eval(x + y), ValueError, r"K.eval at .*'x' .*'y'"),
    "too few": (
        lambda x, y: K.function([x, y], [x])([[1.0, 2.0]]),
        ValueError, r"K.function at .* must be given like \[\*, \*\], not as \[\[1.0, 2.0\]\]",
    ),
    "none": (lambda x, y: K.function([x], [x])([None]), TypeError, "K.function .*'x' needs a value.*not None"),
    "a symbol": (lambda x, y: K.function([x], [x])([y]), TypeError, "K.function .*'x' needs a value.*graph tensor y"),
    "shape": (lambda x, y: K.function([x], [x])([[1.0]]), ValueError, r"'x' is float32\[2\]: .* shape \(1,\)"),
    "no tensor as input": (lambda x, y: K.function([7], [x]), TypeError, "inputs must be placeholders.* not 7"),
    "updates": (lambda x, y: K.function([x], [x], updates=x), TypeError, "updates must be a list, not float32"),
    "an update already made": (
        lambda x, y: K.function([x], [x], updates=[K.eager(K.update)(K.variable(1.0), 2.0)]),
        TypeError, "has been done at once: call K.placeholder",
    ),
    "a pair that does not fit": (
        lambda x, y: K.function([x], [x], updates=[(K.variable([1.0]), x)]), ValueError, r"shape \(1,\).*\(2,\)",
    ),
    "options": (lambda x, y: K.function([x], [x], givens=1), ValueError, "K.function .* not givens"),
    "unknown name": (lambda x, y: K.get_session().run("z:0"), KeyError, "no operation 'z'"),
    "no tensor to run": (lambda x, y: K.get_session().run([3.0]), TypeError, r"get_session\(\).run.* not 3.0"),
    "no session": (lambda x, y: K.set_session("session"), TypeError, "K.set_session .*'session'"),
    "updated in a branch": (
        lambda x, y: K.switch(K.sum(x) > 0, lambda: K.update(K.variable(1.0), 2.0) + x, lambda: x),
        ValueError, "cannot update a variable: use K.switch on the value",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    mistake, kind, message = MISTAKES[name]
    x, y = K.placeholder((2,), name="x"), K.placeholder((2,), name="y")
    with pytest.raises(kind, match=message):
        mistake(x, y)


def test_tensors_of_two_graphs_do_not_mix():
    x = K.placeholder((2,), name="old")
    K.clear_session()
    y = K.placeholder((2,))
    with pytest.raises(ValueError, match=r"belongs to another graph.*from before K.clear_session"):
        K.function([x], [y])
    with pytest.raises(ValueError, match="two graphs"):
        x + y
    graph = dt.Graph("own")
    with pytest.raises(ValueError, match=r"'own'.*run tensors of other graphs with dovetail.function"):
        K.function([], [graph.placeholder(dt.spec((2,)))])


# -- functions of Keras models ----------------------------------------------------------------------------------------


def test_functions_of_keras_models(monkeypatch):
    """Check K's call of `interop.keras.function`, which runs the model, and the use of its results."""
    keras = pytest.importorskip("keras")
    given = []

    def function(inputs, outputs):
        model = keras.Model(inputs, outputs)
        return lambda values, training: (given.append(training), model(values, training=training))[1]

    monkeypatch.setattr("dovetail.interop.keras.function", function, raising=False)
    x = keras.Input((3,))
    y = keras.layers.Dropout(0.5, seed=1)(keras.layers.Dense(4, kernel_initializer="ones")(x))
    z = K.sum(y, axis=1)
    ones, v = np.ones((2, 3), "float32"), K.variable(5.0)
    f = K.function([x, K.learning_phase()], {"y": y, "rest": [z, v]})
    tested, trained = f([ones, 0]), f([ones, 1])
    assert [type(tested["y"]), tested["y"].tolist(), tested["rest"][0].tolist()] == [
        np.ndarray,
        2 * [4 * [3]],
        2 * [12],
    ]
    assert set(trained["y"].ravel()) == {0.0, 6.0}
    assert tested["rest"][1] == 5.0
    assert [K.function([x], [z])([ones])[0].tolist(), K.function([x], z)(ones).tolist(), given] == [
        [12, 12], [12, 12], [False, True, None, None],
    ]  # fmt: skip
    K.placeholder(())
    assert set(K.function([x, K.learning_phase()], [y])([ones, 1])[0].ravel()) == {0.0, 6.0}
    K.function([x], [z], updates=[(v, 0.0)])([ones])
    assert K.get_value(v) == 0
    with pytest.raises(TypeError, match=r"K.function at .* a pair of a variable and its new value"):
        K.function([x], [z], updates=[z])
    with pytest.raises(TypeError, match=r"K.function at .* tensors of the model and K.learning_phase\(\), not 3.0"):
        K.function([x, 3.0], [z])
    with pytest.raises(ValueError, match=r"K.function at .* must be given like \[\*, \*\]"):
        f([ones, 0, 0])


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_runs_take_structures_and_names(engine):
    x, v = K.placeholder((2,), name="x"), K.variable([1.0, 2.0])
    y = K.identity(x * v)
    session = K.get_session()
    assert session is K.get_session()
    assert session.graph is x.graph
    found = session.run({"y": y, "rest": (v, y.name, K.constant(4.0))}, feed_dict={"x:0": [3.0, 4.0]})
    assert [a.tolist() for a in (found["y"], *found["rest"])] == [[3.0, 8.0], [1.0, 2.0], [3.0, 8.0], 4.0]


def test_a_run_makes_the_updates_it_computes(engine):
    K.placeholder(())
    v = K.variable(1.0)
    more = K.update_add(v, 2.0)
    assert [K.get_session().run(more), K.get_session().run([more, v]), K.get_value(v)] == [3.0, [5.0, 3.0], 5.0]


def test_sessions_can_be_put_back(engine):
    x, session = K.placeholder(()), K.get_session()
    K.clear_session()
    assert K.get_session() is not session
    K.set_session(session)
    assert K.get_session() is session
    assert session.run(x + K.variable(1.0), {x: 2.0}) == 3.0


def test_get_session_opens_the_default_graph():
    v = K.variable(2.0)
    session = K.get_session()
    assert K.is_symbolic(v * 2.0)
    assert session.run(v * 2.0) == 4.0


def test_clear_session_closes_it():
    K.placeholder(())
    K.get_uid("dense"), K.set_learning_phase(1)
    assert recording_graph() is not None
    K.clear_session()
    assert recording_graph() is None
    assert (K.learning_phase(), K.get_uid("dense")) == (0, 1)
    assert not K.is_symbolic(K.variable(1.0) + 1.0)


# -- threads ----------------------------------------------------------------------------------------------------------


def test_each_thread_has_a_default_graph_of_its_own(engine):
    K.placeholder((), name="mine")
    v = K.variable(0.0)
    barrier, found, graphs = threading.Barrier(4), {}, {}

    def work(number):
        with dt.engine(engine):
            try:
                assert recording_graph() is None
                assert not K.is_symbolic(v + 1.0)
                x = K.placeholder(())
                graphs[number] = x.graph
                f = K.function([x], [x * number], updates=[K.update_add(v, 1.0)])
                barrier.wait(10)
                K.set_learning_phase(number % 2)
                found[number] = [f([10.0]) for _ in range(25)][-1], K.learning_phase()
                K.clear_session()
            except Exception as error:
                found[number] = error
                barrier.abort()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: ([10.0 * n], n % 2) for n in range(4)}
    assert len({id(g) for g in (*graphs.values(), recording_graph())}) == 5
    assert K.get_value(v) == 100.0


def test_a_graph_can_be_run_and_added_to_in_another_thread(engine):
    x, v = K.placeholder(()), K.variable(2.0)
    f, graph = K.function([x], x * v), x.graph
    found = []

    def serve():
        with dt.engine(engine), graph.as_default():
            found.append(f(3.0))
            found.append(K.function([x], [v + x], updates=[K.update(v, v + 1.0)])([1.0]))

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert found == [6.0, [3.0]]
    assert K.get_value(v) == 3.0
