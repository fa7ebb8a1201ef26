"""Programs whose engines are chosen: sessions, training, gradients and threads have right numbers wherever they run."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import estimates, measured_plan
from tests.choose.measuring import (
    CALLS,
    Clock,
    X,
    model,
    needs_two,
    train,
)
from tests.conftest import ENGINES

pytestmark = pytest.mark.usefixtures("learns_at_once")


@needs_two
def test_sessions_choose_too(monkeypatch):
    """Check sessions without a named engine: variables change as on one engine."""
    fastest = ENGINES[-1]
    clock = Clock(monkeypatch, **{fastest: 0.5})
    graph, w = dt.Graph(), dt.Variable(np.zeros(6, "float32"))
    with graph.as_default():
        x = graph.placeholder(dt.spec((None,)), "x")
        y = ops.tanh(x) + w
        w.assign_add(x)
    for name, engine in (("auto", None), ("numpy", "numpy")):
        w.assign(np.zeros(6, "float32"))
        clock.ran.clear()
        with dt.engine(name), dt.Session(graph, engine=engine) as session:
            for number in range(CALLS):
                found, _ = session.run([y, graph.operations[-1]], {x: X})
                np.testing.assert_allclose(found, np.tanh(X) + number * X, rtol=1e-4, atol=1e-4)
        assert (fastest in clock.ran[-5:]) if engine is None else not clock.ran


def test_training_goes_on_wherever_it_is_computed(rng):
    """Check that state, random numbers and losses equal one engine's, while candidates take turns and after."""
    batches = [(rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(4, 2)).astype("float32"))] * 150
    (alone, w, count), (measured, other_w, other_count) = model("numpy"), model("auto")
    np.testing.assert_allclose(train(measured, batches), train(alone, batches), rtol=1e-4)
    np.testing.assert_allclose(other_w.numpy(), w.numpy(), rtol=1e-4)
    assert int(count) == int(other_count) == len(batches)


def test_graphs_that_share_variables_notice_each_other():
    """Check graphs that share a variable directly, or through a third one; others are not visited."""
    first, second, other = (dt.Variable(np.zeros(3, "float32")) for _ in range(3))
    adds = [dt.function(f, engine="auto") for f in (lambda x: first.assign_add(x), lambda x: second.assign_add(x))]
    both = dt.function(lambda x: first.assign_add(x) + second, engine="auto")
    alone = dt.function(lambda x: other.assign_add(x), engine="auto")
    x = np.ones(3, "float32")
    for function in (*adds, alone):
        function(x), function(x)
    visits = [f.plan(x).measurer.state.visits for f in (*adds, alone)]
    assert visits == [0, 0, 0]
    for function in (both, *adds, alone, both):
        function(x), function(x)
    assert [f.plan(x).measurer.state.visits for f in (*adds, alone)] == [1, 1, 0]
    assert both.plan(x).measurer.state.visits == 2
    best = estimates.champion(adds[1].plan(x).measurer.state).strategy
    assert both.plan(x).measurer.state.place == best.engine


@needs_two
def test_a_forward_and_its_backward_are_one_choice(monkeypatch, rng):
    """Check that each pair runs on one engine, and that the sum of their times decides."""
    fastest = ENGINES[-1]
    clock = Clock(monkeypatch, **{fastest: 0.5})
    w = dt.Variable(rng.normal(size=4).astype("float32"))
    function = dt.function(lambda x: ops.sum(ops.exp(x * w)), engine="auto")
    x = rng.normal(size=4).astype("float32")
    for _ in range(CALLS):
        with dt.GradientTape() as tape:
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, w), x * np.exp(x * w.numpy()), rtol=1e-4)
    pairs = list(zip(clock.ran[::2], clock.ran[1::2], strict=True))
    assert len(pairs) == CALLS and all(forward == backward for forward, backward in pairs)
    assert {forward for forward, _ in pairs} >= set(ENGINES) and pairs[-1][0] == fastest
    (functional,) = function.concrete(x)._functionals.values()
    times = [arm.times for arm in functional.forward.plans[0].measurer.state.arms.values() if arm.times]
    assert all(set(map(round, of_one)) <= {1, 2} for of_one in times)  # the sum for both programs: 2 x 0.5, or 2 x 1


@needs_two
def test_gradients_of_a_deterministic_function_run_on_one_engine(monkeypatch, rng):
    """Check gradients of gradients, too."""
    clock = Clock(monkeypatch, **dict.fromkeys(ENGINES, 1.0) | {ENGINES[-1]: 0.5})
    function = dt.function(lambda x: ops.sum(ops.exp(x * 2.0)), engine="auto", deterministic=True)
    x = ops.constant(rng.normal(size=4).astype("float32"))
    for _ in range(CALLS // 10):
        with dt.GradientTape() as outer:
            outer.watch(x)
            with dt.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        outer.gradient(slope, x)
    assert set(clock.ran) == {measured_plan.steady().strategy.name}


def test_gradients_are_right_wherever_they_are_computed(rng):
    w = dt.Variable(rng.normal(size=4).astype("float32"))
    function = dt.function(lambda x: ops.sum(ops.exp(x * w)), engine="auto")
    x = rng.normal(size=4).astype("float32")
    for _ in range(60):
        with dt.GradientTape() as tape:
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, w), x * np.exp(x * w.numpy()), rtol=1e-4)


def test_several_threads():
    total = dt.Variable(0.0)

    @dt.function(engine="auto")
    def add(x):
        total.assign_add(ops.sum(x))
        return total + 0.0

    def run():
        for _ in range(100):
            add(np.ones(2, "float32"))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(total) == 800
