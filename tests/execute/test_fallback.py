"""What runs a graph that an engine does not claim: a named engine's eager one, and with a choice the others."""

import logging

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import costs, estimates
from dovetail.choose.measured_plan import MeasuredPlan, Measuring
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.choice import Choice, Strategy
from dovetail.execute.claims import NotClaimed
from dovetail.execute.fallback import last_resort, plan_on
from tests.packages import OUTSIDE

X = np.linspace(0, 1, 3, dtype="float32")


@pytest.fixture(autouse=True)
def installed(monkeypatch, caplog):
    monkeypatch.syspath_prepend(OUTSIDE)
    caplog.set_level(logging.INFO, "dovetail.plan")


def engines(plan):
    """The engines of a plan's segments, in order."""
    return [segment.engine.name for segment in plan.segments]


def test_a_named_engine_gives_way_with_one_line(caplog):
    f = dt.function(lambda x: ops.cos(x) * 2.0, engine="whole", name="f")
    for _ in range(3):
        np.testing.assert_allclose(f(X).numpy(), 2 * np.cos(X), rtol=1e-6)
    assert engines(f.plan(X)) == ["numpy"]
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith("whole does not claim 'f', so numpy computes its part: Cos at test_fallback")


def test_a_graph_that_is_claimed_stays(caplog):
    f = dt.function(lambda x: ops.exp(x) * 2.0, engine="whole")
    np.testing.assert_allclose(f(X).numpy(), 2 * np.exp(X), rtol=1e-6)
    assert engines(f.plan(X)) == ["whole"] and not caplog.records


@pytest.mark.parametrize("inside", [False, True])
def test_pinned_operations_give_way(caplog, inside):
    def plain(x):
        return ops.exp(ops.cos(x))

    f = (lambda x: ops.cond(x[0] > 5, lambda: x, lambda: plain(x))) if inside else plain
    graph = dt.function(f).graph(dt.spec((3,)))
    for part in (graph, *graph.subgraphs()):
        for op in part.operations:
            op.engine = "whole" if op.type == "Cos" else None
    plan = plan_on(graph, get_engine("numpy"))
    np.testing.assert_allclose(plan([X])[0], np.exp(np.cos(X)), rtol=1e-6)
    assert engines(plan) == ["numpy"] and len(caplog.records) == 1
    assert "whole" in {op.engine for part in (graph, *graph.subgraphs()) for op in part.operations}


def test_an_engine_with_rules_does_not_give_way(monkeypatch):
    torch = pytest.importorskip("torch") and get_engine("torch")
    monkeypatch.setattr(type(torch), "claims", lambda self, operation: ())
    with pytest.raises(NotClaimed, match="torch"):
        plan_on(dt.function(lambda x: ops.exp(x)).graph(dt.spec((3,))), torch)


def test_last_resorts():
    assert {name: last_resort(get_engine(name)) for name in ("numpy", "boxed", "whole")} == {
        "numpy": "numpy",
        "boxed": "numpy",
        "whole": "numpy",
    }


def test_candidates_that_do_not_claim_are_left_out_without_a_warning(monkeypatch, caplog):
    """Check that the engine is asked when its turn comes, that the next one runs, and that the table says why."""
    ranks = {"whole": -20.0, "numpy": -10.0}
    predict = lambda self, engine, work: estimates.Estimate(ranks.get(engine, 5.0), 0.1)  # noqa: E731
    monkeypatch.setattr(costs.Corrections, "predict", predict)
    monkeypatch.setattr(costs.Corrections, "start_seconds", lambda self, engine, work: 0.0)
    f = dt.function(lambda x: ops.cos(x) * 2.0, engine="auto", name="f")
    np.testing.assert_allclose(f(X).numpy(), 2 * np.cos(X), rtol=1e-6)
    plan = f.plan(X)
    assert plan.chosen.strategy == Strategy("numpy")
    assert "left out, Cos at test_fallback.py" in str(plan) and "the engine 'whole' does not compile it" in str(plan)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
    g = dt.function(lambda x: ops.exp(x) * 2.0, engine="auto")
    g(X)
    assert g.plan(X).chosen.strategy == Strategy("whole")


@pytest.mark.parametrize("settings", [{"is_at_home": True}, {"fixed": Choice(Strategy("whole"))}])
def test_a_strategy_that_nobody_measures_gives_way(caplog, settings):
    graph = dt.function(lambda x: ops.cos(x), name="f").graph(dt.spec((3,)))
    plan = MeasuredPlan(graph, get_engine("whole"), [(3,)], Measuring(**settings))
    for _ in range(3):
        np.testing.assert_allclose(plan([X])[0], np.cos(X), rtol=1e-6)
    assert plan.chosen.strategy == Strategy("numpy")
    assert [r.getMessage()[:24] for r in caplog.records] == ["whole does not claim 'f'"]


def test_a_backward_program_gives_way():
    x = ops.convert(X)
    f = dt.function(lambda x: ops.sum(ops.square(x) * ops.tanh(x)), engine="whole")
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = tape.gradient(y, x).numpy()
    t = np.tanh(X)
    np.testing.assert_allclose(found, 2 * X * t + X**2 * (1 - t**2), rtol=1e-5)
