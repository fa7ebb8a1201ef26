"""Backward plan: the backward program of a measured graph; forward and backward program are one choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.choose.candidate import FAILURES, Candidate
from dovetail.choose.measured_plan import Measuring
from dovetail.core.engine import Engine
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice, Strategy
from dovetail.execute.fallback import last_resort, plan_on
from dovetail.execute.plan import Plan
from dovetail.execute.plan_base import Runnable


class Following(Measuring):
    """The settings of a backward program: it runs by the strategy of the forward program before it.

    Args:
        leader: the settings of the forward program.
    """

    def __init__(self, leader: Measuring) -> None:
        super().__init__()
        self.leader = leader

    def plan(self, graph: Graph, home: Engine, shapes: Sequence[Any]) -> Any:
        """The plan of a graph for arguments of these shapes, on arrays of an engine."""
        if self.leader.called is None:  # the forward program runs on a named engine
            return plan_on(graph, home, shapes)
        return BackwardPlan(graph, home, shapes, self.leader)


class BackwardPlan(Runnable):
    """The backward program of a measured graph: it runs by the forward program's strategy, and is measured with it.

    Args:
        graph: the graph to run; it is not changed.
        home: the engine of the arguments and results.
        shapes: the shapes of the arguments.
        leader: the settings of the forward program.
    """

    def __init__(self, graph: Graph, home: Engine, shapes: Sequence[Any], leader: Measuring) -> None:
        self.engine, self.holder = home, home.holder
        self.graph, self.shapes, self._leader = graph, tuple(shapes), leader
        self._candidates: dict[Strategy, Candidate] = {}

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on native arrays of the home engine; the results are such arrays."""
        assert self._leader.called is not None  # a call of the forward program came before
        return self._leader.called.run_backward(self, arguments)

    def prepare(self) -> None:
        """Do nothing: the forward program says by which strategy it is prepared."""

    @property
    def parts(self) -> list[Plan]:
        """The plans that were made, one by strategy."""
        return [candidate.plan for candidate in self._candidates.values()]

    @property
    def choice(self) -> Choice:
        """The choice of the forward program."""
        assert self._leader.called is not None
        return self._leader.called.choice

    def prepare_strategy(self, strategy: Strategy) -> Candidate:
        """Make a candidate, in any thread.

        Raises:
            Exception: the engine cannot run the graph.
        """
        candidate = Candidate(strategy, self.graph, self.engine, self.shapes)
        candidate.plan.prepare()
        return self._candidates.setdefault(strategy, candidate)

    def run_as(self, strategy: Strategy, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], bool]:
        """The results by a strategy, and whether the strategy failed, so that numpy ran instead."""
        candidate = None
        try:
            candidate = self._candidates.get(strategy) or self.prepare_strategy(strategy)
            return candidate.run(arguments), False
        except FAILURES as error:
            resort = last_resort(self.engine)
            is_named = self._leader.fixed is not None or strategy.engine == resort
            if is_named or (candidate is not None and not candidate.failed_by(error)):
                raise
            results = self.run_as(Strategy(resort), arguments)[0]
            assert self._leader.called is not None
            self._leader.called.measurer.fail(strategy, error)
            return results, True
