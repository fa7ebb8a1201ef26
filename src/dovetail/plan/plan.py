"""Plan: what is executed; a graph optimised for an engine and lowered to one function, with its variables.

`Plan(graph, engine)` copies the graph, runs the passes, lowers it and lets the engine compile it.  Calling it hands
over the arguments and the variables' arrays, and gives the variables their new buffers.

A run is done as a whole or not at all, whatever exception comes at whatever moment (Ctrl-C, another signal's, memory
that runs out): the variables that it assigns are all new or all old, and their guard is free.  An engine that consumes
arrays destroys the old ones before Python hears of the new; but what it returns lands in a list at once, and an
exception that comes then finds it there.  What is left: an engine that itself fails half-way (its memory runs out in
the middle of a program) has consumed the arrays for nothing, and reading such a variable raises `StaleValueError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.engine import Engine
from dovetail.core.locks import join
from dovetail.core.state import Buffer, held_by, put
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph
from dovetail.ops.control.plumbing import SHOWN
from dovetail.plan.lower import failed_operation, lower
from dovetail.plan.optimize import optimized_copy


class Plan:
    """A graph made ready to run on one engine.

    Args:
        graph: what to run; it is not changed.
        engine: where to run it.
        shapes: the shapes of the inputs, where the graph leaves some open and the engine needs to know.

    Attributes:
        graph: the optimised graph, with the composites inlined that the engine does not claim.
        variables: those it reads, in the order in which their arrays are passed.
        only_read: those it reads and does not assign, the first of them.
        assigned: those it assigns, in the order in which their new values are returned; first those it reads, too.
    """

    def __init__(self, graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None) -> None:
        self.engine = engine
        self.graph = optimized_copy(graph, engine, shapes)
        operations = self.graph.operations
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
        self._result_count = len(self.graph.outputs)
        inputs = [*self.graph.inputs, *(read[v] for v in self.variables)]
        self.program = lower(self.graph, engine, inputs, self.graph.outputs, states)
        self._owned = self.program.buffers.owned
        self._spares = self.program.spares
        self._changed_count = len(changed)
        first, second = len(self.graph.inputs), len(self.graph.inputs) + len(self.only_read)
        leaves = self.program.buffers.leaves
        self._leaving_read = [v for v, leaving in zip(self.only_read, leaves[first:], strict=False) if leaving]
        self._leaving = [i for i, leaving in enumerate(leaves[second:]) if leaving]
        self._consumes = engine.consumes and not self._open and not _shows(self.graph)
        donated = range(second, second + len(changed)) if self._consumes else ()
        self._run = engine.compile(self.program.function, tuple(donated), self.graph)
        self._guard = join(v.guard for v in self.assigned) if self.assigned else None

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs it on native arrays; the results are native arrays."""
        engine = self.engine
        if engine.refused is not None:
            engine.refused()
        if not self.variables and self._guard is None:
            return self._compute(arguments)
        for variable in self._leaving_read:
            variable.shared_buffer(engine)
        # Before it holds a guard: a thread holds one at a time.
        given = [*arguments, *[v.array_on(engine) for v in self.only_read]]
        return self._compute(given) if self._guard is None else self._guard.holding(self._step, given)

    def _step(self, given: list[Any]) -> tuple[Any, ...]:
        engine, count = self.engine, self._changed_count
        before = list(map(held_by, self.assigned))
        found: list[tuple[Any, ...]] = []
        try:
            for i in range(count):
                buffer = before[i]
                if buffer is None or buffer.engine is not engine or buffer.wanted:  # by a run that failed
                    before[i] = self.assigned[i].buffer_on(engine)
            for i in self._leaving:
                before[i].shared = True
            if self._consumes:
                self._compute([*given, *[b.taken() for b in before[:count]]], into=found)
            else:
                spares = [self._spare(i, before[i]) for i in self._spares]
                results = self._compute([*given, *[b.value for b in before[:count]], *spares])
                for i in self._open:
                    self.assigned[i].check_shape(Tensor(results[self._result_count + i], engine))
                found.append(results)
            self._commit(found[0], before)
        except BaseException:
            if found:
                self._commit(found[0], before)
            raise
        return found[0][: self._result_count]

    def _spare(self, number: int, before: Buffer | None) -> Any:
        """An array that the next value of a variable may be written into."""
        spare = None if before is None else before.spare_array(self.engine)
        variable = self.assigned[number]
        return self.engine.empty(variable.shape, variable.dtype) if spare is None else spare

    def _commit(self, results: tuple[Any, ...], before: list[Any]) -> None:
        engine = self.engine
        values = results[self._result_count :]
        buffers = [Buffer(value, engine, not owned) for value, owned in zip(values, self._owned, strict=True)]
        for number in self._spares:
            buffers[number].spare = before[number]
        put(self.assigned, buffers)
        for number in self._spares:
            if before[number] is not None:
                before[number].spare = None  # it is the new value

    def _compute(self, arguments: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        try:
            return self._run(*arguments, **options)
        except self.engine.errors as error:
            operation = failed_operation(error)
            if operation is None or getattr(error, "dovetail", False):
                raise
            raise operation.failure(error, self.engine.name) from error


def _shows(graph: Graph) -> bool:
    """Whether a program calls back to print, so that Python code runs while its results are on their way."""
    return any(op.type in SHOWN for part in (graph, *graph.subgraphs()) for op in part.operations)
