"""Probed plan: the plan of a graph to which probes add outputs, and a run that hands out what these say.

The graph is pure: values of variables are arguments, and new values are results.  So no run consumes an array of a
variable, and a probe that raises an error leaves the variables as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core.base.probe import Probe
from dovetail.core.base.scopes import scopes, within
from dovetail.core.engine import Engine
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice, Strategy
from dovetail.execute.exchanges import recorded, replayed
from dovetail.execute.plan import Plan
from dovetail.execute.plan_base import Runnable
from dovetail.functions.faults import Fault
from dovetail.passes.pure_program import pure_copy

if TYPE_CHECKING:
    from dovetail.functions.concrete import Concrete


class Run(NamedTuple):
    """A run of a probed plan.

    Attributes:
        graph: the pure graph, with the outputs that probes added.
        ends: the number of its outputs that are results and new values of variables.
        variables: the variables that are its last inputs.
        engine: the engine of the arguments.
        arguments: the native arrays of the graph's inputs.
        exchanges: the results of its collectives, which a replay takes instead of waiting for other ranks.
    """

    graph: Graph
    ends: int
    variables: Sequence[Variable]
    engine: Engine
    arguments: Sequence[Any]
    exchanges: Sequence[np.ndarray] = ()

    def faults(self) -> tuple[list[Fault], bool]:
        """The faults that reach a result, the first one first; and whether all results are finite, one by one."""
        from dovetail.functions.fault_search import Replay  # a run without faults needs it not

        replay, own = Replay(self.engine), len(self.graph.inputs) - len(self.variables)
        names = [
            *(("argument", t.op.name) for t in self.graph.inputs[:own]),
            *(("variable", v.name) for v in self.variables),
        ]
        given = [replay.given(*name, value) for name, value in zip(names, self.arguments, strict=True)]
        with replayed(self.exchanges):
            results = replay.run(self.graph, given)[: self.ends]
        by_operation = {key: fault for result in results for key, fault in result.faults.items()}
        faults = [fault for fault in by_operation.values() if not fault.is_meant]
        return sorted(faults, key=lambda fault: fault.number), not by_operation


class ProbedPlan(Runnable):
    """The plan of a graph under probes.

    Args:
        graph: the graph to run; it is not changed.
        engine: the engine of the arguments and results.
        probes: the probes that look.
        ends: the number of the graph's outputs that are results; None for all.
        make: (a graph) → a `Concrete`, which makes its plans.

    Attributes:
        graph, engine: as given.
        holder: the engine of the arguments and results.
    """

    def __init__(
        self,
        graph: Graph,
        engine: Engine,
        probes: Sequence[Probe],
        ends: int | None,
        make: Callable[[Graph], Concrete],
    ) -> None:
        self.graph, self.engine, self.holder = graph, engine, engine.holder
        self._probes = probes
        # further values of the program are only kept for a gradient; outputs of probes follow them
        self._program = program = pure_copy(graph, results=ends)
        self._kept = len(program.graph.outputs)
        with within(probes=()):
            self._notes = [probe.add(program.graph, program.ends) for probe in probes]
        self._concrete = make(program.graph)

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the plan on native arrays; the results are native arrays."""
        guard = self._program.guard
        return self._run(arguments) if guard is None else guard.holding(self._run, arguments)

    def _run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        probes, program = [_living(probe) for probe in self._probes], self._program
        with within(probes=()):
            given = [*arguments, *(v.read(self.holder)._value for v in program.read)]
            with recorded() as exchanges:
                values = self._concrete.run(given, self.engine)
            at = self._kept
            run = Run(program.graph, program.ends, program.read, self.holder, given, exchanges)
            for probe, notes in zip(probes, self._notes, strict=True):
                probe.saw(run, notes, values[at : at + len(notes)])
                at += len(notes)
            program.put(values, self.holder)
        return (*values[: program.results], *values[program.ends : self._kept])

    @property
    def parts(self) -> list[Plan]:
        """The plans that ran, with the outputs of the probes."""
        return [part for plan in self._concrete.plans for part in plan.parts]

    @property
    def choice(self) -> Choice:
        """The choice of the plan that ran last."""
        plans = self._concrete.plans
        return plans[-1].choice if plans else Choice(Strategy(self.engine.name))

    def prepare(self) -> None:
        """Do nothing: the first call makes its plan."""

    def __str__(self) -> str:
        return "\n".join(
            ["with probes:", *(f"  {line}" for plan in self._concrete.plans for line in str(plan).splitlines())]
        )


def _living(probe: Probe) -> Probe:
    """The equal probe of the scopes around, which may be another one than in the call that made the plan."""
    return next((other for other in scopes().probes or () if other == probe), probe)
