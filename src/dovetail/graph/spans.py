"""Spans: operations that gradients compute again, together, instead of keeping their results.

A mark on an operation says which span it is in.  Copies of a span's operations that are made together are a new span.
`autodiff.recomputed` computes spans again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from dovetail.ops.control.plumbing import NOT_COMPUTED, SHOWN

if TYPE_CHECKING:
    from dovetail.graph.operation import GraphTensor, Operation


class Span:
    """A group of operations that are computed again together; each operation refers to its span."""


def mark(operations: Iterable[Operation], span: Span | None) -> list[Operation]:
    """Make operations a span, except ones that compute nothing or show something; None keeps their results again.

    Returns:
        The operations that were marked.
    """
    found = list(filter(computes, operations))
    for operation in found:
        _set(operation, span)
    return found


def computes(operation: Operation) -> bool:
    """Whether an operation can be computed once more without any effect."""
    return operation.type not in NOT_COMPUTED and operation.type not in SHOWN


def _set(operation: Operation, span: Span | None) -> None:
    before, operation.span = operation.span, span
    operation.graph.edited(partial(_set, operation, before))


def by_span(operations: Iterable[Operation]) -> dict[Span, list[Operation]]:
    """The operations of each span, in the order given."""
    found: dict[Span, list[Operation]] = {}
    for operation in operations:
        if operation.span is not None:
            found.setdefault(operation.span, []).append(operation)
    return found


def taken_by(operations: Iterable[Operation]) -> list[GraphTensor]:
    """The tensors that operations take from other operations."""
    own = set(operations)
    return list(dict.fromkeys(t for op in own for t in op.inputs if t.op not in own))
