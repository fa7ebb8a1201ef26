"""Graphs as plain data: what comes out of a pickle has all that went in."""

import pickle

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.registry import RegisterGradient


@RegisterGradient("PicklesOwn")
def _gradient(op, g):
    return g * 3.0


def again(graph):
    return pickle.loads(pickle.dumps(graph))


def test_operations_of_several_results_and_what_they_wait_for(graph):
    x = graph.placeholder(dt.spec((3, 3)), "x")
    q, r = ops.qr(x)
    with graph.control_dependencies([r.op, x.op]), graph.gradient_override_map({"Tanh": "PicklesOwn"}):
        y = ops.tanh(r)
    y.op.device, y.op.engine = "cpu:0", "numpy"
    graph.outputs = [y, q, x]
    found = again(graph)
    assert str(found) == str(graph)
    new = found.outputs[0].op
    assert (new.device, new.engine, dict(new.overrides), new.where) == (
        "cpu:0",
        "numpy",
        {"Tanh": "PicklesOwn"},
        y.op.where,
    )
    assert [op.name for op in new.control_inputs] == ["Qr", "x"]
    assert new.inputs[0].index == 1
    assert [t.name for t in found.outputs] == ["Tanh:0", "Qr:0", "x:0"]
    found.validate()


def test_variables_and_eager_tensors(graph):
    v, c = dt.Variable([1.0, 2.0], name="v"), ops.constant([3.0, 4.0])
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        v.assign(v.read() * x + c)
    found = again(graph)
    (variable,) = found.state.assigned
    (constant,) = found.closures.values()
    assert constant.graph is found
    with found.as_default():
        variable.assign(variable.read() + 1.0)
    first, second = (op for op in found.operations if op.type == "AssignVariableOp")
    assert second.control_inputs == (first,)
    assert [op.type for op in found.operations].count("ReadVariableOp") == 1
    found.outputs = []
    found.validate()
    dt.function(found)(np.ones(2, "float32"))
    assert variable.numpy().tolist() == [1 + 3 + 1, 2 + 4 + 1]


def test_a_graph_in_the_middle_of_assignments(graph):
    """A value that was assigned and not read since is read anew."""
    v = dt.Variable([1.0, 2.0], name="v")
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        v.assign(x)
    for program in (graph, again(graph)):
        (variable,) = program.state.assigned
        with program.as_default():
            value = variable.read()
        assert value.op.type == "IdentityN"
        program.validate()


def test_graphs_of_sessions_stay_such():
    graph = dt.SessionGraph("training")
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        w = dt.Variable(graph.constant(np.float32(3.0)), name="w")
        step = w.assign_add(x)
        with graph.control_dependencies([step.op]):
            after = ops.identity(w, name="after")
        start = graph.initializer(name="start")
        draw = ops.random.uniform(graph.key(7), (2,))
    graph.add_to_collection("steps", step)
    graph.add_to_collection("steps", start)
    graph.add_to_collection("notes", "a word")
    graph.add_to_collection("notes", object())
    found = again(graph)
    assert type(found) is dt.SessionGraph and found.name == "training" and str(found) == str(graph)
    (variable,) = found.get_collection("variables")
    assert variable is not w and variable.initial_value.graph is found
    assert [x.name for x in found.get_collection("steps")] == [step.name, "start"]
    assert found.get_collection("notes") == ["a word"]
    session = dt.Session(found)
    own = found.get_tensor(step.name)
    assert session.run(["after:0", own], {"x:0": 2.0}) == [5.0, 5.0] and variable.numpy() == 5.0
    assert session.run([own, own], {"x:0": 1.0}) == [6.0, 6.0]
    session.run("start")
    assert (float(variable), float(w)) == (3.0, 3.0)
    first, second = session.run(draw.name), session.run(draw.name)
    assert (first != second).any()
    with found.as_default():
        later = variable.assign(0.0)
    assert session.run(variable) == 3.0 and session.run(later) == 0.0
    found.validate()
    assert after.graph is graph
