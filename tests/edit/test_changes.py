"""Changes of operations, functions put behind tensors, scopes, edits of several steps: done, or refused as a whole."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.edit.random_edits import dump
from tests.edit.test_edit import refused


def names(graph):
    return [op.name for op in graph]


# -- operations -------------------------------------------------------------------------------------------------------


def test_an_operation_becomes_one_of_another_op(engine, graph, x):
    y = ops.sum(x, axis=0, keepdims=True)
    graph.outputs = [ops.exp(y)]
    y.op.change(op=ops.max, axis=1)
    assert (y.op.type, y.op.attrs, y.shape) == ("Max", {"axis": 1, "keepdims": True}, (2, 1))
    assert graph.outputs[0].shape == (2, 1)
    value = np.array([[1, 2, 3], [4, 6, 5]], "float32")
    np.testing.assert_allclose(dt.function(graph)(value).numpy(), np.exp([[3], [6]]), rtol=1e-6)
    y.op.change(op="Min", keepdims=False)
    graph.validate()
    assert graph.outputs[0].shape == (2,)


def test_ops_of_lists_and_of_several_tensors(graph, x):
    y, z = ops.concatenate([x, x], 1), x - x * 2.0
    y.op.change(op="Pack", axis=0)
    z.op.change(op=ops.multiply)
    assert (y.shape, y.op.layout, z.op.type) == ((2, 2, 3), (2, None), "Mul")
    assert len(x.uses()) == 4
    graph.validate()


def test_a_gradient_of_its_own_goes_with_the_op(graph, x):
    y = dt.custom_gradient(lambda a: (a * 2.0, lambda g: g * 7.0))(x)
    assert y.op.gradient_function is not None
    y.op.change(name="mine")
    assert y.op.gradient_function is not None
    refused(graph, TypeError, lambda: y.op.change(op="Exp"), "takes other tensors")
    z = ops.tanh(x)
    z.op.gradient_function = lambda op, g: g
    z.op.change(op="Exp")
    assert z.op.gradient_function is None


def test_a_name_is_changed(graph, x):
    y = ops.tanh(x)
    y.op.change(name="layer/y")
    assert (y.name, graph.get_operation("layer/y")) == ("layer/y:0", y.op)
    assert ops.tanh(x).op.name == "Tanh_1"
    y.op.change(name="layer/y")
    graph.validate()


def test_static_arguments_are_set_and_shapes_follow(graph, x):
    y = ops.sum(x, 1)
    z = ops.exp(y)
    y.op.set_attr("axis", 0)
    assert (y.shape, z.shape, y.op.attr("axis")) == ((3,), (3,), 0)
    constant = graph.constant(np.ones((2, 3), "float32"))
    w = ops.matmul(constant, graph.constant(np.ones((3, 4), "float32")))
    constant.op.set_attr("value", np.ones((5, 3), "float32"))
    assert w.shape == (5, 4)
    graph.validate()


MISTAKES = {
    "no op": (lambda y: y.op.change(op="Tan_h"), TypeError, "'Tan_h' is no op"),
    "no parameter": (lambda y: y.op.change(op="Max", axes=1), LookupError, "no parameter 'axes'"),
    "no attribute": (lambda y: y.op.change(axes=1), LookupError, "no parameter 'axes'"),
    "a value": (lambda y: y.op.change(axis="one"), TypeError, "axis must be an int"),
    "an axis": (lambda y: y.op.change(axis=5), (ValueError, IndexError), "axis"),
    "tensors": (lambda y: y.op.change(op=ops.add), TypeError, "takes other tensors than Sum"),
    "fewer tensors": (lambda y: y.graph.outputs[0].op.change(op="Tanh"), TypeError, "takes other tensors than MatMul"),
    "a list": (lambda y: y.op.change(op="Pack"), TypeError, "takes other tensors than Sum"),
    "a dtype": (lambda y: y.op.change(op="ArgMax"), TypeError, "would become int"),
    "a dtype to take": (lambda y: y.op.change(op="LogicalNot"), TypeError, "LogicalNot|cast"),
    "a rank further on": (lambda y: y.op.change(axis=None, keepdims=False), ValueError, "MatMul"),
    "a name": (lambda y: y.op.change(name="x", axis=0), ValueError, "that is the name of another"),
    "no name": (lambda y: y.op.change(name=""), ValueError, "cannot be called ''"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_changes_that_are_refused(graph, x, name):
    y = ops.sum(x, 1, keepdims=True)
    graph.outputs = [ops.matmul(ops.transpose(y), y)]
    change, kind, message = MISTAKES[name]
    refused(graph, kind, lambda: change(y), message)


# -- behind a tensor --------------------------------------------------------------------------------------------------


def test_a_function_is_put_behind_a_tensor(engine, graph, x):
    h = ops.exp(x)
    graph.outputs = [ops.tanh(h), h]
    new = graph.insert_after(h, lambda h: (h - ops.mean(h)) / ops.std(h))
    assert graph.outputs[1] is new is graph.outputs[0].op.inputs[0]
    assert graph.operations[-1] is graph.outputs[0].op
    value = np.array([[1, 2, 3], [4, 6, 5]], "float32")
    e = np.exp(value)
    np.testing.assert_allclose(dt.function(graph)(value)[1].numpy(), (e - e.mean()) / e.std(), rtol=1e-4)
    refused(graph, TypeError, lambda: graph.insert_after(h, lambda h: ops.cast(h, "int32")), "dtypes differ")
    refused(graph, TypeError, lambda: graph.insert_after(h, lambda h: "3"), "is no tensor")
    refused(graph, TypeError, lambda: graph.insert_after(h.op, lambda h: h), "no tensor of the graph")

    def fails(h):
        dt.Variable([1.0, 2.0]).assign(ops.tanh(h)[0, :2])
        raise ValueError("the function fails")

    refused(graph, ValueError, lambda: graph.insert_after(h, fails), "the function fails")


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_scopes_are_renamed(graph, x):
    for scope in ("a", "a/b", "ab"):
        with graph.name_scope(scope):
            ops.tanh(x)
    assert graph.rename_scope("a", "c/d") == 2
    assert names(graph)[1:] == ["c/d/Tanh", "c/d/b/Tanh", "ab/Tanh"]
    assert graph.rename_scope("c/d/", "") == 2
    assert names(graph)[1:] == ["Tanh", "b/Tanh", "ab/Tanh"]
    assert (graph.rename_scope("", "all"), graph.rename_scope("none", "some")) == (4, 0)
    assert names(graph) == ["all/x", "all/Tanh", "all/b/Tanh", "all/ab/Tanh"]
    graph.validate()
    refused(graph, ValueError, lambda: graph.rename_scope("all/b", "all/ab"), "an operation 'all/ab/Tanh' already")
    refused(graph, ValueError, lambda: graph.rename_scope("all/b", "all"), "an operation 'all/Tanh' already")
    refused(graph, ValueError, lambda: graph.rename_scope("all/Tanh", ""), "cannot become ''")
    assert graph.rename_scope("all/Tanh", "all/first") == 1


# -- several steps ----------------------------------------------------------------------------------------------------


def test_an_edit_is_done_as_a_whole_or_not_at_all(graph, x):
    v, xs = dt.Variable([[1.0, 2.0, 3.0]] * 2), ops.exp(x)
    last, rows = ops.scan(lambda s, row: (s + row, ops.tanh(s)), xs[0], xs)
    h = ops.tanh(rows)
    graph.outputs = [h]
    before = dump(graph)
    body = last.op.attr("body")
    with pytest.raises(ZeroDivisionError), graph.edit() as same:
        assert same is graph
        graph.outputs.append(xs)
        graph.rename_scope("", "all")
        graph.insert_after(xs, lambda t: t * 2.0)
        h.op.change(op="Exp", name="h")
        body.outputs[1].op.change(op="Exp")
        graph.insert_after(x, ops.identity)
        with graph.as_default():
            v.assign(v + h)
        graph.import_graph(dt.function(lambda a: a + 1.0).graph(dt.spec((2, 3))), {"arg0": h})
        x.set_shape((2, 3))
        graph.prune([xs])
        h.op.device = "cpu:0"
        1 / 0  # noqa: B018
    assert dump(graph) == before
    assert h.op.device == ""
    graph.validate()
    with graph.edit():
        with pytest.raises(ZeroDivisionError), graph.edit():
            h.op.change(op="Exp")
            1 / 0  # noqa: B018
        graph.rename_scope("", "all")
    assert (h.op.type, h.op.name) == ("Tanh", "all/Tanh")


# -- finalized graphs -------------------------------------------------------------------------------------------------

EDITS = {
    "an operation": lambda g, y, body: ops.tanh(y),
    "an input": lambda g, y, body: g.outputs[0].op.replace_input(0, g.inputs[0]),
    "a control input": lambda g, y, body: y.op.add_control_input(g.inputs[0].op),
    "an attribute": lambda g, y, body: y.op.set_attr("axis", 0),
    "an op": lambda g, y, body: y.op.change(op="Max"),
    "a name": lambda g, y, body: y.op.change(name="y"),
    "a device": lambda g, y, body: setattr(y.op, "device", "cpu:0"),
    "a shape": lambda g, y, body: g.inputs[0].set_shape((2, 3)),
    "an output": lambda g, y, body: g.outputs.append(y),
    "the outputs": lambda g, y, body: setattr(g, "outputs", []),
    "all uses": lambda g, y, body: g.replace_all_uses(g.outputs[0], y),
    "pruning": lambda g, y, body: g.prune([]),
    "a removal": lambda g, y, body: g.remove(y.op),
    "a body": lambda g, y, body: body.outputs[0].op.replace_input(0, body.inputs[0]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_finalized_graph_is_only_read(graph, edit):
    xs = graph.placeholder(dt.spec((2, None)), "xs")
    last = ops.scan(lambda s, row: (ops.exp(ops.tanh(s)) + row, None), xs[0], xs)[0]
    y = ops.sum(xs, 1)
    graph.outputs = [ops.sum(last), last]
    assert not graph.is_final
    graph.finalize()
    before = dump(graph)
    with pytest.raises(RuntimeError, match=r"is finalized, so it cannot be changed; change a copy"):
        EDITS[edit](graph, y, last.op.attr("body"))
    assert dump(graph) == before
    assert graph.is_final
    session = dt.Session(graph)
    assert session.run([y, last, dt.Variable(1.0)], {xs: np.zeros((2, 3))})[0].shape == (2,)
