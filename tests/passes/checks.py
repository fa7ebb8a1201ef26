"""Requirements of every pass: it keeps the graph valid, and its results the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings

import dovetail as dt
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import copy_graph
from tests.graph.random_graphs import arguments, check_origins, check_same, graphs, interpret


def traced(function: Callable[..., Any], *specs: Any) -> Graph:
    return dt.function(function, input_signature=specs).graph(*specs)


def types(graph: Graph) -> list[str]:
    """The types of the operations that compute something."""
    return [op.type for op in graph.operations if op.type not in ("Placeholder", "Const")]


def draw(specs: Any, unknown: int = 2) -> list[np.ndarray]:
    """An array for each spec."""
    rng = np.random.default_rng(11)
    shapes = [[unknown if dim is None else dim for dim in spec.shape] for spec in specs]
    return [np.asarray(rng.uniform(-3, 3, shape)).astype(s.dtype.numpy) for shape, s in zip(shapes, specs, strict=True)]


def optimized(function: Callable[..., Any], *specs: Any, by: list[Callable[[Graph], int]], unknown: int = 2) -> Graph:
    """The graph after passes, checked to be valid and to compute the same."""
    graph = traced(function, *specs)
    copy = copy_graph(graph)
    for apply in by:
        apply(copy)
        copy.validate()
    values = draw(specs, unknown)
    check_same(interpret(copy, values), interpret(graph, values))
    return copy


def keeps_random_graphs(apply: Callable[[Graph], int]) -> Callable[[], None]:
    """A test that a pass keeps random graphs valid and equal, and comes to an end."""

    @settings(deadline=None, max_examples=40)
    @given(graphs())
    def test(graph: Graph) -> None:
        copy = copy_graph(graph)
        for _ in range(8):
            changes = apply(copy)
            copy.validate()
            if not changes:
                break
        assert not changes
        check_origins(copy, graph)
        check_same(interpret(copy, arguments()), interpret(graph, arguments()))

    return test
