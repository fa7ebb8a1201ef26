"""The question whether engines claim a graph, which is asked before anything is lowered."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import Rules
from dovetail.execute import plan as plan_module
from dovetail.execute.claims import NotClaimed, require_claimed
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.execute.plan import Plan
from tests.packages import OUTSIDE


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.syspath_prepend(OUTSIDE)


def asked(function, engine, *specs):
    """The question for a function on an engine."""
    graph = dt.function(function).graph(*(specs or [dt.spec((3,))]))
    require_claimed(optimized_copy(graph, engine), Place(engine))


@pytest.mark.parametrize("inside", [False, True])
def test_a_missing_rule_names_the_op_and_the_line(monkeypatch, inside):
    engine = get_engine("numpy")
    monkeypatch.setattr(engine, "rules", Rules({n: r for n, r in engine.rules.items() if n != "Tanh"}))
    tanh = (lambda x: ops.cond(x > 0, lambda: ops.tanh(x), lambda: x)) if inside else (lambda x: ops.tanh(x))
    with pytest.raises(NotClaimed, match=r"Tanh at test_claims.py:\d+: the engine 'numpy' has no rule") as caught:
        asked(tanh, engine, dt.spec(()))
    assert caught.value.engine is engine and isinstance(caught.value, NotImplementedError)


def test_an_engine_that_only_compiles_claims_composites_by_their_bodies():
    whole = get_engine("whole")
    asked(lambda x: ops.squared_difference(ops.exp(x), 1.0), whole)
    with pytest.raises(NotClaimed, match=r"Cos at test_claims.py:\d+: the engine 'whole' does not compile it"):
        asked(lambda x: ops.cos(x), whole)


def test_an_engine_may_claim_an_op_for_some_dtypes_alone():
    whole = get_engine("whole")
    with pytest.raises(NotClaimed, match=r"Exp at .*: the engine 'whole' does not compile it for float16\[3\]"):
        asked(lambda x: ops.exp(x), whole, dt.spec((3,), "float16"))


def test_shapes_that_depend_on_values_are_not_claimed():
    with pytest.raises(NotClaimed, match=r"Exp at test_claims.py:\d+: .* known shapes, and a shape depends on values"):
        graph = dt.function(lambda x: ops.exp(ops.cast(ops.nonzero(x)[0], "float32"))).graph(dt.spec((4,)))
        graph.get_operation("Exp").engine = "whole"
        numpy = get_engine("numpy")
        require_claimed(optimized_copy(graph, numpy), Place(numpy))


def test_a_loop_of_several_places_is_run_by_the_engine_that_holds_the_values():
    def loop(x):
        return ops.scan(lambda total, row: (ops.exp(total) + row, total), x[0], x)[1]

    graph = dt.function(loop).graph(dt.spec((3, 2)))
    scan = next(op for op in graph.operations if op.type == "Scan")
    scan.engine = "whole"
    body = scan.subgraphs()[0]
    for op in body.operations:
        op.engine = "numpy" if op.type == "AddV2" else None
    x = np.linspace(0, 1, 6, dtype="float32").reshape(3, 2)
    numpy = get_engine("numpy")
    np.testing.assert_allclose(Plan(graph, numpy)([x])[0], loop(ops.convert(x)).numpy(), rtol=1e-6)


def test_nothing_is_scheduled_before_the_question(monkeypatch):
    monkeypatch.delattr(plan_module, "Schedule")
    with pytest.raises(NotClaimed):
        Plan(dt.function(lambda x: ops.cos(x)).graph(dt.spec((3,))), get_engine("whole"))
