"""Ownership by reference counts, which an interpreter may keep in another way."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.values.state import Arrays, Buffer, donate, held_elsewhere


def test_holders_are_counted_as_this_module_expects():
    """Each place that can hold an array counts once; a view holds its array."""
    one, listed, viewed, boxed = (np.zeros(2) for _ in range(4))
    others, view, buffer = [listed], viewed[:1], Arrays((boxed,))
    values = (np.zeros(2), one, listed, viewed, boxed)
    assert held_elsewhere(values) == [0, 1, 2, 2, 2]
    del one, listed, viewed, boxed, others, view
    assert held_elsewhere(values) == [0, 0, 0, 0, 1]
    assert buffer.values[0] is values[-1]


def test_an_argument_and_an_attribute_count():
    def inside(value, values):
        return held_elsewhere(values)

    values = [np.zeros(2)]
    assert inside(None, values) == [0]
    holder = threading.local()
    holder.array = values[0]
    assert inside(None, values) == [1]
    del holder
    assert inside(None, values) == [0]


@pytest.mark.parametrize("holder", ["nobody", "a variable", "a list", "a view"])
def test_an_array_is_consumed_if_nobody_else_has_it(holder):
    engine = get_engine("numpy")
    arrays = Arrays(tuple(np.full(2, float(n)) for n in range(2)), spares=(np.zeros(2), np.zeros(2)))
    buffers = [Buffer(arrays, number, engine, shared=False) for number in range(2)]
    ids = [id(array) for array in arrays.values]

    def consumed():
        """Whether the second array itself is given, in both ways; an `assert` would hold the lists."""
        found = id(donate(buffers)[1]), id(arrays.unborrowed([engine, engine])[1])
        return found == (ids[1], ids[1])

    held = {"a variable": lambda a: a, "a list": lambda a: [a], "a view": lambda a: a[:1]}.get(holder, lambda a: None)
    kept = held(arrays.values[1]), held(arrays.spares[1])
    expected = holder == "nobody"
    assert consumed() == expected
    assert [spare is None for spare in arrays.unborrowed_spares()] == [False, not expected]
    assert arrays.is_returned() == expected
    del kept
    assert consumed() and arrays.is_returned()


def test_what_others_may_know_is_copied():
    engine = get_engine("numpy")
    buffer = Buffer(Arrays((np.ones(2),)), 0, engine)  # shared
    (found,) = donate([buffer])
    assert found is not buffer.value and found.tolist() == [1, 1]
