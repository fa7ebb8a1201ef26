"""Tracing: what becomes a node, what is captured, what is refused, and what is known of shapes on the way."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph import trace


def traced(function, *specs):
    return dt.function(function, input_signature=specs).graph(*specs)


def types(graph):
    return [op.type for op in graph.operations]


@pytest.fixture
def graph():
    return dt.Graph("test")


# -- arguments --------------------------------------------------------------------------------------------------------


def test_other_values_become_constants(graph):
    x = graph.placeholder(dt.spec((2,)), "x")
    for other in (2, 2.5, [1.0, 2.0], np.ones(2, "float32"), ops.constant([1.0, 2.0])):
        y = x * other
        assert y.op.inputs[1].op.type == "Const"
        assert y.dtype == "float32"
    graph.validate()


def test_promotion_adds_casts(graph):
    x = graph.placeholder(dt.spec((2,), "int32"))
    y = x + graph.placeholder(dt.spec((2,), "float16"))
    assert (y.dtype, y.op.inputs[0].op.type) == ("float16", "Cast")
    assert ops.exp(x).dtype == "float32"


def test_the_same_call_again_gives_the_same(graph):
    """Calls are looked up by their arguments' specs; numbers of another type, and another floatx, are other calls."""
    x = graph.placeholder(dt.spec((2,), "int32"))
    for _ in range(2):
        assert (x + 1).dtype == "int32"
        assert (x + 1.0).dtype == "float32"
        assert ops.sum(x, axis=0).shape == ()
        assert ops.sum(x, axis=0, keepdims=True).shape == (1,)
    dt.config.set_floatx("float64")
    assert (x + 1.0).dtype == "float64"
    graph.validate()


def test_errors_name_the_op_the_line_and_the_arguments(graph):
    x = graph.placeholder(dt.spec((2, 3)), "x")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"MatMul at test_trace.py:\d+: the inner.*float32\[2,3\]"):
            x @ x


# -- graphs that do not meet ------------------------------------------------------------------------------------------


def test_tensors_of_two_graphs(graph):
    x, y = graph.placeholder(dt.spec(()), "x"), dt.Graph("other").placeholder(dt.spec(()), "y")
    with pytest.raises(ValueError, match=r"AddV2.*two graphs.*'other'.*'test'.*import"):
        x + y


def test_a_leaked_tensor(graph):
    leaked = []
    traced(lambda x: leaked.append(x * 2) or x, dt.spec(()))
    with pytest.raises(ValueError, match=r"was made while .* was traced, and kept"):
        traced(lambda x: x + leaked[0], dt.spec(()))
    v = dt.Variable(0.0)
    with pytest.raises(ValueError, match="no value outside the graph"):
        v.assign(leaked[0])


def test_a_failed_trace_leaves_nothing_behind():
    def fail(x):
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        traced(fail, dt.spec(()))
    assert trace.current_graph() is None
    assert type(ops.add(1, 2)) is dt.Tensor


# -- captures ---------------------------------------------------------------------------------------------------------


def test_subgraphs_capture():
    v = dt.Variable([1.0, 2.0], name="v")

    def function(x, flag):
        doubled = x * 2.0
        return ops.cond(flag, lambda: doubled + v, lambda: doubled * 3.0 + x)

    graph = traced(function, dt.spec((2,)), dt.spec((), "bool"))
    graph.validate()
    (op,) = [op for op in graph.operations if op.type == "If"]
    branch = op.attrs["then_branch"]
    assert {t.op.type for t in op.inputs[1:]} == {"Mul", "ReadVariableOp", "Placeholder"}
    assert len(branch.inputs) == len(op.inputs) - 1
    assert "ReadVariableOp" not in types(branch)  # the value comes in
    assert "Const" in types(op.attrs["else_branch"])


def test_variables_are_read_once_and_assigned_in_order():
    v = dt.Variable(1.0, name="v")

    def function(x):
        a = v + x
        v.assign(a)
        v.assign_add(1.0)
        return v * a

    graph = traced(function, dt.spec(()))
    assert types(graph).count("ReadVariableOp") == 1
    first, second = [op for op in graph.operations if op.type == "AssignVariableOp"]
    assert second.control_inputs == (first,)
    assert graph.depends_on(graph.outputs[0].op, second.inputs[0].op)
    graph.validate()


# -- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape_of_result", "expected"),
    [
        (lambda x: ops.shape(x), (None, 4)),
        (lambda x: (ops.shape(x)[0], ops.shape(x)[1] * 2), (None, 8)),
        (lambda x: (ops.shape(x)[0] * 4, 1), (None, 1)),
        (lambda x: ops.concatenate([ops.shape(x)[1:], [1], ops.shape(x)[:1]], 0), (4, 1, None)),
        (lambda x: ops.cast(ops.shape(x), "int64"), (None, 4)),
        (lambda x: (ops.prod(ops.shape(x)[1:]), -1), (4, -1)),
        (lambda x: (ops.shape(x)[1] // 2, ops.maximum(ops.shape(x)[1], 9)), (2, 9)),
    ],
)
def test_what_is_known_of_a_shape_is_used(graph, shape_of_result, expected):
    x = graph.placeholder(dt.spec((None, 4)), "x")
    y = ops.reshape(x, shape_of_result(x))
    assert y.shape == tuple(None if d == -1 else d for d in expected)
    if None not in expected:
        assert y.op.inputs == [x]  # the shape is static
    graph.validate()


def test_a_shape_of_unknown_length(graph):
    x, shape = graph.placeholder(dt.spec((4,)), "x"), graph.placeholder(dt.spec((None,), "int32"), "shape")
    assert ops.reshape(x, shape).shape is ops.broadcast_to(x, shape).shape is None
    with pytest.raises(ValueError, match="rank would not be"):
        ops.overlap_add(np.ones((1, 1, 1, 1)), shape, (1,), (1,), (1,), "valid")
    with pytest.raises(TypeError, match="needs integers"):
        ops.reshape(x, x)


# -- subgraphs that were traced before --------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["tensor", "variable"])
def test_a_body_takes_nothing_more_from_around_it_b(graph, what):
    x, y = graph.placeholder(dt.spec((3,)), "x"), graph.placeholder(dt.spec(()), "y")
    outer = {"tensor": y, "variable": dt.Variable(1.0)}[what]
    body = ops.scan(lambda s, e: (s + e, None), 0.0, x)[0].op.attrs["body"]
    before = str(graph), len(body.inputs)
    with (
        body.as_default(),
        pytest.raises(ValueError, match=r"at test_trace.py:\d+: .*is outside of the subgraph 'body'"),
    ):
        body.outputs[0] * outer
    assert (str(graph), len(body.inputs)) == before
    graph.validate()


def test_a_body_can_be_edited_with_constants_b(graph):
    result = ops.scan(lambda s, e: (s + e, None), 0.0, graph.placeholder(dt.spec((3,)), "x"))[0]
    body = result.op.attrs["body"]
    with body.as_default():
        body.outputs = [body.outputs[0] * ops.constant(2.0) + 1.0]
    graph.outputs = [result]
    graph.validate()
    assert float(dt.function(graph)(np.ones(3, "float32"))) == ((1 * 2 + 1 + 1) * 2 + 1 + 1) * 2 + 1
