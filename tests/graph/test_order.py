"""The order of operations: positions grow along it, at any place of insertion."""

import numpy as np
import pytest

from dovetail.graph.order import NOWHERE, Order


class Node:
    """The attributes of an operation that an order reads."""

    def __init__(self):
        self._position, self._previous, self._next = NOWHERE, None, None


def check(order, expected):
    found = list(order)
    assert found == expected
    positions = [node._position for node in found]
    assert all(a < b for a, b in zip([NOWHERE, *positions], positions, strict=False))


@pytest.mark.parametrize("place", ["start", "before one", "after one", "end", "anywhere"])
def test_positions_grow_d(rng, place):
    order, expected = Order(), []
    for number in range(3_000):
        where = {"start": 0, "before one": number - 1, "after one": 1, "end": number}.get(
            place, rng.integers(number + 1)
        )
        where = min(max(where, 0), number)
        node = Node()
        order.insert(node, expected[where] if where < number else None)
        expected.insert(where, node)
    check(order, expected)


def test_removed_and_moved(rng):
    order, expected = Order(), [Node() for _ in range(50)]
    for node in expected:
        order.insert(node)
    for _ in range(200):
        node = expected.pop(rng.integers(50))
        where = rng.integers(50)
        order.move(node, expected[where] if where < 49 else None)
        expected.insert(where, node)
    check(order, expected)
    gone = expected.pop(7)
    order.remove(gone)
    assert gone._position == NOWHERE
    check(order, expected)


def test_an_insertion_into_a_gap_moves_nothing_else():
    order, nodes = Order(), [Node() for _ in range(4)]
    for node in nodes:
        order.insert(node)
    before = [node._position for node in nodes]
    for node in [nodes[0], nodes[1], nodes[1], nodes[3], None]:
        order.insert(Node(), node)
    assert [node._position for node in nodes] == before


def test_positions_stay_small():
    """Check that many insertions at one place leave positions in the range of a machine word."""
    order, end = Order(), Node()
    order.insert(Node())
    order.insert(end)
    for _ in range(3_000):
        order.insert(Node(), end)
    assert max(node._position for node in order) < 1 << 63


def test_few_positions_change_per_insertion():
    """Check that n insertions at one place renumber O(n log n) operations."""
    changes = []

    class Counted(Node):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            changes.append(name)

    order, end, count = Order(), Counted(), 3_000
    order.insert(Counted())
    order.insert(end)
    changes.clear()
    for _ in range(count):
        order.insert(Counted(), end)
    assert changes.count("_position") < 2 * count * np.log2(count)


def test_members_know_their_neighbours():
    order, (a, b, c) = Order(), (Node() for _ in "abc")
    for node in (a, b, c):
        order.insert(node)
    order.remove(b)
    assert (a._next, c._previous, b._next, b._previous) == (c, a, None, None)
    order.remove(a)
    assert c._previous is None
    order.move(c, None)
    order.insert(a)
    order.remove(a)
    assert c._next is None
    check(order, [c])
    order.remove(c)
    assert list(order) == []
    order.insert(b)
    check(order, [b])
