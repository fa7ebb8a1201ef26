"""`gradients(ys, xs)`: the gradient as nodes of the same graph."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff import graph_gradients


def run(function, *xs):
    return [None if r is None else r.numpy().tolist() for r in dt.function(function)(*xs)]


def test_gradients(engine):
    w = dt.Variable([2.0, 3.0])
    x, y = ops.constant([1.0, 2.0]), ops.constant(5.0)

    def f(x, y):
        return dt.gradients([x * w * y, x], [x, w, y])

    assert run(f, x, y) == [[11, 16], [5, 10], 8]


def test_intermediate_and_equal_tensors():
    def f(x):
        middle = x * x
        y = middle * x
        return [*dt.gradients(y, [x, middle]), *dt.gradients(x, [x, middle]), *dt.gradients([y, y], x)]

    assert run(f, ops.constant(3.0)) == [27, 3, 1, None, 54]


def test_what_is_not_connected():
    v = dt.Variable(1.0)

    def f(x, y):
        assert dt.gradients(ops.stop_gradient(x), [x, y, v]) == [None, None, None]
        assert dt.gradients([], [x]) == [None]
        return dt.gradients(ops.cast(ops.cast(x, "int32"), "float32") + y, [x, y])

    assert run(f, ops.constant(1.5), ops.constant(1.0)) == [None, 1]


def test_arriving_gradients():
    def f(x):
        y, z = x * 2.0, x * x
        return [
            *dt.gradients(y, x, grad_ys=np.array([3.0, 5.0])),
            *dt.gradients([y, z], x, grad_ys=[None, x]),
        ]

    assert run(f, ops.constant([1.0, 2.0])) == [[6, 10], [2 + 2, 2 + 8]]


def test_tensors_that_count_as_constants(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    a = x * 2.0
    b = a * a
    stopped = [dt.gradients(ops.sum(a * b), [x, a], stop_gradients=tensors) for tensors in ((), a, [b], [a, b])]
    graph.outputs = [g for pair in stopped for g in pair if g is not None]
    assert [g is None for pair in stopped for g in pair] == [False] * 2 + [True, False] + [False] * 2 + [True, False]
    found = dt.function(graph)(np.float32([1.0, -1.0]))
    wanted = [[24, 24], [12, 12], [12, 12], [8, 8], [4, 4], [4, 4]]
    np.testing.assert_allclose([g.numpy() for g in found], wanted)


def test_higher_orders(engine):
    def f(x):
        (a,) = dt.gradients(ops.exp(x) * x, x)
        (b,) = dt.gradients(a, x)
        return a, b, *dt.gradients(b, x)

    found = dt.function(f)(ops.constant(2.0))
    np.testing.assert_allclose([float(r) for r in found], np.exp(2.0) * np.array([3, 4, 5]), rtol=1e-5)


def test_assigned_variables():
    """Check that the gradient of a read after an assignment goes to the variable."""
    v = dt.Variable(3.0)

    def f(x):
        y = v * 2.0
        v.assign(x * 5.0)
        return dt.gradients(y + v * x, [v, x])

    assert run(f, ops.constant(1.0)) == [3, 5]
    w = dt.Variable(3.0)

    def written_first(x):
        w.assign(x)
        return dt.gradients(w * w, [w, x])

    assert run(written_first, ops.constant(2.0)) == [4, None]


def test_without_a_function():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((None,)), "x")
    (slope,) = dt.gradients(ops.sum(x * x), x)
    assert slope.graph is graph and slope.dtype == "float32"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, n: dt.gradients(x, n), "has no gradient"),
        (lambda x, n: dt.gradients(n, x), "has no gradient"),
        (lambda x, n: dt.gradients(ops.constant(1.0), x), "GradientTape"),
    ],
)
def test_errors(function, words):
    with pytest.raises(TypeError, match=words):
        dt.function(function)(ops.constant(1.0), ops.constant(1))


def test_of_two_variables_the_one_that_is_asked_for():
    a, b = dt.Variable(2.0), dt.Variable(5.0)

    def f(x):
        y = a * x + b * b * x
        return [*dt.gradients(y, b), *dt.gradients(y, [a])]

    assert run(f, ops.constant(3.0)) == [30, 3]


def test_what_tensors_need_is_found_once():
    """Check a chain of doublings, which has more paths than one could follow one by one."""
    graph = dt.Graph()
    y = graph.placeholder(dt.spec(()), "x")
    for _ in range(60):
        y = y + y
    assert [op.name for op in graph_gradients.between([y], [graph.operations[30].outputs[0]])] == [
        op.name for op in graph.operations[31:]
    ]


def test_gradients_across_graphs_are_refused():
    x, z = (dt.Graph(name).placeholder(dt.spec(()), name) for name in ("x", "z"))
    y = x * 2
    for given in ([y, z], [[y, z], x], [y, [x, z]], [y, x, z], [y, x, None, [z]]):
        with pytest.raises(ValueError, match="belongs to the graph"):
            dt.gradients(*given)
