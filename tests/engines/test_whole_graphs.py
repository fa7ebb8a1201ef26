"""An engine without rules for single ops: its programs are compiled from `segment.graph` alone."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import engine_registry
from dovetail.plan.plan import Plan
from tests.engines.whole_graphs import CONVERTED, Box, engine


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.setattr(engine_registry, "_loaded", {**engine_registry._loaded, "whole": engine})


def on(*arrays):
    """Arrays as Tensors of the engine, which then computes functions of them."""
    return [ops.convert(a, engine="whole") for a in arrays]


def test_a_function(rng):
    x, w = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(3, 2)).astype("float32")

    def layer(x, w):
        return ops.tanh(x @ w + 0.5), ops.sum(x, axis=0)

    found = dt.function(layer)(*on(x, w))
    assert all(type(t.value) is Box for t in found)
    np.testing.assert_allclose(found[0].numpy(), np.tanh(x @ w + 0.5), rtol=1e-6)
    np.testing.assert_allclose(found[1].numpy(), x.sum(0), rtol=1e-6)


def test_no_rule_is_asked_for():
    plan = Plan(dt.function(lambda x: ops.exp(x) * 2.0).graph(dt.spec((3,))), engine)
    assert plan([Box(np.zeros(3, "float32"))])[0].inside.tolist() == [2, 2, 2]
    assert "lowered" not in vars(plan.segments[0]) and "Exp" not in engine.rules


def test_what_it_cannot_compile_is_told_before():
    with pytest.raises(NotImplementedError, match=r"Cos at test_whole_graphs.py:\d+: the engine 'whole' has no rule"):
        dt.function(lambda x: ops.cos(x))(*on(np.zeros(3, "float32")))


def test_composites_that_it_does_not_claim_are_inlined():
    f = dt.function(lambda x: ops.squared_difference(x, 1.0))
    (segment,) = f.concrete(dt.spec((3,))).plan(engine).segments
    types = {op.type for op in segment.graph.operations} - {"Placeholder", "Const"}
    assert types <= CONVERTED.keys() and "SquaredDifference" not in types
    assert f(*on(np.zeros(3, "float32"))).numpy().tolist() == [1, 1, 1]


def test_a_training_step(rng):
    x, y = rng.normal(size=(8, 3)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")
    w = dt.Variable(np.zeros((3, 1), "float32"))

    @dt.function
    def step(x, y):
        with dt.GradientTape() as tape:
            loss = ops.sum(ops.square(x @ w - y))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    expected = np.zeros((3, 1))
    for _ in range(5):
        loss = step(*on(x, y))
        np.testing.assert_allclose(float(loss), np.square(x @ expected - y).sum(), rtol=1e-4)
        expected = expected - 0.02 * x.T @ (x @ expected - y)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-4)
    assert w.engine == "whole"


def test_it_computes_a_part_of_what_another_engine_does():
    graph = dt.function(lambda x: ops.cos(ops.exp(x)) * 2.0).graph(dt.spec((None,)))
    graph.get_operation("Exp").engine = "whole"
    found = dt.function(graph)(ops.zeros(3))
    np.testing.assert_allclose(found.numpy(), np.full(3, 2 * np.cos(1)), rtol=1e-6)
