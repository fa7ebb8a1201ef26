"""Claims: the question whether engines can run a graph, which is asked before anything is lowered or compiled."""

from __future__ import annotations

from dovetail.core.base.errors import op_error
from dovetail.core.engine import Engine
from dovetail.edit.graph import Graph, Operation
from dovetail.execute.placement import Place, is_divided, place_of
from dovetail.ops.control.plumbing import STRUCTURAL
from dovetail.passes.composites import waits_for_rank


class NotClaimed(NotImplementedError):
    """The error of a graph with an operation that its engine does not claim.

    Attributes:
        engine: the engine.
    """

    engine: Engine


def require_claimed(graph: Graph, home: Place) -> None:
    """Ask the engines of a graph's operations whether they claim them.

    Args:
        graph: an optimised graph, or a subgraph of one.
        home: the plan's place.

    Raises:
        NotClaimed: an engine does not.
    """
    for part in graph.everywhere():
        for operation in part.operations:
            if operation.type not in STRUCTURAL:
                _require(operation, home)


def _require(operation: Operation, home: Place) -> None:
    engine = place_of(operation, home).engine
    problem = _problem(operation, engine)
    if problem and not is_divided(operation, home):  # Python runs a divided one
        error = op_error(NotClaimed, operation.type, problem, where=operation.where)
        error.engine = engine  # type: ignore[attr-defined]
        raise error


def _problem(operation: Operation, engine: Engine) -> str:
    """The reason why an engine does not claim an operation; "" if it does."""
    if operation.type in engine.claims(operation):
        values = (*operation.inputs, *operation.outputs)
        if engine.eager is None or not engine.static_shapes or all(t.spec.is_static for t in values):
            return ""
        return f"the engine {engine.name!r} compiles only programs of known shapes, and a shape depends on values."
    if waits_for_rank(operation, engine):
        return ""
    if engine.eager is not None:
        given = ", ".join(repr(t.spec) for t in operation.inputs) if operation.type in engine.claimed else ""
        return f"the engine {engine.name!r} does not compile it{f' for {given}' if given else ''}."
    return operation.op.no_rule(engine.name)
