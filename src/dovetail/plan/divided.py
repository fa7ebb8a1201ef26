"""Plans of two engines: convolutions and pools on one, the rest on another, where crossings are cheap for it.

Most graphs run fastest on one engine.  One that has long elementwise parts between convolutions may not: so where both
engines were measured, such a plan is a candidate, too.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.dtypes import as_dtype
from dovetail.core.engine import Engine
from dovetail.core.engine_registry import get_engine
from dovetail.core.windows import CONVOLUTIONS, POOLS
from dovetail.graph.ir import Graph
from dovetail.graph.transplant import copy_graph
from dovetail.plan.plan import Plan

PREFIX = "convolutions on "  # of a strategy, before the name of the other engine
WINDOWED = frozenset(
    [
        *(name for names in CONVOLUTIONS.values() for name in names),
        *(f"{name}{part}" for names in POOLS.values() for name in names for part in ("", "Grad")),
    ]
)
WORTH = 0.1  # of the best time, that crossings may take at most
ROUNDS = 20  # of a measured crossing


def strategies(graph: Graph, engines: Sequence[str]) -> list[tuple[str, str]]:
    """The ways to divide a graph between engines that were measured: one that fuses elementwise ops, and another."""
    if WINDOWED.isdisjoint(op.type for op in graph.operations):
        return []
    names = list(dict.fromkeys(engines))
    fusing = [name for name in names if get_engine(name).fuses_elementwise]
    return [(name, f"{PREFIX}{other}") for name in fusing for other in names if other not in fusing]


def divided_plan(graph: Graph, engine: Engine, strategy: str, shapes: Any) -> Plan:
    """A plan whose convolutions and pools are computed on another engine.

    Raises:
        UnknownEngine, EngineNotInstalled: the other engine is not there.
    """
    copy = copy_graph(graph)
    other = get_engine(strategy.removeprefix(PREFIX))
    for op in copy.operations:
        if op.type in WINDOWED:
            op.engine = other.name
    return Plan(copy, engine, shapes)


def crossings(plan: Plan) -> float:
    """Seconds that the transfers of a plan take, at least: as many small arrays from engine to engine."""
    return sum(_crossing(step.sender.engine, step.receiver.engine) for step in plan.transfers)


@functools.cache
def _crossing(sender: Engine, receiver: Engine) -> float:
    value = sender.asarray(np.ones((8, 8)), as_dtype("float32"))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        receiver.wait(receiver.receive(value, sender))
        times.append(time.perf_counter() - start)
    return statistics.median(times)
