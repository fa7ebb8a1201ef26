"""Candidate: one of the ways to run a graph among which a choice is made."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from dovetail.core.engine import Engine
from dovetail.core.engine_registry import HOME, get_engine
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph
from dovetail.passes.specialize import needs_shapes
from dovetail.plan.divided import PREFIX, divided_plan
from dovetail.plan.plan import Plan
from dovetail.plan.store import Measured


class NotDelivered(RuntimeError):
    """A call is done, and what it assigned is assigned, but its results could not be moved to where they are wanted."""


class Candidate:
    """One way to run a graph: an engine, and a strategy of its rules.

    Attributes:
        name: "jax", or with the strategy, "jax patches".
        plan: once it is ready.
        times: seconds that calls took.
        problem: why it is not considered.
    """

    def __init__(self, engine: str, strategy: str = "") -> None:
        self.engine, self.strategy = engine, strategy
        self.name = f"{engine} {strategy}".rstrip()
        self.plan: Plan | None = None
        self.times: list[float] = []
        self.problem = ""

    @property
    def is_divided(self) -> bool:
        """Whether a part of the graph is computed on another engine."""
        return self.strategy.startswith(PREFIX)

    @property
    def median(self) -> float:
        return statistics.median(self.times) if self.times else float("inf")

    @property
    def lower_quartile(self) -> float:
        return sorted(self.times)[len(self.times) // 4] if self.times else float("inf")

    @property
    def measured(self) -> Measured:
        return Measured(self.engine, self.strategy, self.median, min(self.times), len(self.times))

    def make(self, graph: Graph, home: Engine, shapes: Sequence[Any]) -> None:
        """Makes the plan, without compiling it."""
        engine = get_engine(self.engine)
        self._home, self._is_home = home, engine is home
        is_open = any(not t.spec.is_static for t in graph.inputs)
        if self.is_divided:
            self.plan = divided_plan(graph, engine, self.strategy, shapes if is_open else None)
            return
        if self.strategy not in engine.strategies:
            known = ", ".join(filter(None, engine.strategies)) or "none"
            raise ValueError(f"the engine {self.engine!r} has no strategy {self.strategy!r}; it has {known}.")
        given = shapes if is_open and needs_shapes(graph, engine) else None
        self.plan = Plan(graph, engine, given, variants=engine.strategies[self.strategy])

    def without_plan(self) -> Candidate:
        """What was measured, without the programs and their memory."""
        bare = Candidate(self.engine, self.strategy)
        bare.times, bare.problem = self.times, self.problem
        return bare

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Runs the plan on arrays of the home engine; the results stay where they are, and may still be computed."""
        assert self.plan is not None
        return list(map(Tensor, self._run(arguments), repeat(self.plan.engine)))

    def _run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        plan, home = self.plan, self._home
        assert plan is not None
        if self._is_home:
            return plan(arguments)
        if home.name == HOME:
            return plan([plan.engine.argument(a, home.dtype(a)) for a in arguments])
        return plan([plan.engine.receive(a, home) for a in arguments])

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the plan on arrays of the home engine; the results are such arrays."""
        results = self._run(arguments)
        if self._is_home:
            return results
        assert self.plan is not None
        home, engine = self._home, self.plan.engine
        try:
            return tuple([home.receive(value, engine) for value in results])
        except Exception as error:
            if not self.failed_by(error):
                raise
            problem = f"the call is done on {engine.name}, but its results cannot be moved to {home.name}"
            raise NotDelivered(f"{problem}: {type(error).__name__}: {error}") from error

    def wait(self, results: Sequence[Any]) -> None:
        """Returns when a call is computed: its results, if they are still computed, or what it assigned."""
        plan = self.plan
        assert plan is not None
        for result in results:
            if type(result) is Tensor:
                plan.engine.wait(result._value)
        if not results and plan.assigned and (buffer := plan.assigned[0]._buffer) is not None:
            buffer.engine.wait(buffer.value)

    def failed_by(self, error: Exception) -> bool:
        """Whether an exception says that it cannot be run here, so that another may run in its place.

        What a signal's handler raises does not, nor does one that comes once the call is done.
        """
        failures = (*get_engine(self.engine).errors, MemoryError)
        return isinstance(error, failures) and not isinstance(error, NotDelivered)

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name}: {self.problem}"
        if not self.times:
            return f"{self.name}: not measured"
        return (
            f"{self.name}: {self.median * 1e3:.3g} ms a call, at best {min(self.times) * 1e3:.3g}, of {len(self.times)}"
        )
