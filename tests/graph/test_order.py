"""The order of operations: positions grow along it, wherever operations are put."""

import pytest

from dovetail.graph.order import NOWHERE, Order


class Node:
    """As much of an operation as an order looks at."""

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
