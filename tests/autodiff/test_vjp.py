"""Splitting graphs into forward and backward programs, checked against the gradient of the whole."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.plan import Plan

CONSTANT = np.array([2.0, 5.0])
PROGRAMS = {
    "plain": lambda x, y: [ops.tanh(x * y)],
    "an output is an input": lambda x, y: [x, x * y],
    "only inputs": lambda x, y: [y, x],
    "a constant output": lambda x, y: [ops.constant(CONSTANT), x * y],
    "only constants": lambda x, y: [ops.constant(CONSTANT)],
    "one tensor twice": lambda x, y: (lambda z: [z, z, z * x])(x * y),
    "an input twice in an op": lambda x, y: [x * x, x - x, ops.concatenate([y, y])],
    "an input not used": lambda x, y: [ops.exp(x)],
    "a result not used": lambda x, y: [(ops.exp(x), x * y)[1]],
    "integers between": lambda x, y: [ops.cast(ops.cast(x, "int32"), "float64") * y, ops.cast(y, "int32")],
    "composites": lambda x, y: [ops.mean(x * y), ops.square(ops.sum(x) + y)],
    "linear": lambda x, y: [x + y],
    "a chain": lambda x, y: [ops.exp(ops.tanh(ops.exp(x * 0.1)) * y)],
    "nothing": lambda x, y: [],
}
X, Y = np.array([0.5, -1.5]), np.array([1.25, 2.0])


def graph_of(program):
    graph = dt.Graph("program")
    with graph.as_default():
        inputs = [graph.placeholder(dt.spec((2,), "float64"), name) for name in "xy"]
        results = program(*inputs)
        graph.outputs = [t if hasattr(t, "graph") else graph.constant(t.numpy()) for t in results]
    return graph


def execute(graph, arguments, engine):
    engine = get_engine(engine)
    natives = [engine.asarray(a, as_dtype(a.dtype)) for a in arguments]
    return [engine.to_numpy(v) for v in Plan(graph, engine)(natives)]


def differences(program, weights):
    """The gradient of the weighted results, by central differences."""

    def value(x, y):
        with dt.engine("numpy"):
            results = program(ops.constant(x), ops.constant(y))
        floats = [np.asarray(r) for r in results if r.dtype.is_floating]
        return sum(float(np.sum(r * w)) for r, w in zip(floats, weights, strict=True))

    gradients = []
    for which in range(2):
        gradient = np.zeros(2)
        for i in range(2):
            values = []
            for step in (1e-6, -1e-6):
                arguments = [X.copy(), Y.copy()]
                arguments[which][i] += step
                values.append(value(*arguments))
            gradient[i] = (values[0] - values[1]) / 2e-6
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("name", PROGRAMS)
def test_split(engine, name, rng):
    graph = graph_of(PROGRAMS[name])
    text = str(graph)
    work = split(graph)
    whole, reached = gradient_graph(graph)
    assert str(graph) == text  # unchanged
    floats = [i for i, t in enumerate(graph.outputs) if t.dtype.is_differentiable]
    assert work.outputs == floats and work.inputs == reached
    assert len(work.forward.outputs) == len(graph.outputs) + work.kept
    results = execute(work.forward, [X, Y], engine)
    kept = results[len(graph.outputs) :]
    for found, expected in zip(results, execute(graph, [X, Y], engine), strict=False):
        np.testing.assert_array_equal(found, expected)
    weights = [rng.uniform(0.5, 1.5, results[i].shape) for i in floats]
    expected = differences(PROGRAMS[name], weights)
    for found in (execute(work.backward, [*kept, *weights], engine), execute(whole, [X, Y, *weights], engine)):
        assert len(found) == len(reached)
        for which, gradient in zip(reached, found, strict=True):
            np.testing.assert_allclose(gradient, expected[which], rtol=1e-5, atol=1e-6)
    for which in {0, 1} - set(reached):
        np.testing.assert_allclose(expected[which], 0, atol=1e-8)


def test_targets():
    graph = graph_of(lambda x, y: [x * 2.0, y * 3.0])
    for targets, inputs in (([0], [0]), ([1], [1]), ([], [])):
        work = split(graph, targets)
        assert (work.outputs, work.inputs) == (targets, inputs)
        assert gradient_graph(graph, targets)[1] == inputs


def test_nothing_is_computed_twice():
    """Check that the backward program has no operation whose value the forward program has."""
    graph = graph_of(lambda x, y: [ops.exp(ops.tanh(x) * y)])
    work = split(graph)
    assert not {"Exp", "Tanh"} & {op.type for op in work.backward.operations}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_functions_on_tapes(engine, name):
    """Check that first and second order gradients through a compiled function equal the eager ones."""
    program = PROGRAMS[name]

    def derivatives(f):
        x, y = ops.constant(X), ops.constant(Y)
        with dt.GradientTape() as outer:
            outer.watch([x, y])
            with dt.GradientTape() as tape:
                tape.watch([x, y])
                results = [r for r in f(x, y) if r.dtype.is_floating]
                total = ops.constant(0.0, "float64")
                for r in results:
                    total = total + ops.sum(r * r)
            first = tape.gradient(total, [x, y], unconnected_gradients="zero")
            size = ops.sum(first[0] * first[0]) + ops.sum(first[1])
        return [*first, *outer.gradient(size, [x, y], unconnected_gradients="zero")]

    for found, expected in zip(derivatives(dt.function(program)), derivatives(program), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-7, atol=1e-9)


def test_one_tensor_given_twice(engine):
    f = dt.function(lambda x, y: x * y + x)
    x = ops.constant(3.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, x)
    assert float(tape.gradient(y, x)) == 7


def test_assigned_variables(engine):
    """Check that each call assigns once, taped or not, and that the gradient uses the old values."""
    w, count = dt.Variable(3.0), dt.Variable(0)

    @dt.function
    def f(x):
        y = w * w * x
        w.assign_sub(x)
        count.assign_add(1)
        return y

    x = ops.constant(2.0)
    for before in (3.0, 1.0, -1.0):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(y) == before**2 * 2 and float(w) == before - 2
        assert [float(g) for g in tape.gradient(y, [x, w])] == [before**2, 4 * before]
    f(x)
    assert int(count) == 4


def test_constants_are_not_handed_over():
    graph = dt.function(lambda x: x * ops.constant([2.0, 3.0])).graph(dt.spec((2,)))
    found = split(graph)
    assert found.kept == 0 and len(found.forward.outputs) == 1
    assert "Const" in [op.type for op in found.backward.operations] and len(found.backward.inputs) == 1


def test_only_what_the_gradient_needs_is_kept():
    found = split(dt.function(lambda x: ops.exp(ops.tanh(ops.exp(x)))).graph(dt.spec((2,))))
    assert sorted(t.op.type for t in found.forward.outputs[1:]) == ["Exp", "Exp", "Tanh"]  # x is not among them
