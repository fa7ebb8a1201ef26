"""Resolving: waiting operations become the operations of their nodes, once enough is known of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import copy_graph
from dovetail.formats.nodes.waiting import FOR_ALL, WaitingOp, Waits
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.naming import name_new
from dovetail.graph.pass_edits import discard, supersede
from dovetail.passes.base import sweep
from dovetail.passes.constant_folding import folding


def waits(graph: Graph) -> bool:
    """Whether an operation of the graph, or of a graph inside it, waits."""
    if not WaitingOp.names:
        return False
    return not all(WaitingOp.names.isdisjoint(part.by_type) for part in graph.everywhere())


def resolve(
    graph: Graph, host: Mapping[str, Any] | None = None, grows: bool = True
) -> tuple[list[Operation], set[Any]]:
    """Replace the waiting operations of which enough is known.

    Constants and shapes flow forward through the graph on the way, and constants choose branches.

    Args:
        graph: the graph to edit.
        host: name of an input that is no tensor → its value.
        grows: whether constants may become larger ones.

    Returns:
        The operations that wait on, and the inputs of the graph whose values these need.

    Raises:
        TypeError: a node gives another dtype than was told when it was first read.
    """
    refined = {tensor for operation in graph for tensor in operation.outputs}
    fold, left, needed = folding(graph, refined, grows), list[Operation](), set[Any]()

    def visit(operation: Operation) -> int:
        if isinstance(operation.op, WaitingOp):
            try:
                refined.update(_read(graph, operation, host or {}))
            except Waits as error:
                left.append(operation)
                needed.update(error.needed)
            return 1
        changes = fold(operation)  # it tells the graphs inside what is known outside
        for part in () if operation.is_removed else filter(waits, operation.subgraphs()):
            left.extend(resolve(part, host, grows)[0])
            changes += fold(operation)
        return changes

    sweep(graph, visit)
    return left, needed


def resolve_wholly(graph: Graph, grows: bool = True) -> list[Operation]:
    """Do as `resolve`, then read what is left for all sizes and values; return the operations that wait on."""
    left, _ = resolve(graph, grows=grows)
    if left:
        with FOR_ALL.scope(True):
            left, _ = resolve(graph, grows=grows)
    return left


def resolved(graph: Graph, user: str) -> Graph:
    """The graph, or a copy of it in which no operation waits: what waits for sizes is read for all of them.

    Args:
        graph: is not changed.
        user: the function that needs it, for errors.

    Raises:
        ValueError: an operation needs a shape that is not known.
    """
    if not waits(graph):
        return graph
    copy = copy_graph(graph, own=True)
    if left := resolve_wholly(copy, grows=False):
        waiting: Any = left[0].op
        raise op_error(ValueError, user, f"{waiting.refusal(copy)}.")
    return copy


def _read(graph: Graph, operation: Operation, host: Mapping[str, Any]) -> list[GraphTensor]:
    op: Any = operation.op
    with all_or_nothing(), graph.replacing(operation, ""):
        results = op.read(list(operation.inputs), operation.name, host)
    for old, new in zip(operation.outputs, results, strict=True):
        if old.dtype != new.dtype:
            problem = f"it gives {new.spec!r}, and was read as {old.dtype}; give its file the right types."
            raise op_error(TypeError, operation.name, problem, where=operation.where)
    name = operation.name
    supersede(graph, operation, results)
    discard(graph, [operation])
    if results and results[0].op.name.startswith(name):
        name_new(graph, results[0].op, name)
    return results
