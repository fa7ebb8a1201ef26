"""Cursor: where in a graph new operations are put."""

from __future__ import annotations

from dovetail.graph.operation import Operation
from dovetail.graph.order import Order, position


class Cursor:
    """Where new operations are put.

    Args:
        order: that of the graph.
        before: an operation that they stand before.
        behind: an operation that they stand right behind; if neither is given, at the end.

    Attributes:
        like: the operation that they take after; None for no other.
    """

    like: Operation | None = None

    def __init__(self, order: Order, before: Operation | None = None, behind: Operation | None = None) -> None:
        self.order = order
        self.before = before
        self.behind = behind
        self._follows = behind is not None

    def place(self, operation: Operation) -> Operation | None:
        """What to put a new operation before: what the cursor says, or the first where all that it needs is known."""
        before = self._before()
        needed = (*(t.op for t in operation.inputs), *operation.control_inputs)
        latest = max(needed, key=position, default=None)
        if latest is not None and before is not None and latest._position >= before._position:
            return latest._next
        if self._follows:
            self.behind = operation
        return before

    def _before(self) -> Operation | None:
        if not self._follows:
            return self.before
        return self.order._first if self.behind is None else self.behind._next

    def forget(self, operation: Operation) -> None:
        """An operation is taken out."""
        if self.before is operation:
            self.before = operation._next
        if self.behind is operation:
            self.behind = operation._previous


def scope_of(operation: Operation) -> str:
    """The name scope of an operation, with its slash."""
    head, slash, _ = operation.name.rpartition("/")
    return head + slash
