"""Candidate: a strategy made ready to run a graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from dovetail.core.base.errors import LIBRARIES
from dovetail.core.base.windows import CONVOLUTIONS, POOLS
from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import HOME, get_engine
from dovetail.core.tensor import Tensor
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import copy_graph
from dovetail.execute.choice import Strategy
from dovetail.execute.plan import Plan
from dovetail.passes.specialize import needs_shapes

# The exceptions of a plan that cannot be made.  They are not all exceptions, since a signal's handler may raise any.
FAILURES = (*LIBRARIES, ImportError, OSError, MemoryError, NotImplementedError)
WINDOWED = frozenset(
    [
        *(name for names in CONVOLUTIONS.values() for name in names),
        *(f"{name}{part}" for names in POOLS.values() for name in names for part in ("", "Grad")),
    ]
)


class NotDelivered(RuntimeError):
    """The error of a call that is done, with its assignments, but whose results cannot be moved to the home engine."""


class Candidate:
    """A strategy with the plan of a graph.

    Args:
        strategy: the way to run it.
        graph: the graph to run; it is not changed.
        home: the engine of the arguments and results.
        shapes: the shapes of the arguments.

    Attributes:
        strategy: as given.
        plan: the plan of the graph by the strategy.
        is_direct: whether the plan alone computes what `run` does, since its arrays are those of the home engine.

    Raises:
        UnknownEngine, EngineNotInstalled: an engine is unknown, or its library is not installed.
        ValueError: the engine has no such variant.
        NotClaimed: the engine does not claim the graph.
    """

    def __init__(self, strategy: Strategy, graph: Graph, home: Engine, shapes: Sequence[Any]) -> None:
        self.strategy = strategy
        self._home = home
        self._threads = strategy.threads
        engine = get_engine(strategy.engine)
        self._is_home = engine.holder is home.holder
        self.plan = self._planned(graph, engine, shapes)
        self.is_direct = self._is_home and not strategy.threads

    def _planned(self, graph: Graph, engine: Engine, shapes: Sequence[Any]) -> Plan:
        strategy = self.strategy
        is_open = any(not t.spec.is_static for t in graph.inputs)
        if strategy.split:
            return Plan(_split(graph, get_engine(strategy.split)), engine, shapes if is_open else None)
        if strategy.variant not in engine.strategies:
            known = ", ".join(filter(None, engine.strategies)) or "none"
            problem = f"the engine {engine.name!r} has no strategy {strategy.variant!r}; it has {known}."
            raise ValueError(problem)
        given = shapes if is_open and needs_shapes(graph, engine) else None
        return Plan(graph, engine, given, variants=engine.strategies[strategy.variant])

    def further_variants(self) -> list[str]:
        """The other variants of the engine that change the plan.

        Example:
            >>> import dovetail as dt
            >>> from dovetail.core.engines.engine_registry import get_engine
            >>> graph = dt.function(lambda x: x + x).graph(dt.spec((3,)))
            >>> Candidate(Strategy("numpy"), graph, get_engine("numpy"), [(3,)]).further_variants()
            []
        """
        engine = self.plan.engine
        graphs = [segment.graph for segment in self.plan.segments]
        variants, seen = [], set()
        for variant, rules in engine.strategies.items():
            choices = tuple(engine.rule_choices(graph, rules) for graph in graphs)
            if choices not in seen:
                seen.add(choices)
                variants.append(variant)
        return variants[1:]

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Run the plan on arrays of the home engine; the results stay on its engine, which may still compute them."""
        return list(map(Tensor, self._run(arguments), repeat(self.plan.holder)))

    def _run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        given = arguments if self._is_home else self._received(arguments)
        if self._threads:
            return self.plan.engine.with_threads(self._threads, self.plan, given)
        return self.plan(given)

    def _received(self, arguments: Sequence[Any]) -> list[Any]:
        engine, home = self.plan.holder, self._home.holder
        if home.name == HOME:
            return [engine.argument(a, home.dtype(a)) for a in arguments]
        return [engine.receive(a, home) for a in arguments]

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the plan on arrays of the home engine; the results are such arrays.

        Raises:
            NotDelivered: the results cannot be moved to the home engine.
        """
        results = self._run(arguments)
        if self._is_home:
            return results
        home, engine = self._home.holder, self.plan.holder
        try:
            return tuple([home.receive(value, engine) for value in results])
        except Exception as error:
            if not self.failed_by(error):
                raise
            problem = f"the call is done on {engine.name}, but its results cannot be moved to {home.name}"
            raise NotDelivered(f"{problem}: {type(error).__name__}: {error}") from error

    def wait(self, results: Sequence[Any]) -> None:
        """Wait until a call is computed: its results, or its assignments if it has no results."""
        plan = self.plan
        for result in results:
            if type(result) is Tensor:
                plan.holder.wait(result._value)
        if not results and plan.assigned and (buffer := plan.assigned[0]._buffer) is not None:
            buffer.engine.wait(buffer.value)

    def failed_by(self, error: Exception) -> bool:
        """Whether an exception says that the engine cannot run the graph, so that another engine may.

        An exception of a signal's handler does not say it, nor does an exception after the call is done.
        """
        failures = (*self.plan.engine.errors, MemoryError)
        return isinstance(error, failures) and not isinstance(error, NotDelivered)


def split_strategies(graph: Graph, engines: Sequence[str]) -> list[Strategy]:
    """The strategies that compute convolutions and pools on another engine than the rest.

    The engine of the rest fuses elementwise ops; the other engine does not.

    Args:
        graph: the graph; without convolutions and pools it has no such strategy.
        engines: the names of engines that are loaded; those that only compile make too many programs.
    """
    if WINDOWED.isdisjoint(op.type for op in graph.operations):
        return []
    able = [engine for engine in map(get_engine, engines) if engine.eager is None]
    fusing, others = ([e.name for e in able if e.fuses_elementwise is fuses] for fuses in (True, False))
    return [Strategy(name, split=other) for name in fusing for other in others]


def _split(graph: Graph, other: Engine) -> Graph:
    copy = copy_graph(graph)
    for op in copy.operations:
        if op.type in WINDOWED:
            op.engine = other.name
    return copy
