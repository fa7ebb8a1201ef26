"""Inlining: composites that an engine does not claim become the operations of their bodies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.errors import CONVENTIONAL, op_error
from dovetail.core.base.table import COMPOSITES
from dovetail.core.engine import Engine
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import transplant
from dovetail.graph.pass_edits import discard, supersede
from dovetail.passes.base import needs
from dovetail.trace.deferred import has_unknown_rank
from dovetail.trace.trace import body_graph


@needs(COMPOSITES)
def inline_composites(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Inline, to any depth, the composites that their engines do not claim.

    Args:
        graph: the graph to edit.
        claimed: (operation) → the names of the ops that its engine claims.

    Returns:
        The number of inlined composites.
    """
    count = 0
    todo = [op for op in graph.of_types(COMPOSITES) if _is_open(op, claimed)]
    while todo:
        node = todo.pop()
        todo += [op for op in _expand(graph, node) if _is_open(op, claimed)]
        count += 1
    return count


def waits_for_rank(op: Operation, engine: Engine) -> bool:
    """Whether a program runs the body of a composite on values, since the body needs a rank that depends on values."""
    if op.op.body is None or engine.eager is not None or not has_unknown_rank(op.inputs):
        return False
    try:
        body_graph(op.op, op.args)
    except CONVENTIONAL:
        return True
    return False


def rank_error(op: Operation) -> Exception:
    """The error for an operation that needs the rank of an input when its program is made."""
    unknown = next(t for t in op.inputs if t.shape is None)
    problem = f"the rank of {unknown.name!r} depends on the values of tensors, and must be known here."
    return op_error(ValueError, op.type, f"{problem} Give it with the_result.set_shape(shape).", where=op.where)


def _is_open(op: Operation, claimed: Callable[[Operation], Collection[str]]) -> bool:
    return op.op.body is not None and op.type not in claimed(op)


def _expand(graph: Graph, node: Operation) -> list[Operation]:
    """Replace a composite by its body; return the new operations."""
    outputs, operations = copy_for(node, body_of(node), node.inputs)
    supersede(graph, node, outputs)
    discard(graph, [node])
    return operations


def body_of(node: Operation) -> Graph:
    """The body of a composite, for its arguments."""
    try:
        return body_graph(node.op, node.args)
    except CONVENTIONAL as error:
        if has_unknown_rank(node.inputs):
            raise rank_error(node) from error
        raise


def copy_for(node: Operation, body: Graph, inputs: Sequence[GraphTensor]) -> tuple[list[GraphTensor], list[Operation]]:
    """Copy a graph to the place of an operation that it is to replace, into a name scope of the operation's name.

    Args:
        node: the operation.
        body: the graph to copy.
        inputs: tensors for the inputs of `body`.

    Returns:
        The tensors for the outputs of `body`, and the copies of its operations.
    """
    graph = node.graph
    with graph.replacing(node, f"{node.name}/"):
        copies = transplant(body.operations, graph, dict(zip(body.inputs, inputs, strict=True)))
        outputs = copies.of(body.outputs)
        if node.control_inputs:  # an output that is an input would not wait, unlike the operations
            given = set(inputs)
            outputs = [_identity(t) if t in given else t for t in outputs]
    return outputs, list(copies.operations.values())


def _identity(tensor: GraphTensor) -> GraphTensor:
    same: Any = ops.identity(tensor)
    return same
