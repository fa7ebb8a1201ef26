"""Session graphs: assignments and their order; first values; groups."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


@pytest.fixture
def graph():
    """A session graph that records everything, so tests read variables by `numpy()` alone."""
    graph = dt.SessionGraph()
    with graph.as_default():
        yield graph


def run(graph, fetches, **fed):
    return dt.Session(graph).run(fetches, {f"{name}:0": value for name, value in fed.items()})


def test_reads_that_do_not_depend_on_an_assignment_see_the_old_value(graph, engine):
    v = dt.Variable(1.0)
    before = v * 1.0
    step = v.assign(v + 1.0)
    after = v * 1.0
    assert run(graph, [before, after]) == [1.0, 1.0]
    assert (run(graph, [before, step, after, v, step * 10.0]), v.numpy()) == ([1.0, 2.0, 1.0, 1.0, 20.0], 2.0)
    assert (run(graph, step.op), v.numpy()) == (None, 3.0)


def test_what_is_recorded_under_control_dependencies_sees_the_new_value(graph, engine):
    v, w = dt.Variable(1.0), dt.Variable(10.0)
    both = graph.group(v.assign(5.0), w.assign_add(1.0))
    with graph.control_dependencies([both]):
        read = v + w
        last = v.assign(v * 2.0)
        with graph.control_dependencies([last]):
            twice = ops.identity(v)
        again = ops.identity(v)
    outside = ops.identity(v)
    assert (run(graph, [read, outside]), v.numpy(), w.numpy()) == ([16.0, 1.0], 5.0, 11.0)
    assert (run(graph, [twice, again]), v.numpy(), w.numpy()) == ([10.0, 5.0], 10.0, 12.0)


def test_fetched_assignments_follow_control_dependencies(graph):
    v = dt.Variable(1.0)
    first = v.assign(2.0)
    with graph.control_dependencies([first]):
        second = v.assign(3.0)
    for fetches in ([first, second], [second, first], second):
        run(graph, fetches)
        assert v.numpy() == 3.0


def test_changes_of_one_variable_add_up_in_a_run(graph, engine):
    v, x = dt.Variable([1.0, 2.0]), graph.placeholder(dt.spec((2,)), "x")
    steps = [v.assign_add(x), v.assign_sub(x * 3.0), v.assign_add(dt.Variable(10.0))]
    run(graph, steps, x=[1.0, 1.0])
    assert v.numpy().tolist() == [9.0, 10.0]
    with pytest.raises(ValueError, match=r"a value of shape \(3, 2\) does not fit"):
        v.assign_add(np.ones((3, 2)))
    assert len(graph.find("AssignVariableOp")) == 3


def test_a_change_that_was_edited_is_done_as_edited(graph):
    v = dt.Variable(1.0)
    first, second = v.assign_add(1.0), v.assign_add(2.0)
    second.op.replace_input(0, graph.constant(np.float32(50.0)))
    assert (run(graph, [first, second]), v.numpy()) == ([2.0, 50.0], 50.0)


def test_assignments_in_branches_and_loops_are_done_when_those_are_computed(graph, engine):
    p, v, n = graph.placeholder(dt.spec((), "bool"), "p"), dt.Variable(1.0), dt.Variable(0.0)
    picked = ops.cond(p, lambda: v.assign(7.0) * 2.0, lambda: v * 3.0)
    counted = ops.while_loop(lambda i: i < 3.0, lambda i: (n.assign_add(1.0), i + 1.0)[1], ops.constant(0.0) + v * 0.0)
    assert run(graph, v * 1.0) == 1.0
    assert (run(graph, [picked, v], p=False), v.numpy()) == ([3.0, 1.0], 1.0)
    assert (run(graph, [picked, v], p=True), v.numpy()) == ([14.0, 1.0], 7.0)
    assert (run(graph, counted), n.numpy()) == (3.0, 3.0)


def test_gradients_stop_at_what_was_assigned(graph):
    v, x = dt.Variable(2.0), graph.placeholder(dt.spec(()), "x")
    with graph.control_dependencies([v.assign(x * x)]):
        y = v * 3.0
    assert dt.gradients(y, [x])[0] is None
    assert run(graph, dt.gradients(y, [v])[0], x=5.0) == 3.0


def test_variables_made_of_tensors_draw_again(graph, engine):
    x = graph.placeholder(dt.spec(()), "x")
    w = dt.Variable(ops.random.normal(dt.Generator(1), (3,)), name="layer/w")
    twice = dt.Variable(w.initial_value * 0.0 + 2.0, dtype="float64", name="twice", trainable=False)
    first = w.numpy()
    assert (twice.dtype, twice.numpy().tolist()) == ("float64", [2.0, 2.0, 2.0])
    assert graph.get_collection("variables") == [w, twice]
    assert graph.get_collection("trainable_variables", scope="layer/") == [w]
    w.assign_add(x)
    start = graph.initializer()
    run(graph, start)
    second = w.numpy()
    assert len({*first, *second}) == 6
    only = graph.initializer([twice])
    with dt.Session(graph):
        only.run()
    assert w.numpy().tolist() == second.tolist()
    with pytest.raises(ValueError, match="placeholder 'x'"):
        dt.Variable(x + 1.0)
    with pytest.raises(ValueError, match=r"'plain' was not made from a graph tensor"):
        graph.initializer([dt.Variable(1.0, name="plain")])
    assert pickle.loads(pickle.dumps(w)).initial_value is None
    assert copy.deepcopy(w).numpy().tolist() == second.tolist()


def test_a_file_has_the_graph_its_variables_and_its_collections(tmp_path, engine):
    graph = dt.SessionGraph()
    with graph.as_default():
        x = graph.placeholder(dt.spec((None,)), "x")
        w = dt.Variable(graph.constant(np.array([1.0, 2.0], "float32")), name="w")
        step = w.assign_add(x)
        noise = ops.random.uniform(graph.key(3), (2,))
        graph.add_to_collections(["ends", ("a", 1)], step)
        start = graph.initializer()
    run(graph, step, x=[1.0, 1.0])
    dt.save({"graph": graph, "w": w, "again": [graph]}, tmp_path / "x")
    found = dt.load(tmp_path / "x")
    other = found["graph"]
    assert type(other) is dt.SessionGraph and found["again"][0] is other and str(other) == str(graph)
    assert other.get_collection("variables") == [found["w"]] and other.get_collection(("a", 1))[0].name == step.name
    session = dt.Session(other)
    assert session.run(step.name, {"x:0": [1.0, 1.0]}).tolist() == [3.0, 4.0]
    assert found["w"].numpy().tolist() == [3.0, 4.0] and w.numpy().tolist() == [2.0, 3.0]
    session.run(start.name)
    assert found["w"].numpy().tolist() == [1.0, 2.0]
    draws = [session.run(noise.name), session.run(noise.name)]
    assert len(np.unique(draws)) == 4 and other.key(3).name == graph.key(3).name


def test_groups_wait_and_are_waited_for(graph, capsys):
    x = graph.placeholder(dt.spec(()), "x")
    inner = graph.group(ops.print_tensor(x, "inner"), name="inner")
    outer = graph.group(inner, ops.print_tensor(x, "outer"))
    with graph.control_dependencies([outer]):
        y = x + 1.0
        empty = graph.group(name="empty")
    assert (inner.type, inner.outputs, empty.control_inputs) == ("NoOp", [], (outer,))
    run(graph, empty, x=1.0)
    assert sorted(capsys.readouterr().out.split()) == ["1", "1", "inner", "outer"]
    assert run(graph, y, x=1.0) == 2.0
    assert sorted(capsys.readouterr().out.split()) == ["1", "1", "inner", "outer"]
    with pytest.raises(ValueError, match="belongs to the graph"):
        graph.group(dt.Graph().placeholder(dt.spec(()), "x"))
    graph.validate()


def test_groups_in_functions(engine, capsys):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.control_dependencies([graph.group(graph.group(ops.print_tensor(x, "shown")))]):
        graph.outputs = [x + 1.0]
    assert dt.function(graph)(1.0).numpy() == 2.0
    assert capsys.readouterr().out == "shown 1\n"
    assert [op.type for op in graph.subgraph(graph.outputs, [x])] == [
        "Placeholder",
        "Print",
        "NoOp",
        "NoOp",
        "Const",
        "AddV2",
    ]


def test_a_copy_runs_as_its_original():
    graph, v = dt.SessionGraph(), dt.Variable(1.0)
    with graph.as_default():
        p = graph.placeholder(dt.spec((), "bool"), "p")
        x = graph.placeholder(dt.spec(()), "x")
        steps = [v.assign_add(x), v.assign_sub(x * 3.0)]
        chosen = ops.cond(p, lambda: v.assign(7.0) * 2.0, lambda: v * 3.0)
    made = copy.copy(graph)
    names = [t.name for t in steps]
    run(made, names, x=10.0)
    assert (type(made), v.numpy()) == (dt.SessionGraph, -19.0)
    assert (run(made, chosen.name, p=True), v.numpy()) == (14.0, 7.0)
    with made.as_default():
        assert v.assign(1.0).graph is made
    made.validate()
