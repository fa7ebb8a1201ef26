"""Sessions: fetches, feeds, results and assignments, caches, errors."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.plan import Plan
from dovetail.sessions.session import default_session, session_of
from tests.libraries import require


@pytest.fixture
def program():
    """A graph of y = tanh(x · w) + b."""
    graph, w = dt.SessionGraph("program"), dt.Variable([1.0, 2.0], name="w")
    with graph.as_default():
        x = graph.placeholder(dt.spec((None,)), "x")
        b = ops.placeholder_with_default(graph.constant(np.float32(0.5)), name="b")
        y = ops.add(ops.tanh(x * w, name="h"), b, name="y")
    graph.outputs = [y]
    return graph, x, w, y


def test_fetches_are_structures_of_all_that_a_graph_holds(program, engine):
    graph, x, w, y = program
    h = np.tanh([1.0, 2.0], dtype="float32")
    found = dt.Session(graph).run(
        {"tensor": y, "names": ("h:0", "h"), "rest": [w, y.op, None, ops.constant(3.0), x]}, {x: [1, 1]}
    )
    np.testing.assert_allclose(found["tensor"], h + 0.5, rtol=1e-6)
    np.testing.assert_allclose(found["names"][0], h, rtol=1e-6)
    assert found["names"][1] is None
    assert [None if v is None else v.tolist() for v in found["rest"]] == [[1.0, 2.0], None, None, 3.0, [1.0, 1.0]]
    assert dt.Session(graph).run([]) == []


def test_results_have_the_order_of_the_fetched_dict(engine):
    graph = dt.Graph()
    with graph.as_default():
        b, a = graph.constant(np.array(1.0)), graph.constant(np.array(2.0))
    fetches = {"z": [b, {"y": a, "x": b}], "c": defaultdict(list, {"b": b, "a": a}), 2: a, 1: None}
    results = dt.Session(graph).run(fetches)
    assert results == {"z": [1, {"y": 2, "x": 1}], "c": {"b": 1, "a": 2}, 2: 2, 1: None}
    assert [[*results], [*results["z"][1]], [*results["c"]]] == [["z", "c", 2, 1], ["y", "x"], ["b", "a"]]
    assert results["c"]["new"] == []


def test_any_tensor_or_variable_is_fed_any_value(program, engine):
    graph, x, w, y = program
    session = dt.Session(graph)
    native = get_engine(engine).asarray([0.0, 0.0], dt.dtypes.as_dtype("float32"))
    for zeros in ([0, 0], (0.0, 0.0), np.zeros(2, "float64"), ops.zeros((2,)), dt.Variable([0.0, 0.0]), native):
        assert session.run(y, {x: zeros}).tolist() == [0.5, 0.5]
        assert session.run(y, {"h:0": zeros}).tolist() == [0.5, 0.5]
    assert session.run([y, w], {x: [1.0, 1.0], w: [0.0, 0.0], "b:0": 2.0})[0].tolist() == [2.0, 2.0]
    assert session.run(w, {w: [7.0, 8.0]}).tolist() == [7.0, 8.0]
    assert w.numpy().tolist() == [1.0, 2.0]


def test_tensors_of_other_libraries_are_fed(program):
    torch = pytest.importorskip("torch")
    graph, x, _, y = program
    assert dt.Session(graph, engine="numpy").run(y, {x: torch.zeros(2)}).tolist() == [0.5, 0.5]


def test_a_tensor_that_the_graph_closed_over_is_fed():
    graph, scale = dt.Graph(), ops.constant(2.0)
    y = graph.placeholder(dt.spec(()), "x") * scale
    assert [y.eval({"x:0": 3.0}), y.eval({"x:0": 3.0, scale: 10.0})] == [6.0, 30.0]


def test_what_a_run_does_not_need_is_not_computed(capsys):
    graph = dt.SessionGraph()
    with graph.as_default():
        x, unused = graph.placeholder(dt.spec(()), "x"), graph.placeholder(dt.spec(()), "unused")
        shown = ops.print_tensor(x, "shown")
        y = x + 1.0
        ops.tanh(unused)
    session = dt.Session(graph)
    assert session.run(y, {x: 1.0}) == 2.0
    assert capsys.readouterr().out == ""
    assert session.run(shown.op, {x: 1.0}) is None
    assert capsys.readouterr().out == "shown 1\n"
    assert session.run(graph.group(shown, y), {x: 2.0}) is None
    assert capsys.readouterr().out == "shown 2\n"


def test_plans_are_kept_until_the_graph_is_edited(program, monkeypatch):
    graph, x, w, y = program
    made = []
    init = Plan.__init__
    monkeypatch.setattr(Plan, "__init__", lambda self, *args: (made.append(self), init(self, *args))[1])
    session = dt.Session(graph, engine="numpy")
    for _ in range(3):
        session.run([y, w], {x: [1.0, 1.0]})
        session.run(y, {"h:0": [1.0, 1.0]})
    ops.tanh(y)
    session.run([y, w], {x: [1.0, 1.0]})
    assert len(made) == 2
    y.op.replace_input(1, graph.constant(np.float32(1.5)))
    assert session.run(y, {x: [0.0, 0.0]}).tolist() == [1.5, 1.5]
    assert len(made) == 3


def test_a_session_computes_on_its_engine(program):
    require("torch", "it is the engine")
    graph, x, _, y = program
    seen = []
    gradient = dt.custom_gradient(lambda a: (a, lambda g: g))
    with graph.as_default():
        z = gradient(y)
    session = dt.Session(graph, engine="torch")
    session.run(z, {x: ops.zeros((2,))})
    ((program, _),) = session._programs._young.values()
    seen = [plan.engine.name for plan in program._concrete(False)._plans._young.values()]
    assert seen == ["torch"]


def test_eval_and_run_use_the_default_session(program):
    graph, x, _, y = program
    count = dt.Variable(0.0)
    with graph.as_default():
        step = count.assign_add(1.0)
    with dt.Session(graph) as session:
        assert default_session() is session is session_of(graph)
        assert y.eval({x: [0.0, 0.0]}).tolist() == [0.5, 0.5]
        assert step.op.run() is None
        assert step.graph is (y * 2.0).graph
    assert default_session() is None
    assert float(count) == 1.0
    with pytest.raises(RuntimeError, match="the session is closed"):
        session.run(y, {x: [0.0]})
    assert y.eval({x: [0.0, 0.0]}).tolist() == [0.5, 0.5]  # the graph's session evaluates it
    other = dt.Session(dt.Graph())
    with other.as_default():
        assert session_of(graph) is not other
        assert dt.Session(graph).make_callable(y, [x])([0.0, 0.0]).tolist() == [0.5, 0.5]
    with pytest.raises(
        ValueError, match=r"test_session.py:\d+, belongs to the graph 'program', not to 'graph': run it"
    ):
        y.eval({x: [0.0]}, session=other)
    with pytest.raises(
        ValueError, match=r"AddV2.*the graph 'graph' that begins at test_session.*, not to 'graph' without operations"
    ):
        other.run((dt.Graph().placeholder(dt.spec(())) + 1.0).op)
    with pytest.raises(ValueError, match=r"run it in a session of its graph, or build it in the session"):
        other.run([], {x: 1.0})


def test_without_a_graph_a_session_runs_the_default_one():
    session = dt.Session()
    with session:
        x = session.graph.placeholder(dt.spec(()), "x")
        assert dt.Session().graph is session.graph
        assert session.run(x + 1.0, {x: 1.0}) == 2.0


def test_a_traced_graph_is_run_with_what_it_assigns_in_order():
    v = dt.Variable(1.0)

    def program(x):
        v.assign(v * x)
        first = v * 10.0
        v.assign_add(1.0)
        return first, v * 1.0

    graph = dt.function(program).graph(dt.spec(()))
    session = dt.Session(graph)
    assert session.run([graph.outputs, v], {graph.inputs[0]: 3.0}) == [[30.0, 4.0], 1.0]
    assert float(v) == 1.0  # no assignment was fetched
    last = graph.find("AssignVariableOp")[-1]
    assert session.run([last, graph.outputs[0]], {graph.inputs[0]: 3.0}) == [None, 30.0]
    assert float(v) == 4.0


def test_random_numbers_are_others_in_each_run(engine):
    for graph in (dt.Graph(), dt.SessionGraph()):
        with graph.as_default():
            x = ops.random.normal(dt.Generator(3), (2,))
        assert x.eval().tolist() != x.eval().tolist()


def test_a_run_that_fails_changes_nothing(program):
    graph, _, w, _ = program
    with graph.as_default():
        value = graph.placeholder(dt.spec((None,)), "value")
        step = graph.group(w.assign(value), dt.Variable(0.0, name="count").assign_add(1.0))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        dt.Session(graph).run(step, {value: [1.0, 2.0, 3.0]})
    assert w.numpy().tolist() == [1.0, 2.0]


MISTAKES = {
    "unfed": (lambda s, x, y: s.run(y), ValueError, r"placeholder 'x' \(float32\[\?\], made at test_session.py:\d+\)"),
    "shape": (lambda s, x, y: s.run(y, {x: [[1.0]]}), ValueError, r"'x' is float32\[\?\]: .* shape \(1, 1\)"),
    "a symbol": (lambda s, x, y: s.run(y, {x: y}), TypeError, "needs a value.*graph tensor y:0"),
    "None is fed": (lambda s, x, y: s.run(y, {x: None}), TypeError, "needs a value.*not None"),
    "an operation is fed": (lambda s, x, y: s.run(y, {"x": [1.0]}), ValueError, 'write "x:0" for its first result'),
    "no name": (lambda s, x, y: s.run("z:0"), KeyError, "no operation 'z' in 'program'"),
    "no such output": (lambda s, x, y: s.run("y:1"), KeyError, "has 1 outputs, so there is no tensor 'y:1'"),
    "a number": (lambda s, x, y: s.run(3.0), TypeError, "can be computed, not 3.0"),
    "a number is fed": (lambda s, x, y: s.run(y, {3.0: 1.0}), TypeError, "can be fed, not 3.0"),
    "no graph": (lambda s, x, y: dt.Session("graph"), TypeError, "runs a dovetail.Graph, not 'graph'"),
    "no engine": (lambda s, x, y: dt.Session(s.graph, engine="theano"), ValueError, "theano"),
    "partial runs": (lambda s, x, y: s.partial_run("h"), NotImplementedError, "run twice"),
    "partial run setup": (lambda s, x, y: s.partial_run_setup([y], [x]), NotImplementedError, "run twice"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(program, name):
    graph, x, _, y = program
    mistake, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        mistake(dt.Session(graph), x, y)
