"""Inlining: replaces composites that an engine does not claim by the operations of their bodies."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dovetail import ops
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.trace import body_graph
from dovetail.graph.transplant import transplant


def inline_composites(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Inlines, to any depth, the composites that no engine claims.

    Args:
        graph: is edited.
        claimed: of an operation, the names of the ops that its engine claims.

    Returns:
        How many were inlined.
    """
    count = 0
    todo = [op for op in graph.operations if _is_open(op, claimed)]
    while todo:
        node = todo.pop()
        todo += [op for op in _expand(graph, node) if _is_open(op, claimed)]
        count += 1
    return count


def _is_open(op: Operation, claimed: Callable[[Operation], Collection[str]]) -> bool:
    return op.op.body is not None and op.type not in claimed(op)


def _expand(graph: Graph, node: Operation) -> list[Operation]:
    """Puts the body of a composite in its place; its operations, which are in the name scope that the composite was."""
    body = body_graph(node.op, node.args)
    with graph.replacing(node, f"{node.name}/"):
        copies = transplant(body.operations, graph, dict(zip(body.inputs, node.inputs, strict=True)))
        outputs = copies.of(body.outputs)
        if node.control_inputs:  # an output that is an input does not wait as the operations do
            given = set(node.inputs)
            outputs = [_identity(t) if t in given else t for t in outputs]
    graph.supersede(node, outputs)
    graph.discard([node])
    return list(copies.operations.values())


def _identity(tensor: GraphTensor) -> GraphTensor:
    same: Any = ops.identity(tensor)
    return same
