"""The passes together: a plan's graph is valid, small, and gives the traced results."""

import numpy as np
import pytest
from hypothesis import given, settings

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.plan import Plan
from tests.conftest import RULE_BY_RULE
from tests.graph.random_graphs import arguments, check_same, graphs, interpret
from tests.passes.checks import traced, types


@pytest.mark.parametrize("name", RULE_BY_RULE)
@settings(deadline=None, max_examples=40)
@given(graph=graphs())
def test_random_graphs(name, graph):
    engine = get_engine(name)
    text = str(graph)
    expected = interpret(graph, arguments())
    plan = Plan(graph, engine)
    for segment in plan.segments:
        segment.graph.validate()
    assert str(graph) == text
    before = {v: v.numpy() for v in plan.assigned}
    found = plan([engine.asarray(a, ops.convert(a).dtype) for a in arguments()])
    after = {v: v.numpy() for v in plan.assigned}
    for variable, value in before.items():
        variable.assign(value)
    check_same(([engine.to_numpy(f) for f in found], after), expected)


@pytest.mark.parametrize("static", [False, True])
def test_a_training_step_is_as_small_as_by_hand(static):
    w = dt.Variable(np.ones((3, 1), "float32"), name="w")

    def step(x, y):
        with dt.GradientTape() as tape:
            loss = ops.mean(ops.square(x @ w - y))
        w.assign(w - 0.1 * tape.gradient(loss, w))
        return loss

    graph = traced(step, dt.spec((None, 3)), dt.spec((None, 1)))
    optimized = optimized_copy(graph, get_engine("numpy"), [(8, 3), (8, 1)] if static else None)
    optimized.validate()
    assert types(optimized).count("MatMul") == 2
    assert not {"BroadcastTo", "Cast", "Shape", "Reshape"} & set(types(optimized)) or not static
    if static:
        assert len(types(optimized)) <= 12


def test_gradients_do_not_change(engine, rng):
    x, y = (rng.normal(size=(4, 3)).astype("float32") for _ in "xy")

    def gradients(x, y):
        with dt.GradientTape() as tape:
            tape.watch([x, y])
            z = ops.mean(ops.square(ops.tanh(x) * 2.0 * 3.0 - ops.transpose(ops.transpose(y)) / 1.0))
            z = z + ops.sum(ops.softmax(x) * 1.0 * ops.ones_like(y))
        return tape.gradient(z, [x, y])

    expected = gradients(ops.convert(x), ops.convert(y))
    signature = [dt.spec((None, 3))] * 2
    for found in (dt.function(gradients)(x, y), dt.function(gradients, input_signature=signature)(x, y)):
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-5, atol=1e-6)


def test_subgraphs_are_optimized():
    def function(x):
        return ops.cond(ops.sum(x) > 0, lambda: ops.square(x) * 1.0 - 0.0, lambda: ops.softmax(x) * -1 * -1)

    optimized = optimized_copy(
        traced(function, dt.spec((3,))), get_engine("jax" if "jax" in dt.list_engines() else "numpy")
    )
    then_branch, else_branch = optimized.subgraphs()
    assert types(then_branch) == ["Square"]
    assert "Neg" not in types(else_branch)


def test_the_traced_graph_stays():
    graph = traced(lambda x: ops.square(x) * 1.0, dt.spec((None,)))
    before = str(graph)
    optimized_copy(graph, get_engine("numpy"), [(3,)])
    assert str(graph) == before
