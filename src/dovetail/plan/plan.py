"""Plan: what is executed; the segments of a graph, the transfers between them, and the executor that owns variables.

`Plan(graph, engine)` copies the graph, runs the passes and cuts the result into segments, which their engines compile.
Calling it hands over the arguments and the variables' arrays, and gives the variables their new buffers.

A run is done as a whole or not at all, whatever exception comes at whatever moment (Ctrl-C, another signal's, memory
that runs out): the variables that it assigns are all new or all old, and their guard is free.  An engine that consumes
arrays destroys the old ones before Python hears of the new; but what it returns lands in a list at once, and an
exception that comes then finds it there.  So arrays are consumed only where one segment is all there is.  What is left:
an engine that itself fails half-way (its memory runs out in the middle of a program) has consumed the arrays for
nothing, and reading such a variable raises `StaleValueError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.engine import Engine
from dovetail.core.locks import join
from dovetail.core.state import Buffer, held_by, put, taken
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph
from dovetail.ops.control.plumbing import SHOWN
from dovetail.plan.optimize import optimized_copy
from dovetail.plan.placement import check_pins
from dovetail.plan.schedule import Schedule
from dovetail.plan.segment import Segment


class Plan:
    """A graph made ready to run.

    Args:
        graph: what to run; it is not changed.
        engine: where operations are computed that are pinned to no other, where arguments come from and results go.
        shapes: the shapes of the inputs, where the graph leaves some open and an engine needs to know.

    Attributes:
        engine: as given.
        variables: those it reads, in the order in which their arrays are passed.
        only_read: those it reads and does not assign, the first of them.
        assigned: those it assigns, in the order in which their new values are returned; first those it reads, too.

    Raises:
        UnknownEngine, EngineNotInstalled: an operation is pinned to an engine that is not there.
        ValueError: one is pinned where it cannot be computed; or a value does not fit the variable that it is for.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.core.engine_registry import get_engine
        >>> graph = dt.function(lambda x: dt.ops.tanh(dt.ops.exp(x)) * 2.0).graph(dt.spec((3,)))
        >>> graph.get_operation("Tanh").engine = "torch"
        >>> print(Plan(graph, get_engine("numpy")))
        plan of '<lambda>' on numpy: 3 segments, 2 transfers
          numpy (cpu:0): Exp
          move Exp:0 from numpy to torch
          torch (cpu:0): Tanh
          move Tanh:0 from torch to numpy
          numpy (cpu:0): Mul
    """

    def __init__(self, graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None) -> None:
        check_pins(graph, engine)
        self.engine = engine
        self._name = graph.name
        optimized = optimized_copy(graph, engine, shapes)
        operations = optimized.operations
        read = {op.attrs["variable"]: op.outputs[0] for op in operations if op.type == "ReadVariableOp"}
        written = {op.attrs["variable"]: op.inputs[0] for op in operations if op.type == "AssignVariableOp"}
        for variable, value in written.items():
            variable.check_shape(value)
        self.only_read = [v for v in read if v not in written]
        changed = [v for v in read if v in written]
        self.variables = [*self.only_read, *changed]
        self.assigned = [*changed, *(v for v in written if v not in read)]
        states = [written[v] for v in self.assigned]
        self._open = [i for i, value in enumerate(states) if not value.spec.is_static]  # to be checked later
        self._result_count = len(optimized.outputs)
        self._changed_count = len(changed)
        inputs = [*optimized.inputs, *(read[v] for v in self.variables)]
        self._schedule = schedule = Schedule(
            optimized, engine, inputs, states, len(changed), donates=not self._open and not _shows(optimized)
        )
        self._engines = schedule.engines
        self._run = schedule.run
        self._consumes = schedule.donates
        self._spares = schedule.spares
        self._made = schedule.made
        first, second = len(optimized.inputs), len(optimized.inputs) + len(self.only_read)
        self._lent = list(zip(self.only_read, schedule.homes[first:second], strict=True))
        self._leaving_read = [
            lent for lent, leaving in zip(self._lent, schedule.leaves[first:], strict=False) if leaving
        ]
        self._leaving = [i for i, leaving in enumerate(schedule.leaves[second:]) if leaving]
        self._guard = join(v.guard for v in self.assigned) if self.assigned else None

    @property
    def segments(self) -> list[Segment]:
        """Its segments, in the order in which they run."""
        return self._schedule.segments

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs it on native arrays; the results are native arrays."""
        for engine in self._engines:
            if engine.refused is not None:
                engine.refused()
        if not self.variables and self._guard is None:
            return self._run(arguments)
        for variable, engine in self._leaving_read:
            variable.shared_buffer(engine)
        # Before it holds a guard: a thread holds one at a time.
        given = [*arguments, *[v.array_on(engine) for v, engine in self._lent]]
        return self._run(given) if self._guard is None else self._guard.holding(self._step, given)

    def _step(self, given: list[Any]) -> tuple[Any, ...]:
        count, made = self._changed_count, self._made
        before = list(map(held_by, self.assigned))
        found: list[tuple[Any, ...]] = []
        try:
            for i in range(count):
                buffer, engine = before[i], made[i][0]
                if buffer is None or buffer.engine is not engine or buffer.wanted:  # by a run that failed
                    before[i] = self.assigned[i].buffer_on(engine)
            for i in self._leaving:
                before[i].shared = True
            if self._consumes:
                self._run([*given, *taken(before[:count])], into=found)
            else:
                spares = [self._spare(i, before[i]) for i in self._spares]
                results = self._run([*given, *[b.value for b in before[:count]], *spares])
                for i in self._open:
                    self.assigned[i].check_shape(Tensor(results[self._result_count + i], made[i][0]))
                found.append(results)
            self._commit(found[0], before)
        except BaseException:
            if found:
                self._commit(found[0], before)
            raise
        return found[0][: self._result_count]

    def _spare(self, number: int, before: Buffer | None) -> Any:
        """An array that the next value of a variable may be written into."""
        engine, variable = self._made[number][0], self.assigned[number]
        spare = None if before is None else before.spare_array(engine)
        return engine.empty(variable.shape, variable.dtype) if spare is None else spare

    def _commit(self, results: tuple[Any, ...], before: list[Any]) -> None:
        values = results[self._result_count :]
        buffers = [Buffer(value, engine, not owned) for value, (engine, owned) in zip(values, self._made, strict=True)]
        for number in self._spares:
            buffers[number].spare = before[number]
        put(self.assigned, buffers)
        for number in self._spares:
            if before[number] is not None:
                before[number].spare = None  # it is the new value

    def __str__(self) -> str:
        counts = {"segment": len(self.segments), "transfer": len(self._schedule.transfers)}
        parts = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count]
        parts += [f"assigns {', '.join(v.name for v in self.assigned)}"] if self.assigned else []
        first = f"plan of {self._name!r} on {self.engine.name}: {', '.join(parts)}"
        return "\n  ".join([first, *map(str, self._schedule.steps)])


def _shows(graph: Graph) -> bool:
    """Whether a program calls back to print, so that Python code runs while its results are on their way."""
    return any(op.type in SHOWN for part in (graph, *graph.subgraphs()) for op in part.operations)
