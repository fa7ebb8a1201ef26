"""Rows of NumPy's arrays: when plans use them, and that steps write over no array that somebody holds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.engines import rows

SHAPES = [(4, 5), (300, 40), (), (0, 2), (7,)] * 4


@pytest.fixture
def made(monkeypatch):
    """The number of arrays in each new row."""
    found = []
    make = rows.new_row
    monkeypatch.setattr(rows, "new_row", lambda arrays: found.append(len(arrays)) or make(arrays))
    return found


def trained(slots):
    """A step of gradient descent on variables whose gradients are ones."""

    @dt.function
    def train():
        gradients = [ops.ones_like(slot.value) for slot in slots]
        for slot, value in zip(slots, ops.sgd_step([s.value for s in slots], gradients, [], 1.0), strict=True):
            slot.assign(value)

    return train


def test_who_holds_a_view_of_a_part_holds_the_part():
    """Check reference counts, by which plans know that they do not own an array alone.

    NumPy would make the memory itself the base of a view.
    """
    part, other = rows.new_row([np.zeros((4, 5), "float32"), np.zeros(3, "float32")])
    counts = sys.getrefcount(part), sys.getrefcount(other)
    views = [part[1:], part.reshape(-1)[2:], part.T, part.view("int32")]
    assert all(view.base is part for view in views)
    assert sys.getrefcount(part) == counts[0] + len(views)
    assert sys.getrefcount(other) == counts[1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_lie_one_after_the_other(dtype):
    parts = rows.new_row([np.zeros(shape, dtype) for shape in SHAPES])
    row = rows.in_row(parts)
    row[:] = np.arange(row.size) % 1000
    assert [part.shape for part in parts] == SHAPES
    np.testing.assert_array_equal(np.concatenate(parts, axis=None), row)


def test_only_all_parts_in_their_order_are_a_row():
    parts = rows.new_row([np.zeros(2), np.zeros(2)])
    others = rows.new_row([np.zeros(2), np.zeros(2)])
    assert rows.in_row(parts) is not None
    for given in (parts[::-1], parts[:1], [*parts, parts[0]], [parts[0], others[1]], [parts[0], np.zeros(2)]):
        assert rows.in_row(given) is None
    assert rows.in_row([parts[0][:], parts[1]]) is None  # a view is another array


def test_steps_go_on_in_two_rows(made):
    with dt.engine("numpy"):
        slots = [dt.Variable(np.zeros(shape, "float32")) for shape in SHAPES]
        train = trained(slots)
        for _ in range(3):
            train()
        del made[:]
        for _ in range(4):
            train()
    assert made == []
    assert [float(np.sum(slot.numpy())) for slot in slots] == [-7.0 * np.prod(shape) for shape in SHAPES]


def test_held_parts_are_not_written_over(made):
    """Check parts of any step, held by any view; the values of the other parts are right, too."""
    held = []
    with dt.engine("numpy"):
        slots = [dt.Variable(np.zeros(shape, "float32")) for shape in SHAPES]
        train = trained(slots)
        for number in range(12):
            train()
            if number % 5 != 4:
                array = slots[number % 2].numpy()[1:]
                held.append((array, array.copy()))
            for slot in slots:
                assert np.all(slot.value.numpy() == -1.0 - number)
    assert made
    for array, copy in held:
        np.testing.assert_array_equal(array, copy)


def test_variables_that_are_assigned_between_steps():
    with dt.engine("numpy"):
        slots = [dt.Variable(np.zeros(shape, "float32")) for shape in SHAPES]
        train, other = trained(slots), trained(slots[::-1])
        for number in range(8):
            train()
            slots[number % 2].assign(slots[number % 2].value + 1.0)
            other()
    after = [float(np.min(slot.numpy(), initial=9)) for slot in slots]
    assert after == [-12.0, -12.0, -16.0, 9.0, *[-16.0, -16.0, -16.0, -16.0, 9.0] * 3, -16.0]


@pytest.mark.parametrize(
    ("shapes", "is_one"),
    [
        ([(rows.SMALL,)] * rows.MANY, True),
        ([(rows.SMALL,)] * (rows.MANY - 1), False),
        ([(rows.SMALL,)] * (rows.MANY - 1) + [(rows.SMALL + 1,)], False),
        ([(rows.BLOCK + 1,)], True),
        ([(rows.BLOCK,)], False),
        ([(None,)] * rows.MANY, False),
    ],
)
@pytest.mark.parametrize(("step", "count"), [(ops.adam_step, 4), (ops.sgd_step, 3)])
def test_programs_take_the_rule_where_it_is_faster(step, count, shapes, is_one):
    """Check the choice of the rule, and that it gives the same bits as single operations."""
    function = dt.function(lambda *given: step(*given, 0.1))
    specs = [[dt.spec(shape) for shape in shapes]] * count
    plan = function.concrete(*specs).plan(get_engine("numpy"))
    types = [op.type for op in plan.segments[0].graph.operations]
    assert types.count(step.name) == is_one
    assert ("Mul" in types) != is_one
    random = np.random.default_rng(0)
    shapes = [[5 if dim is None else dim for dim in shape] for shape in shapes]
    given = [[random.uniform(0.1, 1, shape).astype("float32") for shape in shapes] for _ in range(count)]
    with dt.engine("numpy"):
        for eager, compiled in zip(step(*given, 0.1), function(*given), strict=True):
            np.testing.assert_array_equal(eager.numpy(), compiled.numpy())


def test_other_engines_take_parts_over(engine):
    """Check that other engines take over parts, whose addresses are less aligned than their libraries' own."""
    with dt.engine("numpy"):
        slots = [dt.Variable(np.full(size, size, "float32")) for size in (1, 3, 64, 5, 2000) * 4]
        trained(slots)()
    for _ in range(3):
        trained(slots)()
    with dt.engine(engine):
        products = [ops.matmul(ops.reshape(slot.value, (1, -1)), ops.ones((slot.shape[0], 2))) for slot in slots]
    for slot, product in zip(slots, products, strict=True):
        size = slot.shape[0]
        np.testing.assert_array_equal(slot.numpy(), np.full(size, size - 4.0))
        np.testing.assert_array_equal(product.numpy(), np.full((1, 2), size * (size - 4.0)))
