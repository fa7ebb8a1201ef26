"""Sorting, searching and counting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.calls.static_types import with_ints
from keras_dovetail.src.dtypes import as_tensor, floating, promoted, result_type
from keras_dovetail.src.ops.calls import of_tensor

sort = of_tensor(ops.sort)


def argsort(x: Any, axis: int | None = -1) -> Any:
    x = as_tensor(x)
    return ops.cast(ops.argsort(x, axis if len(x.shape) else None), "int32")


def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    return argsort(x, axis)


def searchsorted(sorted_sequence: Any, values: Any, side: Any = "left") -> Any:
    sequence, values = promoted(sorted_sequence, values)
    if len(sequence.shape) != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` "
            f"to extend it to N-D sequences. Received: sorted_sequence.shape={tuple(sequence.shape)}"
        )
    return ops.cast(ops.searchsorted(sequence, values, side), "int32")


def digitize(x: Any, bins: Any) -> Any:
    return searchsorted(bins, x, "right")


def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    x1, x2 = promoted(x1, x2)
    is_member = ops.any(x1[..., None] == ops.ravel(x2), -1)
    return ops.logical_not(is_member) if invert else is_member


def nonzero(x: Any) -> Any:
    return tuple(ops.cast(i, "int32") for i in ops.nonzero(as_tensor(x)))


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    if sparse:
        raise ValueError("bincount: there are no sparse tensors on Dovetail; leave out sparse=True.")
    x = as_tensor(x)
    dtype = "int32" if weights is None else result_type(x, as_tensor(weights))
    if len(x.shape) == 1:
        return as_tensor(ops.bincount(x, weights, minlength), dtype)
    length = max(int(ops.max(x)) + 1, minlength)
    rows = x.shape[0]
    apart = ops.ravel(x + ops.arange(rows, dtype=x.dtype)[:, None] * length)  # each row has its own range of numbers
    weights = None if weights is None else ops.ravel(as_tensor(weights))
    return as_tensor(ops.reshape(ops.bincount(apart, weights, length=rows * length), (rows, length)), dtype)


def histogram(x: Any, bins: Any = 10, range: Any = None) -> Any:
    x, bins = floating(ops.ravel(as_tensor(x))), with_ints(bins)
    edges = _edges(x, bins, range) if isinstance(bins, int) else as_tensor(bins, x.dtype)
    place = ops.searchsorted(edges, x, "right") - 1
    count = edges.shape[0] - 1
    place = ops.where(x == edges[-1], ops.full_like(place, count - 1), place)  # the last bin is closed
    return ops.bincount(place, length=count), edges


def _edges(x: Any, bins: int, bounds: Any) -> Any:
    low, high = (ops.min(x), ops.max(x)) if bounds is None else (as_tensor(b, x.dtype) for b in bounds)
    equal = low == high
    return ops.linspace(ops.where(equal, low - 0.5, low), ops.where(equal, high + 0.5, high), bins + 1)


def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    x = as_tensor(x)
    at = 0 if axis is None else axis
    rows = ops.reshape(x, (-1,)) if axis is None else ops.moveaxis(x, axis, 0)
    first, inverse, counts = _different(ops.reshape(rows, (rows.shape[0], math.prod(rows.shape[1:]))))
    values = ops.moveaxis(ops.take(rows, first, 0), 0, at)
    values, first, counts = (
        _sized(v, size, fill, a) for v, fill, a in ((values, fill_value or 0, at), (first, 1, 0), (counts, 0, 0))
    )
    if return_inverse and axis is None:
        inverse = ops.reshape(inverse, x.shape)
    wanted = [(True, values), (return_index, first), (return_inverse, inverse), (return_counts, counts)]
    parts = tuple(value for want, value in wanted if want)
    return parts[0] if len(parts) == 1 else parts


def _different(rows: Any) -> tuple[Any, Any, Any]:
    """The distinct rows in ascending order: the first index of each, the number of each row among them, their counts.

    A row with a NaN differs from all others.
    """
    order = ops.arange(rows.shape[0])
    for column in reversed(ops.unstack(rows, axis=1)):  # the first column decides: it sorts last, and keeps the order
        order = ops.take(order, ops.argsort(ops.take(column, order)))
    ordered = ops.take(rows, order, 0)
    is_new = ops.any(ordered[1:] != ordered[:-1], -1)
    is_first = ops.concatenate([ops.ones_like(order[:1], "bool"), is_new])
    starts = ops.cast(ops.nonzero(is_first)[0], "int32")
    number = ops.cumsum(ops.cast(is_first, "int32")) - 1
    inverse = ops.tensor_scatter_update(ops.zeros_like(order), order[:, None], number)
    return ops.take(order, starts), inverse, ops.concatenate([starts[1:], [rows.shape[0]]]) - starts


def _sized(x: Any, size: int | None, fill: Any, axis: int) -> Any:
    """The tensor, cut or padded to a size along an axis."""
    if size is None:
        return x
    axis %= len(x.shape)
    x = x[(slice(None),) * axis + (slice(0, size),)]
    widths = np.zeros((len(x.shape), 2), int)
    widths[axis, 1] = size - x.shape[axis]
    return ops.pad(x, widths.tolist(), "constant", fill)
