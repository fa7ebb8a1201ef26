"""Segment: a subgraph on one engine and device, compiled to one executable.

It is pure: native arrays in, native arrays out, the new values of variables among them.  Who gives it the arrays of
variables, and who gets the new ones, is the plan's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from dovetail.core.devices import placed_on
from dovetail.core.engine import Engine
from dovetail.core.errors import op_error
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.ops.control.plumbing import NOT_COMPUTED
from dovetail.passes.composites import rank_error, waits_for_rank
from dovetail.passes.specialize import check_static
from dovetail.plan.buffers import plan_buffers
from dovetail.plan.lower import BodyFunctions, Lowered, failed_operation, lower
from dovetail.plan.placement import Place
from dovetail.trace.deferred import has_unknown_rank


class Segment:
    """A graph for one place.

    Args:
        graph: what it computes, with only ops that the engine claims; no operation reads or assigns a variable.
        place: where it is computed.
        states: how many of the graph's outputs, the last ones, are new values of variables.
        donated: the numbers of the inputs whose arrays the executable may consume; more may be added before it is made.
        bodies: what makes functions of the branches and bodies of its one operation, where Python is to run that.

    Attributes:
        graph, place, donated, bodies: as given.
        buffers: where its operations write.

    Raises:
        NotImplementedError: the engine does not claim an op.
        ValueError: the engine needs every shape, and one depends on values.
    """

    def __init__(
        self,
        graph: Graph,
        place: Place,
        states: int = 0,
        donated: Sequence[int] = (),
        bodies: BodyFunctions | None = None,
    ) -> None:
        engine = place.engine
        if bodies is None:
            _check_claimed(graph, engine)
        if engine.static_shapes:
            check_static(graph, engine.name)
        self.graph = graph
        self.place = place
        self.donated = tuple(donated)
        self.bodies = bodies
        results = len(graph.outputs) - states
        outputs, new = graph.outputs[:results], graph.outputs[results:]
        compiled = engine.compiles_programs and bodies is None
        self.buffers = plan_buffers(graph.operations, engine, graph.inputs, outputs, new, compiled)

    @property
    def engine(self) -> Engine:
        return self.place.engine

    @property
    def device(self) -> str | None:
        """The engine's, on which its arrays are; see `Place`."""
        return self.place.device

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of those that are preferred; see `Place`."""
        return self.place.variants

    @property
    def inputs(self) -> list[GraphTensor]:
        return self.graph.inputs

    @property
    def outputs(self) -> list[GraphTensor]:
        return self.graph.outputs

    @cached_property
    def lowered(self) -> Lowered:
        """The graph as a straight-line function that calls the engine's rules."""
        return lower(self.graph, self.place, self.buffers, self.bodies)

    @cached_property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """(input arrays, and for each of `buffers.spare_numbers` an array to write into) → tuple of output arrays.

        Where an operation writes over inputs, it takes a list `into`, see `Engine.compile`.
        """
        function = self.lowered.function
        return function if self.device is None else placed_on(self.engine, self.device)(function)

    @cached_property
    def executable(self) -> Callable[..., tuple[Any, ...]]:
        """What the engine makes of it."""
        return self.engine.compile(self) if self.bodies is None else self.function

    def prepare(self) -> None:
        """Does beforehand what would take long at the first call."""
        getattr(self.executable, "prepare", lambda: None)()

    def run(self, arguments: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        """Calls the executable; what the library says of an operation is told with its name and the user's line."""
        try:
            return self.executable(*arguments, **options)
        except self.engine.errors as error:
            operation = failed_operation(error)
            if operation is None or getattr(error, "dovetail", False):
                raise
            if self.engine.compiles_programs and has_unknown_rank(operation.inputs):
                raise rank_error(operation) from error
            raise operation.failure(error, self.engine.name) from error


def _check_claimed(graph: Graph, engine: Engine) -> None:
    for part in (graph, *graph.subgraphs()):
        for op in part.operations:
            is_claimed = op.type in NOT_COMPUTED or op.type in engine.claimed_with(op)
            if not is_claimed and not waits_for_rank(op, engine):
                raise op_error(NotImplementedError, op.type, op.op.no_rule(engine.name), where=op.where)
