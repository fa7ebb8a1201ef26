"""Graphs as documents: JSON and pickles restore them completely, and an error names values that cannot be written."""

import json
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.calls.gradients import RegisterGradient
from dovetail.graph.attributes import Beside, Refused, decode, encode
from dovetail.graph.document import document_of, graph_of
from dovetail.ops.control.host_calls import py_func


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
    """Check that a value that was assigned and not read since is read once more."""
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


# -- documents ------------------------------------------------------------------------------------------------------

VALUES = [
    *(None, True, 0, -3, 2**70, "", "é", 1.5, -0.0, float("inf"), float("nan"), 1 + 2j, b"\x00\xff"),
    *((), (1, None), ((1, 2), (3.0, "a")), [1, [2]], frozenset([3, 1]), slice(1, None, 2)),
    *(dt.core.dtypes.as_dtype("bfloat16"), np.float32(0.1), np.int64(-1), np.bool_(True)),
    *({}, {"b": 1, "a": {2: (None,)}}, OrderedDict([("b", 1), ("a", 2)])),
    *(dt.spec(()), dt.spec((None, 3), "int8"), dt.spec(None)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value):
    beside = Beside()
    found = decode(json.loads(json.dumps(encode(value, beside), allow_nan=False)), beside)
    assert type(found) is type(value) and repr(found) == repr(value)


def test_what_stands_beside():
    array, variable, tensor = np.arange(3.0), dt.Variable([1.0], name="w"), ops.constant([2.0])
    other = dt.Variable([2.0], name="w")
    beside = Beside()
    written = [encode(v, beside) for v in (array, variable, other, tensor, variable)]
    assert written[1:3] == [{"variable": "w"}, {"variable": "w_1"}] and written[4] == written[1]
    found = [decode(data, beside) for data in json.loads(json.dumps(written))]
    assert all(a is b for a, b in zip(found, (array, variable, other, tensor, variable), strict=True))


@pytest.mark.parametrize("value", [lambda x: x, object(), {1, 2}, np.add], ids=["lambda", "object", "set", "ufunc"])
def test_values_that_no_document_holds(value):
    with pytest.raises(Refused, match="is not a number, string"):
        encode((1, value), Beside())
    beside = Beside(keeps_objects=True)
    assert decode(encode((1, value), beside), beside) == (1, value)


@pytest.mark.parametrize(
    "data",
    [{}, {"dtype": "float33"}, {"abacus": 1}, {"float": "x"}, {"array": "x"}, {"scalar": 3}, {"a": 1, "b": 2}],
    ids=str,
)
def test_wrong_data(data):
    with pytest.raises(ValueError):
        decode(data, Beside())


def model(graph):
    w, x = dt.Variable(np.ones((3, 2), "float32"), name="w"), graph.placeholder(dt.spec((None, 3)), "x")
    c = ops.constant([1.0, 2.0])
    with graph.as_default():
        y = ops.cond(
            ops.sum(x) > 0, lambda: x @ w + c, lambda: ops.scan(lambda a, b: (a + b, a), x[:, :2], x[:, :2])[1][0]
        )
        w.assign_add(ops.ones((3, 2)))
        graph.outputs = [ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, y))[1]]
    return graph, w


def through_json(graph):
    beside = Beside()
    text = json.dumps(document_of(graph, beside), allow_nan=False)
    return text, graph_of(json.loads(text), beside)


def test_a_document_is_the_graph(graph):
    """Check branches, loops, variables, constants and eager tensors; the numbers are the same, too."""
    graph, w = model(graph)
    text, found = through_json(graph)
    assert str(found) == str(graph) and through_json(found)[0] == text
    found.validate()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    expected = dt.function(graph)(x).numpy()
    w.assign_sub(np.ones((3, 2), "float32"))
    np.testing.assert_array_equal(dt.function(found)(x), expected)
    assert w.numpy().tolist() == [[2.0, 2.0]] * 3


def test_constants_that_were_pruned_are_no_closures():
    """Check an eager tensor that a trace used, whose constant is pruned."""
    unused, used = ops.constant([5.0, 6.0]), ops.constant([1.0, 2.0])
    graph = dt.function(lambda x: (unused * x, used * x)[1]).graph(dt.spec((2,)))
    graph.prune()
    assert len(graph.closures) >= 1
    for found in (again(graph), through_json(graph)[1]):
        assert dt.function(found)(np.ones(2, "float32")).numpy().tolist() == [1.0, 2.0]


def test_what_cannot_be_written_is_named():
    graph = dt.function(lambda x: py_func([x], lambda v: v + 1, ("float32",), ((),))[0]).graph(dt.spec(()))
    with pytest.raises(TypeError, match=r"PyFunc.* function: .*cannot be written"):
        document_of(graph, Beside())
    pickled = dt.function(lambda x: py_func([x], abs, ("float32",), ((),))[0]).graph(dt.spec(()))
    assert str(again(pickled)) == str(pickled)


@pytest.mark.parametrize("change", [{"version": 2}, {"version": None}], ids=str)
def test_documents_of_another_version(graph, change):
    beside = Beside()
    document = document_of(model(graph)[0], beside)
    with pytest.raises(ValueError, match="version"):
        graph_of({**document, **change}, beside)


def test_an_op_that_is_not_there(graph):
    beside = Beside()
    text = json.dumps(document_of(model(graph)[0], beside)).replace('"MatMul"', '"Abacus"')
    with pytest.raises(LookupError, match=r"no op is called 'Abacus' here.* register it first"):
        graph_of(json.loads(text), beside)
