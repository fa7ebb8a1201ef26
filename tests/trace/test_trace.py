"""Tracing: recorded nodes, captures, errors, and known shapes."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.cache import Cache
from dovetail.edit.graph import Graph
from dovetail.trace import trace


def traced(function, *specs):
    return dt.function(function, input_signature=specs).graph(*specs)


def types(graph):
    return [op.type for op in graph.operations]


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
    """Check that calls are looked up by their arguments' specs.

    Numbers of another type, and another floatx, are other calls.
    """
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


# -- graphs that do not mix -------------------------------------------------------------------------------------------


def test_tensors_of_two_graphs(graph):
    x, y = graph.placeholder(dt.spec(()), "x"), dt.Graph("other").placeholder(dt.spec(()), "y")
    with pytest.raises(ValueError, match=r"AddV2.*two graphs.*'other'.*'test'.*Import"):
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
    assert "ReadVariableOp" not in types(branch)  # the value is captured
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
    assert ops.overlap_add(np.ones((1, 1, 1, 1)), shape, (1,), (1,), (1,), "valid").shape == (None, None, None)
    with pytest.raises(TypeError, match="shape must be ints"):
        ops.reshape(x, x)


# -- subgraphs that were traced before --------------------------------------------------------------------------------


def test_a_body_can_be_edited_with_constants_b(graph):
    result = ops.scan(lambda s, e: (s + e, None), 0.0, graph.placeholder(dt.spec((3,)), "x"))[0]
    body = result.op.attrs["body"]
    with body.as_default():
        body.outputs = [body.outputs[0] * ops.constant(2.0) + 1.0]
    graph.outputs = [result]
    graph.validate()
    assert float(dt.function(graph)(np.ones(3, "float32"))) == ((1 * 2 + 1 + 1) * 2 + 1 + 1) * 2 + 1


# -- caches of calls --------------------------------------------------------------------------------------------------


def test_static_values_of_any_kind_decide_on_a_call(graph):
    x = graph.placeholder(dt.spec((2, 3, 4)), "x")
    for _ in range(2):
        assert ops.transpose(x, (2, 1, 0)).shape == (4, 3, 2)
        assert ops.transpose(x, (1, 2, 0)).shape == (3, 4, 2)
        assert ops.transpose(x, [0, 2, 1]).shape == (2, 4, 3)
        assert ops.sum(x, axis=np.int64(1)).shape == (2, 4)
        assert ops.sum(x, axis=(0, 1)).shape == (4,)
        assert ops.sum(x, axis=None).shape == ()
        assert ops.cast(x, "int32").dtype == "int32"
        assert ops.cast(x, "float64").dtype == "float64"
        assert [t.dtype for t in (x > 1, x * True, x * 2)] == ["bool", "float32", "float32"]
        assert ops.softmax(x, axis=-1).op.attr("axis") == -1
    graph.validate()


def test_calls_are_kept_by_shape_dtype_and_type_of_numbers(graph):
    for dtype in ("int32", "float16", "float32"):
        for shape in ((2,), (3,), None):
            x = graph.placeholder(dt.spec(shape, dtype))
            for _ in range(2):
                assert [(x + 1).dtype, (x + 1).shape] == [dtype, shape]
                assert (x + 1.5).dtype == ("float32" if dtype == "int32" else dtype)
                assert ops.exp(x).dtype == ("float32" if dtype == "int32" else dtype)
                assert (x == x).dtype == "bool"
    graph.validate()


def test_many_kinds_of_calls(graph, monkeypatch):
    """Check that the caches of calls and bodies drop entries when they are full, and refill."""
    monkeypatch.setattr(trace, "_bodies", Cache(5))
    for op in (ops.multiply, ops.zeros_like):
        monkeypatch.setattr(op, "resolved", Cache(5))
    for _ in range(2):
        for size in range(1, 10):
            x = graph.placeholder(dt.spec((size,)))
            assert (x * 2.0).shape == (size,)
            assert ops.zeros_like(x).shape == (size,)
            assert 0 < len(trace._bodies) <= 10 and 0 < len(ops.multiply.resolved) <= 10
    graph.validate()


def test_composites_with_several_results(graph):
    x = graph.placeholder(dt.spec((5,)), "x")
    for _ in range(2):
        found = ops.unique(x)
        assert isinstance(found, tuple) and len(found) > 1
        assert {t.op for t in found} == {found[0].op}
    graph.validate()


# -- tensors as other arguments ---------------------------------------------------------------------------------------


def test_static_parameters_that_are_given_tensors(engine):
    """Check that a composite is replaced by its body, and that a primitive's error asks for a value."""

    def run(x, low):
        return ops.nan_to_num(x, nan=low)

    compiled = dt.function(run)
    x = np.array([1.0, np.nan], "float32")
    assert compiled(x, np.float32(3.0)).numpy().tolist() == [1, 3]
    assert "NanToNum" not in types(compiled.graph(dt.spec((2,)), dt.spec(())))
    with pytest.raises(TypeError, match="axis must be known when the op is called"):
        dt.function(lambda x, axis: ops.sum(x, axis=axis))(x, ops.constant(0))


def test_a_shape_that_is_one_number(engine):
    def run(x, n):
        return ops.reshape(x, n), ops.broadcast_to(x[0, 0], n)

    graph = traced(run, dt.spec((2, 3)), dt.spec((), "int32"))
    assert [t.shape for t in graph.outputs] == [(None,), (None,)]
    for t in graph.outputs:
        assert t.op.inputs[1].shape == (1,)
    graph.validate()
    if engine != "jax":  # jax needs to know every shape
        found = dt.function(run)(np.ones((2, 3), "float32"), ops.constant(6))
        assert [t.shape for t in found] == [(6,), (6,)]


def test_variables_in_shapes(engine):
    n = dt.Variable(3)
    graph = traced(lambda x: ops.broadcast_to(x, (2, n)), dt.spec(()))
    assert graph.outputs[0].shape == (2, None)
    graph.validate()
    if engine != "jax":
        assert dt.function(lambda x: ops.broadcast_to(x, (2, n)))(np.float32(1.0)).shape == (2, 3)


def test_lists_that_hold_tensors_are_assigned(engine):
    v = dt.Variable([0.0, 0.0], name="v")
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.as_default():
        trace.assign_any(graph, v, [x * 2.0, 1])
        trace.assign_any(graph, dt.Variable([0, 0], name="w"), (3.7, ops.constant(2.0)))
    dt.function(graph)(np.float32(4.0))
    assert v.numpy().tolist() == [8, 1]
    graph.validate()


def test_values_of_engines_become_constants(engine):
    value = ops.constant([1.0, 2.0])._value
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    y = x + value
    assert y.op.inputs[1].op.type == "Const"
    assert y.op.inputs[1].op.attr("value").tolist() == [1, 2]


def test_eager_tensors_are_one_constant_for_all_their_uses(graph):
    c, n = ops.constant([1.0, 2.0]), ops.constant([1, 2])
    x = graph.placeholder(dt.spec((2,)), "x")
    y, z = x + c, x * c
    assert y.op.inputs[1] is z.op.inputs[1] is graph.closures[c]
    total = ops.scan(lambda s, e: (s + e * c * n, None), x, x)[0]
    body = total.op.attr("body")
    assert any(t is graph.closures[c] for t in total.op.inputs)
    assert [t.dtype for t in body.inputs] == ["float32"] * 3  # integers are constants of the body
    assert len([op for op in graph.operations if op.type == "Const" and op.attr("value").shape == (2,)]) == 1
    graph.validate()


# -- subgraphs --------------------------------------------------------------------------------------------------------


def test_integer_constants_are_not_captured_but_known(graph):
    """Check that a body knows integers that determine shapes, and captures constants that have gradients."""
    size, scale = graph.constant(np.array([2, 3], "int32")), graph.constant(np.float32(2.0).reshape(()))
    x = graph.placeholder(dt.spec((4,)), "x")
    body = ops.scan(lambda s, e: (s, ops.broadcast_to(e * scale, size)), 0.0, x)[1].op.attr("body")
    assert body.outputs[1].shape == (2, 3)
    assert [t.op.name for t in body.inputs][-1] == "Const_1"
    graph.validate()


def test_captures_are_called_like_what_they_stand_for_and_come_in_once(graph):
    x = graph.placeholder(dt.spec((4,)), "x")
    with graph.name_scope("layer"):
        y = ops.exp(x, name="activation")
    total = ops.scan(lambda s, e: (s + e * y + y, None), ops.zeros((4,)), x)[0]
    body = total.op.attr("body")
    assert [t.op.name for t in body.inputs][-1] == "activation"
    assert sum(t is y for t in total.op.inputs) == 1
    assert body.captures == {y: body.inputs[-1]}


def test_assignments_in_bodies_are_results_of_the_operation(graph):
    v = dt.Variable(0.0, name="v")
    x = graph.placeholder(dt.spec((4,)), "x")
    with graph.as_default():
        ops.scan(lambda s, e: (s, v.assign_add(e).read()), 0.0, x)
    (scan,) = (op for op in graph.operations if op.type == "Scan")
    body = scan.attr("body")
    assert not {"AssignVariableOp", "ReadVariableOp"} & set(types(body))
    assign = graph.operations[-1]
    assert (assign.type, assign.inputs) == ("AssignVariableOp", [scan.outputs[1]])
    graph.validate()


def test_a_tensor_of_a_branch_stays_in_it(graph):
    x = graph.placeholder(dt.spec(()), "x")
    kept = []
    ops.cond(x > 0, lambda: kept.append(x * 2.0) or kept[0], lambda: x)
    with (
        graph.as_default(),
        pytest.raises(ValueError, match=r"AddV2.*Mul:0.*belongs to the graph 'then', not to 'test'"),
    ):
        ops.constant(1.0) + kept[0]
    with pytest.raises(ValueError, match="belongs to the graph 'then', not to 'else'"):
        ops.cond(x > 0, lambda: kept.append(x * 2.0) or kept[-1], lambda: kept[-1] * 3.0)


def test_a_tensor_of_a_graph_that_is_not_around(graph):
    y = graph.placeholder(dt.spec(()), "y")
    with pytest.raises(ValueError, match=r"Mul.*y:0.*belongs to the graph 'test', not to 'f'. Build both"):
        dt.function(lambda x: x * y, name="f")(1.0)


# -- tapes ------------------------------------------------------------------------------------------------------------


def test_what_was_assigned_and_read_has_the_gradient_of_the_variable(engine):
    """Check that gradients go to the variable's value at the start, not to the assigned value."""
    v = dt.Variable(2.0, name="v")

    @dt.function
    def run(x):
        v.assign(x * 3.0)
        return v.read() * x

    x = ops.constant(5.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    dx, dv = tape.gradient(y, [x, v])
    assert (float(y), float(dx), float(dv)) == (75, 15, 5)


@pytest.mark.parametrize(
    "call",
    [lambda x: ops.one_hot(x, 4), lambda x: ops.reshape(x, 6), lambda x: ops.sum(x, 1), lambda x: ops.cast(x, float)],
)
def test_a_call_that_was_recorded_before_has_the_same_arguments(call):
    graph = Graph("calls")
    x = graph.placeholder(dt.spec((2, 3), "int32"))
    with graph.as_default():
        first, second = call(x), call(x)
    assert first.op.attrs == second.op.attrs and first.op.layout == second.op.layout
    assert {name: type(value) for name, value in first.op.attrs.items()} == {
        name: type(value) for name, value in second.op.attrs.items()
    }
