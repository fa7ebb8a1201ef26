"""Sampling of images between their pixels."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, is_float, result_type
from keras_dovetail.src.ops.calls import Function
from keras_dovetail.src.ops.image.layout import checked_choice

ORDERS = {"nearest": 0, "bilinear": 1}


def _reflected(i: Any, size: int) -> Any:
    """… 1 0 | 0 1 2 | 2 1 …"""
    i = ops.mod(i, 2 * size)
    return ops.minimum(i, 2 * size - 1 - i)


def _mirrored(i: Any, size: int) -> Any:
    """… 2 1 | 0 1 2 | 1 0 …"""
    if size == 1:
        return ops.zeros_like(i)
    i = ops.mod(i, 2 * (size - 1))
    return ops.minimum(i, 2 * (size - 1) - i)


def _clipped(i: Any, size: int) -> Any:
    return ops.clip(i, 0, size - 1)


INSIDE: dict[str, Function] = {  # (index, size) → the index of the element to use
    "constant": _clipped,
    "nearest": _clipped,
    "wrap": ops.mod,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def sampled(
    rows: Any, sizes: Sequence[int], coordinates: Sequence[Any], order: int, mode: str, fill: Any, first: Any = 0
) -> Any:
    """The values at positions between the elements of an array.

    Args:
        rows: the elements in a row, (n,) or (n, channels).
        sizes: the shape of the array.
        coordinates: the positions along each of its axes, all of one shape.
        order: 0 for the nearest element, 1 for a mean of the surrounding elements.
        mode: the source of values outside, a key of `INSIDE`.
        fill: the value outside, if the mode is "constant".
        first: the index in the rows at which the array begins.
    """
    corners = [_corners(c, order) for c in coordinates]
    total: Any = None
    for chosen in itertools.product(*corners):
        indices = [index for index, _ in chosen]
        weight = functools.reduce(operator.mul, [part for _, part in chosen])
        moved = [INSIDE[mode](index, size) for index, size in zip(indices, sizes, strict=True)]
        values = ops.take(rows, first + _flat(moved, sizes), 0)
        channels = len(rows.shape) - 1
        if mode == "constant":
            within = [index == at for index, at in zip(indices, moved, strict=True)]
            inside = _over(functools.reduce(ops.logical_and, within), channels)
            values = ops.where(inside, values, as_tensor(fill, values.dtype))
        weight = _over(weight, channels)
        total = values * weight if total is None else total + values * weight
    return total


def _over(x: Any, channels: int) -> Any:
    """Add an axis for the channels, if there are any."""
    return ops.expand_dims(x, -1) if channels else x


def _flat(indices: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The indices of elements in the flattened array."""
    return sum(index * math.prod(sizes[axis + 1 :]) for axis, index in enumerate(indices))


def _corners(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The elements that count along an axis, and their weights."""
    if order == 0:
        return [(ops.cast(ops.floor(coordinate + 0.5), "int32"), ops.ones_like(coordinate))]
    below = ops.floor(coordinate)
    part, index = coordinate - below, ops.cast(below, "int32")
    return [(index, 1 - part), (index + 1, part)]


def rounded_as(x: Any, dtype: Any) -> Any:
    """Floats in another dtype; they are rounded for integers."""
    return as_tensor(x if "float" in str(dtype) else ops.round(x), dtype)


def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0.0
) -> Any:
    inputs = as_tensor(inputs)
    coordinates = as_tensor(coordinates)
    if coordinates.shape[0] != len(inputs.shape):
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs with shape: "
            f"{tuple(inputs.shape)} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if len(coordinates.shape) < 2:
        raise ValueError(
            f"Invalid coordinates rank: expected at least rank 2. Received input with shape: {tuple(coordinates.shape)}"
        )
    checked_choice("fill_mode", fill_mode, INSIDE)
    checked_choice("order", order, [0, 1])
    dtype = result_type(inputs, "float32") if is_float(inputs) else "float32"
    rows = ops.reshape(as_tensor(inputs, dtype), (-1,))
    places = ops.unstack(as_tensor(coordinates, dtype))
    return rounded_as(sampled(rows, inputs.shape, places, order, fill_mode, fill_value), inputs.dtype)
