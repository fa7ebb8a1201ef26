"""Inlining: replaces composites that an engine does not claim by the operations of their bodies."""

from __future__ import annotations

from collections.abc import Collection

from dovetail.graph.copying import copy_into
from dovetail.graph.ir import Graph, Operation
from dovetail.graph.trace import body_graph


def inline_composites(graph: Graph, claimed: Collection[str]) -> int:
    """Inlines, to any depth, the composites whose names are not claimed.

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


def _is_open(op: Operation, claimed: Collection[str]) -> bool:
    return op.op.body is not None and op.type not in claimed


def _expand(graph: Graph, node: Operation) -> list[Operation]:
    added: list[Operation] = []

    def keep(copy: Operation) -> None:
        copy.where, copy.overrides = node.where, node.overrides
        added.append(copy)

    with graph.insert_before(node):
        outputs = copy_into(body_graph(node.op, node.args), graph, node.inputs, keep)
    for old, new in zip(node.outputs, outputs, strict=True):
        graph.rewire(old, new)
    graph.discard([node])
    return added
