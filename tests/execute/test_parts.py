"""Parts of a plan: segments of their own in the user's order, gradients, loops, and variables."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.plan import Plan
from tests.libraries import require

X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def layers(x):
    with dt.place(part="head"):
        x = ops.exp(x)
    x = x * 2.0
    with dt.place(part="tail"):
        return ops.tanh(x)


def described(plan):
    return [(s.part, [op.type for op in s.graph if op.inputs]) for s in plan.segments]


def test_a_part_is_a_segment_also_on_one_engine(engine):
    f = dt.function(layers)
    plan = Plan(f.graph(dt.spec((2, 3))), get_engine(engine))
    assert described(plan) == [("head", ["Exp", "Mul"]), ("tail", ["Tanh"])]
    assert plan.transfers == []
    assert str(plan).splitlines()[1] == f"  {engine} ({get_engine(engine).devices()[0]}), part head: Exp, Mul"
    np.testing.assert_allclose(f(X).numpy(), np.tanh(2 * np.exp(X)), rtol=1e-6)


def test_parts_on_two_engines_have_transfers_at_their_borders(engine):
    other = "numpy" if engine == "torch" else "torch"
    require(other, "it computes a part")
    graph = dt.function(layers, input_signature=[dt.spec((2, 3))]).graph(dt.spec((2, 3)))
    graph.place({"Tanh": other})
    plan = Plan(graph, get_engine(engine))
    assert [(s.part, s.engine.name) for s in plan.segments] == [("head", engine), ("tail", other)]
    assert len(plan.transfers) == 2
    np.testing.assert_allclose(dt.function(graph)(X).numpy(), np.tanh(2 * np.exp(X)), rtol=1e-6)


def test_numbers_say_the_order():
    def f(x):
        with dt.place(part=2):
            y = ops.exp(x)
        with dt.place(part=1):
            return y, ops.tanh(x)

    graph = dt.function(f).graph(dt.spec((2, 3)))
    assert described(Plan(graph, get_engine("numpy"))) == [(1, ["Tanh"]), (2, ["Exp"])]


@pytest.mark.parametrize("again", [False, True])
def test_gradients_are_parts_of_their_own(engine, again):
    """Check a training step, whose gradients run from the last part to the first, with and without recomputation."""
    weights = [dt.Variable(np.full((3, 3), n, "float32"), name=f"w{n}") for n in (0.5, 0.25)]

    def step(x, in_parts=True):
        with dt.GradientTape() as tape:
            y = x
            for number, w in enumerate(weights):
                with dt.place(part=number) if in_parts else dt.place():
                    run = lambda y, w=w: ops.tanh(y @ w)  # noqa: E731
                    y = dt.recompute_grad(run)(y) if again else run(y)
            loss = ops.sum(y)
        for w, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(gradient)
        return loss

    found = []
    for in_parts in (True, False):
        for w, start in zip(weights, (0.5, 0.25), strict=True):
            w.assign(np.full((3, 3), start, "float32"))
        f = dt.function(lambda x, in_parts=in_parts: step(x, in_parts))
        found.append([f(X).numpy(), f(X).numpy(), *(w.numpy() for w in weights)])
        if in_parts:
            parts = list(dict.fromkeys(s.part for s in f.plan(X).segments))
            assert parts == [0, 1, "gradient of 1", "gradient of 0"]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_loop_is_a_part_as_a_whole():
    def f(x, inside):
        with dt.place(part="loop"):
            return ops.scan(lambda s, row: (nested(s + row, inside), s), x[0], x)[1]

    def nested(x, inside):
        with dt.place(part=inside):
            return ops.tanh(x)

    whole = dt.function(lambda x: f(x, "loop"))
    np.testing.assert_allclose(whole(X).numpy(), dt.function(lambda x: f(x, None))(X).numpy())
    with pytest.raises(
        ValueError, match=r"Tanh at test_parts.py:\d+: 'Tanh' is in the part 'body', but '.*Put the whole"
    ):
        dt.function(lambda x: f(x, "body"))(X)


def test_a_circle_is_refused_when_the_plan_is_made():
    def f(x):
        for part in ("a", "b", "a"):
            with dt.place(part=part):
                x = ops.exp(x)
        return x

    with pytest.raises(ValueError, match=r"Exp at test_parts.py:\d+: parts run one after another, but .*'a'.*'b'"):
        dt.function(f)(X)


def test_parts_alone_leave_the_engine_to_the_choice():
    graph = dt.function(layers).graph(dt.spec((2, 3)))
    f = dt.function(graph)
    with dt.engine("auto"):
        np.testing.assert_allclose(f(X).numpy(), np.tanh(2 * np.exp(X)), rtol=1e-6)
        assert type(f.plan(X)).__name__ == "MeasuredPlan"
