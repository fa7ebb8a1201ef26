"""Gradients of a function by its arguments: of values, and in a graph."""

from __future__ import annotations

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.through import gradients_through


def product(x, y, unused):
    return [x * y, x + 1]


def test_of_values_and_in_a_graph(engine: str):
    given = ops.constant([2.0, 3.0]), ops.constant([4.0, 5.0]), ops.constant([0.0, 0.0])
    arriving = [ops.constant([1.0, 1.0]), ops.constant([10.0, 20.0])]

    def by_x_and_y(*xs):
        by_x, by_y, by_unused = gradients_through(product, xs, arriving)
        assert by_unused is None
        return by_x, by_y

    for found in (by_x_and_y(*given), dt.function(by_x_and_y)(*given)):
        assert [one.numpy().tolist() for one in found] == [[14.0, 25.0], [2.0, 3.0]]
