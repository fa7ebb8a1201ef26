"""Variables of session graphs: values in each session, first values, and changes by several threads."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.sessions.variable import SessionVariable


@pytest.fixture
def graph():
    return dt.SessionGraph()


def variable(graph, value, **options):
    with graph.as_default():
        return SessionVariable(graph.constant(np.asarray(value, "float32")), **options)


def changed(graph, variable, by):
    """A tensor of a variable's value after an addition."""
    with graph.as_default():
        return variable.assign_add(np.asarray(by, "float32"))


def test_without_a_session_it_has_the_value_of_the_one_that_is_open(graph, engine):
    v = variable(graph, [1.0, 2.0], name="v")
    assert (v.numpy().tolist(), v.shape, v.engine) == ([1.0, 2.0], (2,), engine)
    session = dt.Session(graph)
    session.run(changed(graph, v, [1.0, 1.0]))
    assert v.numpy().tolist() == [2.0, 3.0]
    v.assign([5.0, 5.0]).assign_add(1.0)
    assert (session.run(v).tolist(), (v * 2.0).numpy().tolist()) == ([6.0, 6.0], [12.0, 12.0])
    other = dt.Session(graph)
    with other:
        assert v.numpy().tolist() == [1.0, 2.0]
    assert v.numpy().tolist() == [6.0, 6.0]


def test_a_session_that_is_closed_frees_its_values(graph, engine):
    v = variable(graph, np.zeros(1000))
    session = dt.Session(graph)
    session.run(v)
    held = weakref.ref(session.values.holder(v))
    session.close()
    gc.collect()
    assert held() is None
    with pytest.raises(RuntimeError, match="the session is closed"):
        session.run(v)


def test_functions_and_other_graphs_take_the_value_of_its_graph(graph, engine):
    v, own = variable(graph, 2.0), dt.Variable(10.0)
    session = dt.Session(graph)
    with graph.as_default():
        step, product = v.assign_add(1.0), v * own
    session.run(step)
    part = graph.subgraph([product])
    assert dt.Session(part).run(part.outputs) == [30.0]
    assert dt.function(lambda x: x * v)(ops.constant(2.0)).numpy() == 6.0
    with dt.GradientTape() as tape:
        result = dt.function(lambda: v * v)()
    assert (tape.gradient(result, own), dt.Session(graph).run(v), session.run(own)) == (None, 2.0, 10.0)


def test_first_values_that_need_other_variables(graph, engine):
    v = variable(graph, 3.0)
    with graph.as_default():
        w = SessionVariable(v * 2.0, dtype="float64")
        late = SessionVariable(graph.placeholder(dt.spec(()), "x") + 1.0, name="late")
    session = dt.Session(graph)
    session.run(changed(graph, v, 2.0))
    assert session.run([w, v]) == [10.0, 5.0]
    with pytest.raises(ValueError, match=r"'late' has no value in this session.*placeholder 'x'.*Run its initializer"):
        session.run(late)
    session.run(graph.initializer([late]), {"x:0": 1.0})
    assert session.run(late) == 2.0
    late.delete()
    with pytest.raises(ValueError, match="'late' has no value in this session"):
        dt.function(lambda: late * 1.0)()
    made = pickle.loads(pickle.dumps(graph))
    assert dt.Session(made).run(made.initializer(), {"x:0": 3.0}) is None


def test_copies_that_are_pickled_keep_the_value(graph, engine):
    v = variable(graph, [1.0, 2.0], name="v")
    session = dt.Session(graph)
    session.run(changed(graph, v, [1.0, 1.0]))
    alone = pickle.loads(pickle.dumps(v))
    assert (alone.numpy().tolist(), alone.assign([0.0, 0.0]).numpy().tolist()) == ([2.0, 3.0], [0.0, 0.0])
    assert copy.deepcopy(v).numpy().tolist() == [2.0, 3.0]
    made = pickle.loads(pickle.dumps(graph))
    (found,) = made.get_collection("variables")
    assert (found.session_graph, found.numpy().tolist(), v.numpy().tolist()) == (made, [2.0, 3.0], [2.0, 3.0])
    made.initializer([found]).run()
    assert found.numpy().tolist() == [1.0, 2.0]


def at_once(count, work):
    """Call a function of a number in `count` threads at once."""
    errors = []
    start = threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_threads_lose_no_update_of_one_session(graph, engine):
    v, w = variable(graph, 0.0), variable(graph, [0.0, 0.0])
    with graph.as_default():
        step = graph.group(v.assign_add(1.0), w.assign_changed(lambda old: old + 2.0))
        other = v.assign_sub(3.0)
    session = dt.Session(graph)
    at_once(6, lambda number: [session.run(step if number % 2 else other) for _ in range(20)])
    assert (session.run(v), session.run(w).tolist()) == (60.0 - 180.0, [120.0, 120.0])


def test_threads_with_sessions_of_their_own_share_nothing(graph, engine):
    v = variable(graph, 0.0)
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        step = v.assign_add(x)
    found = {}

    def work(number):
        with dt.Session(graph) as session:
            for _ in range(10):
                session.run(step, {x: float(number)})
            found[number] = session.run(v)

    at_once(6, work)
    assert found == {number: 10.0 * number for number in range(6)}


def test_threads_that_need_a_first_value_draw_it_once(graph):
    with graph.as_default():
        drawn = SessionVariable(ops.random.normal(dt.Generator(1), (3,)))
    session = dt.Session(graph)
    found = []
    at_once(8, lambda _: found.append(session.run(drawn).tolist()))
    assert len(set(map(tuple, found))) == 1
