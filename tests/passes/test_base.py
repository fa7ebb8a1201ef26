"""Running passes: in rounds, on subgraphs too, and on needed operations alone."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.transplant import copy_graph
from dovetail.execute.optimize import optimized_copy
from dovetail.passes import base
from dovetail.passes.base import NEAR, Local, Passes, needs, run, sweep
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.cse import merge_common
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify
from tests.conftest import ENGINES
from tests.graph.random_graphs import graphs
from tests.ops.table import CASES, cases, draw, float_arrays, replace_arrays, unknown_dimensions
from tests.passes.checks import traced, types


def test_rounds_end_once_nothing_changes():
    counts = iter([2, 1, 0, 5])
    graph = dt.Graph()
    assert run(graph, [lambda _: next(counts)], rounds=9) == 3
    assert next(counts) == 5


def test_rounds_are_as_many_as_are_asked_for():
    for rounds in (1, 2, 3):
        seen = []
        assert run(dt.Graph(), [lambda graph, seen=seen: seen.append(graph) or 1], rounds) == len(seen) == rounds
    assert run(dt.Graph(), [lambda _: 1]) == 1


def test_subgraphs_come_first():
    graph = traced(lambda x: ops.cond(ops.sum(x) > 0, lambda: ops.exp(x), lambda: -x), dt.spec((3,)))
    seen = []
    run(graph, [lambda part: seen.append(part) or 0])
    assert seen == [*graph.subgraphs(), graph] and len(seen) == 3


def test_what_nobody_needs_is_not_visited():
    v = dt.Variable(1.0)

    def function(x):
        ops.exp(x)
        v.assign(ops.tanh(x))
        return ops.sin(x), x

    visited = []
    sweep(traced(function, dt.spec(())), lambda op: visited.append(op.type) or 1)
    assert "Exp" not in visited
    assert {"Tanh", "AssignVariableOp", "Sin", "Placeholder"} <= set(visited)


def test_visits_are_added_up():
    graph = traced(lambda x: ops.exp(ops.tanh(x)), dt.spec(()))
    assert sweep(graph, lambda op: {"Exp": 3, "Tanh": 4}.get(op.type, 0)) == 7


# -- later rounds -----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_later_rounds_find_what_looking_everywhere_finds(graph):
    found = []
    for passes in ([fold_constants, simplify], [lambda part: fold_constants(part), lambda part: simplify(part)]):
        copy = copy_graph(graph)
        run(copy, [*passes, merge_common, prune], 9)
        found.append(str(copy))
    assert found[0] == found[1]


def test_an_operation_that_gets_users_again_is_visited_again():
    """An earlier round took the first reshape's only user away; then the other two become the same operation."""

    variable = dt.Variable(np.zeros((2, 3), "float32"))

    def function(x):
        variable.assign(ops.reshape(x, (2, 3)))
        return ops.reshape(ops.reshape(x, (-1,)), (2, 3))

    graph = traced(function, dt.spec((2, 3)))
    run(graph, [fold_constants, simplify, merge_common, prune], 9)
    assert [op.type for op in graph] == ["Placeholder", "AssignVariableOp"]


def test_later_rounds_visit_what_is_near_to_a_change():
    def function(x):
        early = ops.exp(x)
        for _ in range(2 * NEAR):
            x = ops.tanh(x)
        size = ops.size(early)  # sizes are known at once, however far away
        return early, x, ops.reshape(x, [size + 1 - 1, 1])

    graph = traced(function, dt.spec((None,)))
    first = next(op for op in graph if op.type == "Exp")
    rounds = []

    @Local
    def change_once(part):
        rounds.append([])

        def visit(op):
            rounds[-1].append(op)
            if op is not first or len(rounds) > 1:
                return 0
            with part.as_default():
                op.set_input(0, ops.sinh(op.inputs[0]))
            return 1

        return visit

    assert run(graph, [change_once], 9) == 1
    assert len(rounds) == 2 and len(rounds[0]) == len(graph) - 1
    near = {op.type for op in rounds[1]}
    assert {"Sinh", "Exp", "Reshape"} <= near and "Tanh" not in near and "Placeholder" not in near
    assert graph.changed_ops is None


def test_a_visit_is_followed_by_visits_of_what_is_near_to_its_changes():
    graph = traced(lambda x: ops.tanh(ops.sin(ops.cos(ops.exp(x)))), dt.spec((2,)))
    graph.changed_ops, visited = [], []

    def visit(op):
        visited.append(op.type)
        if op.type == "Cos":
            op.set_input(0, op.inputs[0])
        return 0

    Local(lambda graph: visit)(graph, [op for op in graph if op.type in ("Exp", "Cos")])
    assert visited == ["Exp", "Cos", "Sin", "Tanh"]


# -- passes that are skipped ------------------------------------------------------------------------------------------


class Everywhere(Passes):
    """Passes that look at all graphs, and look at each again."""

    def run(self, passes, rounds=1):
        return super().run([lambda part, apply=apply: apply(part) for apply in passes], rounds)

    def _applied(self, apply, part):
        self._is_done.clear()
        return super()._applied(apply, part)


def check_skipping(graph, monkeypatch, **options):
    """Check that the optimized graph is the same whether passes are skipped or not, on all engines."""
    for name in ENGINES:
        engine = get_engine(name)
        found = str(optimized_copy(graph, engine, **options))
        with monkeypatch.context() as patch:
            patch.setattr(base, "Passes", Everywhere)
            assert str(optimized_copy(graph, engine, **options)) == found


@cases(CASES)
def test_skipping_leaves_graphs_of_ops_as_they_are(op, number, rng, monkeypatch):
    args, kwargs = draw(op.samples[number], rng)
    arrays = float_arrays(args, kwargs)

    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return op(*moved, **named)

    for signature in (None, unknown_dimensions(arrays)):
        check_skipping(dt.function(call, input_signature=signature).graph(*arrays), monkeypatch)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs())
def test_skipping_leaves_random_graphs_as_they_are(graph, monkeypatch):
    check_skipping(graph, monkeypatch)


def test_skipping_leaves_graphs_of_steps_as_they_are(monkeypatch):
    w = dt.Variable(np.ones((4, 4), "float32"))

    def step(x):
        with dt.GradientTape() as tape:
            rows = ops.scan(lambda state, row: (ops.tanh(state + row), state), ops.zeros(4), x @ w)[1]
            loss = ops.mean(ops.cond(ops.sum(rows) > 0, lambda: ops.softmax(rows), lambda: ops.gelu(rows) * 1.0))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss, ops.shape(x)[0] + 0

    for rows in (3, None):
        check_skipping(traced(step, dt.spec((rows, 4))), monkeypatch)


@pytest.mark.parametrize("size", [0, 3])
def test_skipping_keeps_what_is_known_of_integers(size, monkeypatch):
    """Check an empty tensor of integers, which is known though the graph has no constant."""
    graph = traced(lambda n: ops.maximum(-n, n), dt.spec((size,), "int32"))
    check_skipping(graph, monkeypatch)
    assert types(optimized_copy(graph, get_engine("numpy"))) == (["Neg", "Maximum"] if size else [])


def test_a_pass_that_changed_nothing_waits_for_a_change():
    graph, seen = traced(lambda x: ops.tanh(ops.exp(x)), dt.spec((3,))), []
    passes = Passes(graph)

    def look(part):
        seen.append(len(part))
        return 0

    passes.run([look], 3)
    passes.run([look])
    assert seen == [3]
    graph.outputs[0].op.set_input(0, graph.inputs[0])
    passes.run([look, prune, look])
    passes.run([look])
    assert seen == [3, 3, 2]


@pytest.mark.parametrize(("needed", "is_run"), [({"Tanh", "Sin"}, True), ({"Sin"}, False), (lambda graph: True, True)])
def test_a_pass_runs_where_a_graph_has_what_it_needs(needed, is_run):
    seen = []

    @needs(needed)
    def look(part, more):
        seen.append(part)
        return 0

    run(traced(lambda x: ops.tanh(x), dt.spec((3,))), [partial(look, more=1)])
    assert bool(seen) == is_run
