"""Index: the operations of a graph by type, and the operations that passes have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.graph.base import GraphBase
    from dovetail.graph.operation import Operation


def note_type(graph: GraphBase, operation: Operation) -> None:
    """Add an operation to `by_type`."""
    graph.by_type.setdefault(operation.type, {})[operation] = None


def forget_type(graph: GraphBase, operation: Operation) -> None:
    """Undo `note_type`."""
    alike = graph.by_type[operation.type]
    del alike[operation]
    if not alike:
        del graph.by_type[operation.type]


def note_change(graph: GraphBase, operation: Operation) -> None:
    """Note, while passes ask for it, that an operation is new, or has other inputs or outputs."""
    if graph.changed_ops is not None:
        graph.changed_ops.append(operation)
