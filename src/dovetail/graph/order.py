"""Order: the program order of a graph's operations, in which inserting, removing and comparing take constant time.

A doubly linked list whose members carry growing position numbers with wide gaps between them; an insertion takes a
number from the gap, and pushes its neighbours a little where the gap is used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

_STEP = 1 << 40  # between the positions of appended operations
_PUSH = 1 << 16  # between positions where a gap was used up


class Order:
    """Operations in order; each knows its neighbours and its position."""

    __slots__ = ("_first", "_last")

    def __init__(self) -> None:
        self._first: Operation | None = None
        self._last: Operation | None = None

    def insert(self, op: Operation, before: Operation | None = None) -> None:
        """Puts an operation in front of another, or at the end."""
        previous = self._last if before is None else before._previous
        op._previous, op._next = previous, before
        start = 0 if previous is None else previous._position
        if previous is None:
            self._first = op
        else:
            previous._next = op
        if before is None:
            self._last = op
            op._position = start + _STEP
        else:
            before._previous = op
            op._position = (start + before._position) // 2
            if op._position == start:
                self._push(op, start)

    def _push(self, op: Operation | None, position: int) -> None:
        while op is not None and op._position <= position:
            position += _PUSH
            op._position = position
            op = op._next

    def remove(self, op: Operation) -> None:
        """Takes an operation out."""
        if op._previous is None:
            self._first = op._next
        else:
            op._previous._next = op._next
        if op._next is None:
            self._last = op._previous
        else:
            op._next._previous = op._previous

    def move(self, op: Operation, before: Operation) -> None:
        """Puts an operation elsewhere."""
        self.remove(op)
        self.insert(op, before)

    def __iter__(self) -> Iterator[Operation]:
        op = self._first
        while op is not None:
            yield op
            op = op._next
