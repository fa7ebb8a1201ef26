"""Cursor: the place in a graph for new operations."""

from __future__ import annotations

from dovetail.graph.operation import Operation
from dovetail.graph.order import Order, position


class Cursor:
    """A place for new operations.

    Args:
        order: the order of the graph's operations.
        before: the operation that they precede.
        behind: the operation that they directly follow; if neither is given, they go to the end.

    Attributes:
        like: the operation whose properties they copy; None if there is none.
    """

    like: Operation | None = None

    def __init__(self, order: Order, before: Operation | None = None, behind: Operation | None = None) -> None:
        self.order = order
        self.before = before
        self.behind = behind
        self._follows = behind is not None

    def place(self, operation: Operation) -> Operation | None:
        """The operation to put a new one before: the cursor's, or the first one behind all inputs; None for the end."""
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
        """Leave an operation that is being removed."""
        if self.before is operation:
            self.before = operation._next
        if self.behind is operation:
            self.behind = operation._previous


def scope_of(operation: Operation) -> str:
    """The name scope of an operation, with its slash."""
    head, slash, _ = operation.name.rpartition("/")
    return head + slash
