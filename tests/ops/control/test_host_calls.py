"""Python code in graphs: functions of arrays, and checks; engines' programs are cut around them."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS

X = np.float32([1, 2, 3])
dt.RegisterGradient("TenTimesForPyFunc")(lambda op, g: g * 10.0)


def flipped(array):
    array += 1  # a private copy
    return array[::-1]


def recorded(graph, function=flipped, shape=(3,), op="PyFunc"):
    x = graph.placeholder(dt.spec((3,)), "x")
    (y,) = OPS[op]([x * 2.0], function, ("float32",), [shape])
    return x, y


@pytest.mark.parametrize("op", ["PyFunc", "PyFuncStateless", "EagerPyFunc"])
def test_a_function_is_called_in_the_middle_of_a_program(engine, op):
    graph = dt.Graph()
    x, y = recorded(graph, op=op)
    total, given = ops.sum(ops.exp(y / 7.0) * x), ops.identity(x)
    found = dt.Session(graph).run([y, total, given], {x: X})
    assert found[0].tolist() == [7, 5, 3] and found[2].tolist() == X.tolist()
    np.testing.assert_allclose(found[1], np.sum(np.exp(np.float32([7, 5, 3]) / 7) * X), rtol=1e-5)


def test_engines_that_compile_programs_are_left_around_it(engine):
    def f(x):
        return ops.exp(OPS["PyFunc"]([ops.tanh(x)], flipped, ("float32",), [(3,)])[0])

    plan = dt.function(f).plan(ops.convert(X))
    engines = [segment.engine.name for segment in plan.segments]
    assert engines == ([engine, "numpy", engine] if engine in ("jax", "tensorflow") else [engine])
    np.testing.assert_allclose(dt.function(f)(X), np.exp((np.tanh(X) + 1)[::-1]), rtol=1e-6)


def test_loops_and_branches_call_functions(engine):
    calls = []

    def more(array):
        calls.append(array.copy())
        return array + 3

    @dt.function
    def f(x):
        x = ops.while_loop(lambda x: ops.sum(x) < 20.0, lambda x: OPS["PyFunc"]([x], more, ("float32",), [(3,)]), (x,))[
            0
        ]
        return ops.cond(ops.sum(x) > 0.0, lambda: OPS["PyFunc"]([x], more, ("float32",), [(3,)])[0], lambda: x)

    assert f(X).tolist() == [10.0, 11.0, 12.0] and len(calls) == 3


def test_shapes_are_said_by_set_shape_and_checked(engine):
    graph = dt.Graph()
    x, y = recorded(graph, lambda a: a[:2], None)
    assert y.shape is None
    y.set_shape([None])
    y.set_shape([2])
    assert y.shape == (2,) and y.op.attr("shapes") == ((2,),)
    doubled = y * 2.0
    assert doubled.shape == (2,)
    assert dt.Session(graph).run(doubled, {x: X}).tolist() == [4.0, 8.0]
    graph = dt.Graph()
    x, y = recorded(graph, lambda a: a[:2], (3,))
    with pytest.raises(ValueError, match=r"PyFunc at .*calls\.py:\d+: <lambda> gave the shape \(2,\), where set_shape"):
        dt.Session(graph).run(y, {x: X})


def test_results_of_unknown_rank_are_taken(engine):
    graph = dt.Graph()
    x, y = recorded(graph, shape=None)
    z = ops.exp(y)
    np.testing.assert_allclose(dt.Session(graph).run(z, {x: X}), np.exp([7, 5, 3]), rtol=1e-5)


OF_UNKNOWN_RANK = {
    "sum": lambda y: ops.sum(y, -1),
    "softmax": lambda y: ops.softmax(y * 2.0),
    "transpose": lambda y: ops.transpose(y),
    "norm": lambda y: ops.norm(y),
    "gradient": lambda y: dt.gradients(ops.sum(ops.softmax(y) * y), y)[0],
    "branch": lambda y: ops.cond(ops.sum(y) > 0, lambda: ops.softmax(y), lambda: y),
    "loop": lambda y: ops.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * ops.sum(a, -1, True)), (0, y))[1],
    "changing rank": lambda y: ops.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, ops.expand_dims(a, 0)), (0, y))[
        1
    ],
}


@pytest.mark.parametrize("name", OF_UNKNOWN_RANK)
def test_ops_take_values_whose_rank_a_run_shows(engine, name):
    function = OF_UNKNOWN_RANK[name]

    def f(x):
        return function(OPS["PyFunc"]([x], lambda array: array, ("float32",), [None])[0])

    for x in (X, np.float32([[1, 2], [3, -4]])):
        np.testing.assert_allclose(dt.function(f)(x), dt.function(f, engine="numpy")(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda a: [a, a], TypeError, r"<lambda> must give 1 results \(float32\), not"),
        (lambda a: None, TypeError, "must give 1 results"),
        (lambda a: a.nothing, AttributeError, "nothing"),
        (lambda a: a + np.zeros(5), ValueError, r"PyFunc at .*test_host_calls\.py:\d+: operands"),
    ],
)
def test_errors_name_the_users_line_and_leave_variables_as_they_were(engine, function, error, words):
    graph, w = dt.SessionGraph(), dt.Variable(1.0)
    x, y = recorded(graph, function)
    with graph.as_default():
        step = w.assign_add(ops.sum(y))
    with pytest.raises(error, match=words):
        dt.Session(graph).run(step, {x: X})
    assert float(w) == 1.0


def test_there_is_no_gradient_but_one_that_is_given(engine):
    graph = dt.Graph()
    x, y = recorded(graph)
    assert dt.gradients(y, [x]) == [None]

    with graph.gradient_override_map({"PyFunc": "TenTimesForPyFunc"}):
        (y,) = OPS["PyFunc"]([x], flipped, ("float32",), [(3,)])
    (gradient,) = dt.gradients(y, [x])
    assert dt.Session(graph).run(gradient, {x: X}).tolist() == [10.0] * 3


def test_what_a_function_does_is_done_though_nobody_uses_it(engine):
    calls = []

    @dt.function
    def f(x):
        OPS["PyFunc"]([x], lambda a: calls.append("kept") or a, ("float32",), [(3,)])
        OPS["PyFuncStateless"]([x], lambda a: calls.append("dropped") or a, ("float32",), [(3,)])
        return x * 2.0

    assert f(X).tolist() == [2.0, 4.0, 6.0] and calls == ["kept"]
    f(X)
    assert calls == ["kept"] * 2  # neither folded nor merged


def test_checks_stop_a_run_and_leave_variables_as_they_were(engine):
    w = dt.Variable(5.0)

    @dt.function
    def f(x):
        OPS["Assert"](x > 0.0, [x, ops.sum(x)], "all must be positive:")
        w.assign_add(ops.sum(x))
        return ops.sqrt(x)

    assert f(X).shape == (3,) and float(w) == 11.0
    with pytest.raises(ValueError, match=r"Assert at .*py:\d+: all must be positive: \[ ?1 -2 3\] and 2\.$"):
        f(np.float32([1, -2, 3]))
    assert float(w) == 11.0
    with dt.GradientTape() as tape:
        tape.watch(x := ops.convert(X))
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), 0.5 / np.sqrt(X), rtol=1e-5)


def test_checks_in_branches_and_loops(engine):
    @dt.function
    def f(x):
        def checked(v):
            OPS["Assert"](v < 4.0, [], "small")
            return (v + 1.0,)

        return ops.while_loop(lambda v: ops.sum(v) < 10.0, checked, (x,))[0]

    assert f(np.float32([1, 1, 2])).tolist() == [3.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="small"):
        f(np.float32([0, 0, 5]))
