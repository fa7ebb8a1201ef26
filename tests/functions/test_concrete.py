"""Caches of traces: plans, and the traces themselves, which live as long as they are used."""

import dovetail as dt
from dovetail import ops
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
