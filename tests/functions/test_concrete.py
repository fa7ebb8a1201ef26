"""Caches of traces: plans, and the traces themselves, which live as long as they are used."""

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.functions.concrete import SHAPES
from tests.libraries import require


def test_traces_that_are_not_used_are_let_go(monkeypatch):
    monkeypatch.setattr("dovetail.functions.function.TRACES", 3)
    monkeypatch.setattr("dovetail.functions.function.RETRACES_BEFORE_WARNING", 100)
    traced = []
    f = dt.function(lambda x, k: traced.append(k) or x * k)
    for k in [*range(7), 5, 4, 0]:
        assert f(ops.convert([2.0]), k).tolist() == [2 * k]
    assert traced == [*range(7), 0] and len(f._traces) <= 6


def test_plans_that_are_not_used_are_let_go(monkeypatch):
    require("jax", "it makes a plan for each size")
    monkeypatch.setattr("dovetail.functions.concrete.PLANS", 3)
    with dt.engine("jax"):
        f = dt.function(lambda x: x + 1.0, input_signature=[dt.spec((None,))])
        for size in range(8):
            assert f(ops.zeros(size)).tolist() == [1.0] * size
        assert 3 <= len(f.concrete(dt.spec((None,)))._plans) <= 6


def test_graphs_with_loops_have_plans_of_their_own_for_a_few_shapes():
    """Check that a loop leaves no shape open, and that lengths without end make no plans without end."""

    def last(x):
        return ops.while_loop(lambda i, h: i < ops.shape(x)[0], lambda i, h: (i + 1, h + x[i]), (0, x[0]))[1]

    function = dt.function(last, input_signature=[dt.spec((None, 2))], engine="numpy")
    for rows in (*range(2, 2 + 2 * SHAPES), 2):
        np.testing.assert_allclose(function(np.ones((rows, 2), "float32")).numpy(), [rows + 1] * 2)
    shapes = [plan.shapes for plan in function.plans]
    assert len(shapes) == SHAPES + 1 and shapes.count(None) == 1
