"""Lowering: the text of a program."""

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engine_registry import get_engine
from dovetail.plan.lower import lower


def program_of(graph):
    return lower(graph, get_engine("numpy"), graph.inputs, graph.outputs)


def test_the_text_holds_only_names_made_here():
    """Names, attributes and constants of a graph, which may come from a file, are never part of the code."""
    graph = dt.Graph("__import__('os')")
    x = graph.placeholder(dt.spec((2,)), "exec('1')\nimport os")
    with_name = ops.reshape(x, (2, 1), name="); evil(")
    graph.outputs = [ops.cast(with_name, "float64")]
    source = program_of(graph).source
    for bad in ("evil", "import", "exec", "float64"):
        assert bad not in source


def test_values_are_let_go_after_their_last_use():
    graph = dt.function(lambda x: ops.exp(ops.exp(ops.exp(x)))).graph(dt.spec((2,)))
    lines = program_of(graph).source.splitlines()
    assert sum(line.startswith(" del ") for line in lines) == 3


def test_missing_rule_names_the_op_and_the_line():
    graph = dt.function(lambda x: ops.tanh(x)).graph(dt.spec((2,)))
    engine = get_engine("numpy")
    rule = engine.rules.pop("Tanh")
    try:
        with pytest.raises(NotImplementedError, match=r"Tanh at test_lower.py:\d+: the engine 'numpy' has no rule"):
            program_of(graph)
    finally:
        engine.rules["Tanh"] = rule


def test_deep_graphs(engine):
    def deep(x):
        for _ in range(3000):
            x = x + 1.0
        return x

    assert float(dt.function(deep)(ops.constant(0.0))) == 3000
