"""Plan: what is executed; a graph optimised for an engine and lowered to one function, with its variables.

`Plan(graph, engine)` copies the graph, runs the passes, lowers it and lets the engine compile it.  Calling it hands
over the arguments and the variables' buffers, and puts the variables' new buffers in place: all of them, or, if the
call fails before the engine has taken the buffers, none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engines.base import Engine
from dovetail.errors import conventional, op_error
from dovetail.graph.ir import Graph
from dovetail.plan.interrupts import InterruptsWait
from dovetail.plan.lower import failed_operation, lower
from dovetail.plan.optimize import optimized_copy
from dovetail.tensor import Tensor


class Plan:
    """A graph made ready to run on one engine.

    Args:
        graph: what to run; it is not changed.
        engine: where to run it.
        shapes: the shapes of the inputs, where the graph leaves some open and the engine needs to know.

    Attributes:
        graph: the optimised graph, with the composites inlined that the engine does not claim.
        variables: those it reads or assigns, in the order in which their buffers are passed.
        assigned: those it assigns.
    """

    def __init__(self, graph: Graph, engine: Engine, shapes: Sequence[tuple[int, ...]] | None = None) -> None:
        self.engine = engine
        self.graph = optimized_copy(graph, engine, shapes)
        operations = self.graph.operations
        reads = {op.attrs["variable"]: op.outputs[0] for op in operations if op.type == "ReadVariableOp"}
        writes = {op.attrs["variable"]: op.inputs[0] for op in operations if op.type == "AssignVariableOp"}
        self.variables = list(reads)
        self.assigned = list(writes)
        for variable, value in writes.items():
            variable.check_shape(value)
        self._open = [i for i, value in enumerate(writes.values()) if not value.spec.is_static]  # to be checked later
        self._result_count = len(self.graph.outputs)
        inputs = [*self.graph.inputs, *reads.values()]
        self.program = lower(self.graph, engine, inputs, self.graph.outputs, list(writes.values()))
        self._owned = self.program.buffers.owned
        self._reads = [(v, v in writes and engine.consumes) for v in self.variables]
        self._consumes = any(consume for _, consume in self._reads)
        self._spares = [self.assigned[i] for i in self.program.spares]
        self._locked = sorted(self.assigned, key=lambda v: v.number)  # one order for all threads
        first = len(self.graph.inputs)
        donate = tuple(first + i for i, (_, consume) in enumerate(self._reads) if consume)
        self._run = engine.compile(self.program.function, donate, self.graph)

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs it on native arrays; the results are native arrays."""
        if not self.variables and not self.assigned:
            return self._compute(arguments)
        for variable in self._locked:
            variable.lock.acquire()
        try:
            if not self._consumes:
                return self._run_with_state(arguments)
            with InterruptsWait():
                return self._run_with_state(arguments)
        finally:
            for variable in self._locked:
                variable.lock.release()

    def _compute(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return self._run(*arguments)
        except Exception as error:
            operation = failed_operation(error)
            if operation is None or getattr(error, "dovetail", False):
                raise
            problem = f"{self.engine.name} says: {error}."
            raise op_error(conventional(error), operation.type, problem, where=operation.where) from error

    def _run_with_state(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        engine = self.engine
        buffers: list[Any] = []
        try:
            for variable, consume in self._reads:
                buffers.append(variable.lend_buffer(engine, consume))
            results = self._compute([*arguments, *buffers, *(v.spare_buffer(engine) for v in self._spares)])
            for number in self._open:
                self.assigned[number].check_shape(Tensor(results[self._result_count + number], engine))
        except BaseException:
            for variable in self.assigned:
                variable.keep_buffer()
            raise
        finally:
            for variable, _ in self._reads[: len(buffers)]:
                variable.return_buffer()
        for variable, value, owned in zip(self.assigned, results[self._result_count :], self._owned, strict=True):
            variable.replace_buffer(Tensor(value, engine), owned)
        return results[: self._result_count]
