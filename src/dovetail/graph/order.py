"""Order: the program order of a graph's operations; comparing takes constant time, and inserting little more.

It is a doubly linked list whose members carry growing position numbers.  An insertion takes a number from the gap
between its neighbours.  If the gap is used up, the smallest thinly occupied range around it is numbered evenly again.
So n insertions take O(n log n) steps, at any places.

Source: Bender et al. 2002, "Two simplified algorithms for maintaining order in a list".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

_STEP = 1 << 40  # between the positions of appended operations
_DENSITY = 2 / 1.3  # a range of 2**i positions may hold fewer than _DENSITY**i operations
NOWHERE = -1  # the position of an operation that is in no graph


position: Callable[[Operation], int] = attrgetter("_position")  # its position in its graph, for sorting


def stands_before(operation: Operation) -> Callable[[Operation], bool]:
    """A test of whether an operation of the same graph stands before this one now."""
    earliest = operation._position
    return lambda other: other._position < earliest


class Order:
    """A sequence of operations, each of which knows its neighbours and its position."""

    __slots__ = ("_first", "_last")

    def __init__(self) -> None:
        self._first: Operation | None = None
        self._last: Operation | None = None

    def insert(self, op: Operation, before: Operation | None = None) -> None:
        """Insert an operation before another, or at the end."""
        previous = self._last if before is None else before._previous
        op._previous, op._next = previous, before
        if previous is None:
            self._first = op
        else:
            previous._next = op
        start = NOWHERE if previous is None else previous._position
        if before is None:
            self._last = op
            op._position = start + _STEP
        else:
            before._previous = op
            op._position = (start + before._position) // 2
            if op._position == start:
                _spread(op, before._position)

    def remove(self, op: Operation) -> None:
        """Remove an operation."""
        if op._previous is None:
            self._first = op._next
        else:
            op._previous._next = op._next
        if op._next is None:
            self._last = op._previous
        else:
            op._next._previous = op._previous
        op._previous = op._next = None
        op._position = NOWHERE

    def move(self, op: Operation, before: Operation | None) -> None:
        """Move an operation before another, or to the end."""
        self.remove(op)
        self.insert(op, before)

    def __iter__(self) -> Iterator[Operation]:
        """Iterate over the operations as they stand now; later changes of the order do not matter."""
        operations, op = [], self._first
        while op is not None:
            operations.append(op)
            op = op._next
        return iter(operations)


def _spread(op: Operation, position: int) -> None:
    """Make room for an operation without a position, right before the operation at this position."""
    op._position = position
    first = last = op
    count = bits = 1
    while True:
        low = position >> bits << bits
        while first._previous is not None and first._previous._position >= low:
            first, count = first._previous, count + 1
        while last._next is not None and last._next._position < low + (1 << bits):
            last, count = last._next, count + 1
        if count < _DENSITY**bits and count < 1 << (bits - 1):
            break
        bits += 1
    gap = (1 << bits) // count
    at: Operation | None = first
    for number in range(count):
        at._position = low + number * gap + gap // 2  # type: ignore[union-attr]  # there are `count` of them
        at = at._next  # type: ignore[union-attr]
