"""Plans of two engines among those that are measured."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engine_registry import get_engine
from dovetail.plan import choice, divided
from tests.conftest import ENGINES
from tests.plan.test_choice import Clock, settled

BOTH = "jax convolutions on torch"

pytestmark = pytest.mark.skipif(not {"jax", "torch"} <= {*ENGINES}, reason="it is about these two engines")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(choice, "later", lambda function: function())


def network(rng):
    x = rng.normal(size=(2, 8, 8, 3)).astype("float32")
    kernel = dt.Variable(rng.normal(size=(3, 3, 3, 4)).astype("float32"))

    def run(x):
        y = ops.max_pool(ops.conv(ops.gelu(x), kernel, padding="same"), 2)
        return ops.sum(ops.tanh(y) * ops.exp(-y), -1)

    return run, x


@pytest.mark.parametrize(("torch", "both", "chosen"), [(0.6, 0.5, BOTH), (0.55, 0.5, "torch"), (0.95, 0.88, "numpy")])
def test_chosen_where_it_is_a_tenth_faster(monkeypatch, rng, torch, both, chosen):
    """Than each engine alone; where the first engine's plan is nearly as fast, that one stays."""
    monkeypatch.setattr(choice, "crossings", lambda plan: 0.0)
    Clock(monkeypatch, **{"torch": torch, BOTH: both})
    run, x = network(rng)
    plan, _ = settled(dt.function(run, engine="auto"), x)
    assert plan.chosen.name == chosen


def test_it_computes_the_same(monkeypatch, rng):
    monkeypatch.setattr(choice, "crossings", lambda plan: 0.0)
    Clock(monkeypatch, **{BOTH: 0.5})
    run, x = network(rng)
    function = dt.function(run, engine="auto")
    plan, results = settled(function, x)
    assert {s.engine.name for s in plan.chosen.plan.segments} == {"jax", "torch"}
    np.testing.assert_allclose(results[-1], run(x), rtol=1e-4, atol=1e-5)


def test_left_out_where_crossings_cost_more(monkeypatch, rng):
    monkeypatch.setattr(choice, "crossings", lambda plan: 0.2)
    clock = Clock(monkeypatch, **{BOTH: 0.5})
    run, x = network(rng)
    plan, _ = settled(dt.function(run, engine="auto"), x)
    assert f"{BOTH}: left out, crossings would take 200 ms" in str(plan)
    assert BOTH not in clock.ran


def test_without_convolutions_nothing_is_divided(monkeypatch):
    Clock(monkeypatch)
    plan, _ = settled(dt.function(ops.exp, engine="auto"), np.ones(3, "float32"))
    assert not any(c.is_divided for c in plan.candidates)


def test_each_transfer_is_a_crossing(monkeypatch, rng):
    monkeypatch.setattr(divided, "_crossing", lambda sender, receiver: 1.0)
    run, x = network(rng)
    graph = dt.function(run).graph(dt.spec(x.shape))
    plan = divided.divided_plan(graph, get_engine("jax"), "convolutions on torch", None)
    assert divided.crossings(plan) == len(plan.transfers) == str(plan).count("move ") >= 2


def test_a_crossing_takes_time():
    assert 0 < divided._crossing(get_engine("jax"), get_engine("torch")) < 1
