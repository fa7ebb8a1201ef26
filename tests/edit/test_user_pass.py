"""A user's passes: changes, also in bodies; applied as a whole or not at all, alone and by functions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.user_pass import GraphPass
from tests.edit.test_edit import refused, types

x, y = dt.wildcards("x y")


@dt.graph_pass
def tanh_to_exp(graph):
    return graph.rewrite(ops.tanh(x), ops.exp(x)) and graph.prune()


@dt.graph_pass(bodies=False)
def add_one(graph):
    for tensor in list(graph.outputs):
        graph.insert_after(tensor, lambda t: t + 1.0)


def program(a):
    return ops.scan(lambda s, row: (ops.tanh(s + row), s), a[0], a)[0] * 2.0 + ops.tanh(a[0])


def test_a_pass_is_applied_to_the_graph_and_its_bodies():
    graph = dt.function(program).graph(dt.spec((2, 3)))
    assert graph.apply(tanh_to_exp)
    assert [op for part in (graph, *graph.subgraphs()) for op in part.find("Tanh")] == []
    assert not tanh_to_exp(graph)
    before = len(graph.subgraphs()[0])
    assert graph.apply(add_one)
    assert (types(graph)[-1], len(graph.subgraphs()[0])) == ("AddV2", before)
    graph.validate()
    assert not graph.apply(lambda graph: None)
    assert graph.apply(lambda graph: graph.find("Exp"))


def test_a_pass_that_fails_is_undone():
    graph = dt.function(program).graph(dt.spec((2, 3)))

    def fails(part):
        tanh_to_exp.function(part)
        if part is graph:
            raise ValueError("not this one")

    refused(graph, ValueError, lambda: graph.apply(fails), "not this one")

    def breaks(part):
        part.operations[-1].inputs[0].shape = (7,)
        part.operations[-1].outputs[0]._uses.clear()
        part.rename_scope("", "all")
        return True

    names = [op.name for op in graph]
    with pytest.raises(ValueError, match="is not valid"):
        graph.apply(breaks)
    assert [op.name for op in graph] == names
    with pytest.raises(TypeError, match="graph_pass"):
        graph.apply(3)


def test_functions_with_passes(engine):
    plain, changed = dt.function(program), dt.function(program, passes=[tanh_to_exp, add_one])
    value = ops.constant(np.array([[0.1, 0.2], [0.3, 0.4]], "float32"))
    a, b = value.numpy()
    expected = np.exp(np.exp(a + a) + b) * 2.0 + np.exp(a) + 1.0
    np.testing.assert_allclose(changed(value).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(plain(value).numpy(), np.tanh(np.tanh(a + a) + b) * 2.0 + np.tanh(a), rtol=1e-5)
    assert changed.graph(value).find("Tanh") == []
    assert changed.optimized_graph(value).find("Tanh") == []
    with dt.GradientTape() as tape:
        tape.watch(value)
        result = ops.sum(changed(value))
    np.testing.assert_allclose(tape.gradient(result, value).numpy()[1], np.exp(np.exp(a + a) + b) * 2.0, rtol=1e-4)
    graph = plain.graph(value)
    assert dt.function(graph, passes=[tanh_to_exp])(value).numpy().shape == (2,)
    assert len(graph.find("Tanh")) == 1

    class Model:
        scale = 2.0

        @dt.function(passes=[tanh_to_exp])
        def call(self, v):
            return ops.tanh(v) * self.scale

    model = Model()
    np.testing.assert_allclose(model.call(value).numpy(), np.exp(value.numpy()) * 2.0, rtol=1e-5)


def test_passes_that_change_results_are_refused():
    @dt.graph_pass
    def drops(graph):
        graph.outputs = graph.outputs[:1]
        return True

    f = dt.function(lambda a: (a, a + 1.0), passes=[drops])
    with pytest.raises(ValueError, match="must keep the number and the dtypes of the results"):
        f(ops.constant(1.0))


def exponential(a):
    return ops.tanh(a)


def test_copies():
    assert pickle.loads(pickle.dumps(tanh_to_exp)) is tanh_to_exp
    assert copy.deepcopy(tanh_to_exp) is tanh_to_exp
    assert (tanh_to_exp.__name__, repr(tanh_to_exp)) == ("tanh_to_exp", "<graph pass tanh_to_exp>")
    assert isinstance(add_one, GraphPass)
    made = pickle.loads(pickle.dumps(dt.function(exponential, passes=[tanh_to_exp])))
    assert float(made(ops.constant(0.0))) == 1.0
    graph = dt.function(exponential).graph(dt.spec(()))
    made = pickle.loads(pickle.dumps(dt.function(graph, passes=[tanh_to_exp])))
    assert float(made(ops.constant(0.0))) == 1.0


def test_a_function_that_is_called_inside_of_another_is_edited_there(engine):
    value = ops.constant([0.5, -0.25])
    scale, counter = dt.Variable(2.0), dt.Variable(0.0)
    bias = ops.constant(1.0)

    @dt.function(passes=[tanh_to_exp])
    def inner(a, by=1.0):
        counter.assign_add(1.0)
        return {"y": ops.tanh(a) * scale * by + bias, "a": a}

    @dt.function
    def outer(x):
        before = ops.tanh(x)
        found = inner(ops.square(x), by=3.0)
        return before + found["y"], counter * 1.0

    graph = outer.graph(dt.spec((2,)))
    assert [op.type for op in graph if op.type in ("Tanh", "Exp")] == ["Tanh", "Exp"]
    numbers = value.numpy()
    found, count = outer(value)
    np.testing.assert_allclose(found.numpy(), np.tanh(numbers) + np.exp(numbers**2) * 6 + 1, rtol=1e-5)
    assert (float(count), float(counter)) == (1.0, 1.0)
    with dt.GradientTape() as tape:
        tape.watch(value)
        tape.watch(bias)
        total = ops.sum(outer(value)[0])
    by_value, by_scale, by_bias = tape.gradient(total, [value, scale, bias])
    wanted = 1 - np.tanh(numbers) ** 2 + 12 * numbers * np.exp(numbers**2)
    np.testing.assert_allclose(by_value.numpy(), wanted, rtol=1e-4)
    np.testing.assert_allclose(by_scale.numpy(), 3 * np.exp(numbers**2).sum(), rtol=1e-5)
    assert float(by_bias) == 2.0


def test_nested_functions_in_bodies_and_in_graphs_of_sessions(engine):
    value = ops.constant([0.5, -0.25])
    inner = dt.function(lambda a: ops.tanh(a) * 0.5, passes=[tanh_to_exp])
    twice = dt.function(lambda x: ops.while_loop(lambda v: ops.sum(v) < 3.0, lambda v: (inner(v),), (x,))[0])
    numbers = expected = value.numpy()
    while expected.sum() < 3.0:
        expected = np.exp(expected) * 0.5
    np.testing.assert_allclose(twice(value).numpy(), expected, rtol=1e-5)
    graph = dt.SessionGraph()
    x = graph.placeholder(dt.spec((2,)), "x")
    y = inner(x)
    assert [op.type for op in graph.find(("Tanh", "Exp"))] == ["Exp"]
    np.testing.assert_allclose(y.eval({x: numbers}), np.exp(numbers) * 0.5, rtol=1e-5)


def test_errors_in_nested_passes_leave_the_graph_around_as_it_was():
    @dt.graph_pass
    def fails(graph):
        raise RuntimeError("no")

    inner = dt.function(lambda a: ops.tanh(a), passes=[fails])
    graph = dt.SessionGraph()
    x = graph.placeholder(dt.spec((2,)), "x")
    before = str(graph)
    with pytest.raises(RuntimeError, match="no"):
        inner(x)
    assert str(graph) == before
