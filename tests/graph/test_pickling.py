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
