"""Recompute groups: operations that gradients compute again, together, instead of keeping their results.

A mark on an operation says which group it is in.  Copies of a group's operations that are made together are a new
group.
`autodiff.recomputed` computes groups again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from dovetail.ops.control.plumbing import PRINTS, STRUCTURAL

if TYPE_CHECKING:
    from dovetail.graph.operation import GraphTensor, Operation


class RecomputeGroup:
    """A group of operations that are computed again together; each operation refers to its group."""


def mark(operations: Iterable[Operation], group: RecomputeGroup | None) -> list[Operation]:
    """Make operations a group, except ones that compute nothing or show something; None keeps their results again.

    Returns:
        The operations that were marked.
    """
    marked = list(filter(computes, operations))
    for operation in marked:
        _set(operation, group)
    return marked


def computes(operation: Operation) -> bool:
    """Whether an operation can be computed once more without any effect."""
    return operation.type not in STRUCTURAL and operation.type not in PRINTS


def _set(operation: Operation, group: RecomputeGroup | None) -> None:
    before, operation.recompute_group = operation.recompute_group, group
    operation.graph.edited(partial(_set, operation, before))


def by_group(operations: Iterable[Operation]) -> dict[RecomputeGroup, list[Operation]]:
    """The operations of each group, in the order given."""
    groups: dict[RecomputeGroup, list[Operation]] = {}
    for operation in operations:
        if operation.recompute_group is not None:
            groups.setdefault(operation.recompute_group, []).append(operation)
    return groups


def taken_by(operations: Iterable[Operation]) -> list[GraphTensor]:
    """The tensors that operations take from other operations."""
    own = set(operations)
    return list(dict.fromkeys(t for op in own for t in op.inputs if t.op not in own))
