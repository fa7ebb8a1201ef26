"""Boxes: those with the best scores, without others that overlap them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import within
from dovetail.ops.shapes.shape import dims_of

# What a loop carries; and (numbers of boxes, (groups,), what it carries) → how each box overlaps them, (groups, boxes).
Overlap = tuple[tuple[Any, ...], Callable[..., Any]]


def overlap_of(boxes: Any) -> Overlap:
    """The intersection of boxes over their union, where boxes (groups, boxes, 4) have two corners."""
    low = ops.minimum(boxes[..., :2], boxes[..., 2:])
    high = ops.maximum(boxes[..., :2], boxes[..., 2:])
    areas = ops.prod(high - low, -1)

    def overlap(number: Any, low: Any, high: Any, areas: Any) -> Any:
        at = ops.reshape(number, [-1, 1])
        corners = [ops.take_along_axis(one, ops.expand_dims(at, -1), 1) for one in (low, high)]
        sides = ops.minimum(high, corners[1]) - ops.maximum(low, corners[0])
        shared = ops.prod(ops.maximum(sides, 0), -1)
        union = ops.take_along_axis(areas, at, 1) + areas - shared
        return ops.where(union > 0, shared / ops.where(union > 0, union, 1), 0)

    return (low, high, areas), overlap


def selected(
    scores: Any, overlap: Overlap, count: Any, threshold: Any, least: Any, sigma: Any = None
) -> tuple[Any, Any, Any]:
    """The numbers of the best boxes, each without boxes that overlap a better one.

    Args:
        scores: (groups, boxes).
        overlap: of `overlap_of`.
        count: the most boxes of a group.
        threshold: the overlap above which a box is left out, without sigma.
        least: the score above which a box is taken.
        sigma: if above 0, scores of boxes that overlap fall by exp(-overlap² / 2 sigma).

    Returns:
        The numbers, int32 (groups, count), 0 for none; their scores; and how many there are.
    """
    groups, size = dims_of(scores)
    within(size)
    within(count)
    every, places = ops.arange(size, dtype="int32"), ops.arange(count, dtype="int32")
    scale = 0 if sigma is None else ops.where(sigma > 0, -0.5 / ops.where(sigma > 0, sigma, 1), 0)
    is_soft = False if sigma is None else sigma > 0
    held, overlap_with = overlap  # held by the loop: boxes may be of a graph, and scores of a Keras model

    def step(i: Any, state: Any) -> Any:
        scores, numbers, values, *held = state
        best = ops.cast(ops.argmax(scores, -1), "int32")
        value = ops.max(scores, -1, keepdims=True)
        shared = overlap_with(best, *held)
        lowered = scores * ops.exp(scale * ops.square(shared))
        kept = ops.where(ops.logical_or(is_soft, shared <= threshold), lowered, -np.inf)
        kept = ops.where(ops.equal(scores, -np.inf), scores, kept)
        kept = ops.where(ops.equal(every, ops.expand_dims(best, -1)), -np.inf, kept)
        here = ops.logical_and(ops.equal(places, i), value > least)
        numbers = ops.where(here, ops.expand_dims(best, -1), numbers)
        return kept, numbers, ops.where(here, value, values), *held

    numbers = ops.full([groups, count], -1, "int32")
    values = ops.full([groups, count], -np.inf, scores.dtype)
    _, numbers, values, *_ = ops.fori_loop(0, count, step, (scores, numbers, values, *held))
    is_taken = numbers >= 0
    valid = ops.sum(ops.cast(is_taken, "int32"), -1)
    return ops.maximum(numbers, 0), ops.where(is_taken, values, 0), valid
