"""Ragged and sparse tensors: rows of different lengths, with the places where they begin and end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.formats.host.arrays import numpy_dtype, packed, splits_of
from dovetail.formats.nodes.opaque import Unreadable

MOST = 2**28  # elements of a dense array that a node may ask for


def zeros(shape: Any, dtype: Any, fill: Any = None) -> np.ndarray:
    """An array that is filled with a value: 0, or the empty string.

    Raises:
        ValueError: it would be too large.
    """
    shape = [int(size) for size in shape]
    if math.prod(shape) > MOST:
        raise ValueError(f"it makes an array of the shape {shape}; at most {MOST} elements are made here.")
    empty = b"" if np.dtype(dtype) == object else 0
    return np.full(shape, empty if fill is None else fill, dtype)


# -- ragged -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ragged:
    """A ragged tensor in a variant: its splits, those of the outermost rows first, and its values."""

    splits: list[np.ndarray]
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.splits[0]) - 1 if self.splits else len(self.values)


def _part(splits: list[np.ndarray], values: np.ndarray, first: int, last: int) -> Ragged:
    """The rows from one to another."""
    parts = []
    for one in splits:
        part = one[first : last + 1]
        parts.append(part - part[0])
        first, last = part[0], part[-1]
    return Ragged(parts, values[first:last])


def to_variant(*parts: Any, batched_input: bool) -> np.ndarray:
    """A ragged tensor as a variant, which other functions move as they move strings.

    Args:
        parts: the splits, those of the outermost rows first, and the values.
        batched_input: whether each row becomes a variant.
    """
    *splits, values = parts
    if not batched_input:
        return packed([Ragged(splits, values)], shape=())
    if splits:
        rows = [_part(splits[1:], values, *row) for row in pairwise(splits[0].tolist())]
    else:
        rows = [Ragged([], row) for row in values]
    return packed(rows)


def of_variants(variants: Any, *, output_ragged_rank: int, Tvalues: Any, Tsplits: Any = None) -> list[np.ndarray]:
    """The splits and the values of variants.

    Args:
        variants: one, or an array of them, whose axes become the outermost rows.
        output_ragged_rank: the number of splits.
        Tvalues: the dtype of the values; None stands for strings.
        Tsplits: of the splits; int64, if not given.

    Raises:
        ValueError: a variant is no ragged tensor of this rank.
    """
    dtype = _splits_dtype(Tsplits)
    whole = np.asarray(variants)
    for number, one in enumerate(whole.reshape(-1)):
        if not isinstance(one, Ragged) or len(one.splits) != output_ragged_rank - whole.ndim:
            raise ValueError(f"its variant {number} is no ragged tensor of rank {output_ragged_rank - whole.ndim}.")
    if not whole.ndim:
        return [*(splits.astype(dtype) for splits in whole.item().splits), whole.item().values]
    return _stacked(whole, output_ragged_rank, dtype, np.empty(0, numpy_dtype(Tvalues)))


def _splits_dtype(given: Any) -> Any:
    return np.dtype(np.int64) if given is None else given.numpy


def _stacked(variants: np.ndarray, depth: int, dtype: Any, none: np.ndarray) -> list[np.ndarray]:
    """The splits and the values of one ragged tensor of variants.

    Args:
        variants: the variants, with one axis or several.
        depth: the number of splits of the result.
        dtype: of its splits.
        none: its values if there are no variants.
    """
    rows, sizes = variants.reshape(-1).tolist(), variants.shape
    axes = range(1, len(sizes))
    around = [np.arange(math.prod(sizes[:axis]) + 1, dtype=dtype) * dtype.type(sizes[axis]) for axis in axes]
    inner = [_joined_splits([row.splits[level] for row in rows], dtype) for level in range(depth - len(sizes))]
    values = np.concatenate([row.values for row in rows]) if rows else none
    return [*around, np.cumsum([0, *map(len, rows)], dtype=dtype), *inner, values]


def _joined_splits(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.cumsum(np.concatenate([[0], *map(np.diff, parts)]), dtype=dtype)


def gather(*parts: np.ndarray, OUTPUT_RAGGED_RANK: int) -> list[np.ndarray]:
    """The rows at some indices, as splits and values.

    Args:
        parts: the splits, the values and the indices.
        OUTPUT_RAGGED_RANK: the number of splits of the result.

    Raises:
        Unreadable: the indices have another rank than it says.
    """
    *splits, values, indices = parts
    if OUTPUT_RAGGED_RANK - len(splits) != indices.ndim - 1:
        raise Unreadable("its indices have another rank than its results")
    rows = [_part(splits[1:], values, splits[0][i], splits[0][i + 1]) for i in indices.reshape(-1).tolist()]
    return _stacked(packed(rows, shape=indices.shape), OUTPUT_RAGGED_RANK, splits[0].dtype, values[:0])


def ranges(starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray, *, Tsplits: Any = None) -> list[np.ndarray]:
    """Rows of numbers from starts to limits, in steps, as splits and values.

    Example:
        >>> [part.tolist() for part in ranges(np.array([0, 5]), np.array(8), np.array(3))]
        [[0, 3, 4], [0, 3, 6, 5]]
    """
    count = max(array.size if array.ndim else 1 for array in (starts, limits, deltas))
    bounds = np.broadcast_arrays(*(array.reshape(-1) for array in (starts, limits, deltas)), np.empty(count))[:3]
    rows = [np.arange(*bound) for bound in zip(*(bound.tolist() for bound in bounds), strict=True)]
    values = np.concatenate(rows) if rows else np.empty(0)
    return [splits_of(rows, Tsplits), values.astype(starts.dtype)]


def to_sparse(*parts: np.ndarray) -> list[np.ndarray]:
    """Splits and values as indices, values and shape of a sparse tensor."""
    *splits, values = parts
    lengths = [np.diff(one) for one in splits]
    shape = [len(lengths[0]), *(int(length.max(initial=0)) for length in lengths), *values.shape[1:]]
    return [_places(splits, values), values.reshape(-1), np.array(shape, np.int64)]


def _places(splits: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """For each element of the values, its indices in a dense array."""
    places = np.arange(len(splits[0]) - 1).reshape(-1, 1)
    for one in splits:
        lengths = np.diff(one)
        within = np.arange(one[-1]) - np.repeat(one[:-1], lengths)
        places = np.column_stack([np.repeat(places, lengths, axis=0), within])
    inner = np.argwhere(np.ones(values.shape[1:], bool))
    count = len(inner)
    return np.column_stack([np.repeat(places, count, axis=0), np.tile(inner, (len(places), 1))]).astype(np.int64)


def to_dense(
    shape: np.ndarray,
    values: np.ndarray,
    default: np.ndarray,
    *partitions: np.ndarray,
    row_partition_types: Sequence[str],
) -> np.ndarray:
    """A ragged tensor as a dense one.

    Args:
        shape: of the result; -1 for dimensions as large as needed.
        values: the values of all rows.
        default: stands where a row is too short.
        partitions: the rows, as `row_partition_types` says.
        row_partition_types: "ROW_SPLITS" of each dimension, or "FIRST_DIM_SIZE" and "VALUE_ROWIDS" of the others.

    Raises:
        Unreadable: the rows are given in another way.
    """
    kinds = row_partition_types
    splits = [part if kind == "ROW_SPLITS" else None for part, kind in zip(partitions, kinds, strict=True)]
    if kinds[0] == "FIRST_DIM_SIZE":
        counts = [int(partitions[0])]
        for rows in partitions[1:]:
            splits[len(counts)] = np.searchsorted(rows, np.arange(counts[-1] + 1))
            counts.append(len(rows))
        splits = splits[1:]
    known = [one for one in splits if one is not None]
    if len(known) != len(splits):
        raise Unreadable(f"its rows are given as {', '.join(kinds)}")
    sizes = [len(known[0]) - 1, *(int(np.diff(one).max(initial=0)) for one in known), *values.shape[1:]]
    wanted = [-1] * len(sizes) if not shape.ndim or not shape.size else shape.tolist()
    sizes = [size if want < 0 else want for size, want in zip(sizes, wanted, strict=True)]
    dense = zeros(sizes, values.dtype)
    dense[...] = default
    places = _places(known, values)
    inside = (places < np.array(sizes)).all(axis=1)
    dense[tuple(places[inside].T)] = values.reshape(-1)[inside]
    return dense


# -- sparse -----------------------------------------------------------------------------------------------------------


def dense_of_sparse(indices: np.ndarray, shape: np.ndarray, values: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """A sparse tensor as a dense one.

    Raises:
        ValueError: an index is outside of the shape.
    """
    dense = zeros(shape.tolist(), values.dtype, fill.item())
    places = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if places.size and ((places < 0) | (places >= np.array(dense.shape))).any():
        raise ValueError(f"it has indices outside of the shape {dense.shape}.")
    dense[tuple(places.T)] = values
    return dense


def fill_empty_rows(
    indices: np.ndarray, values: np.ndarray, shape: np.ndarray, default: np.ndarray
) -> list[np.ndarray]:
    """A sparse tensor with a default in rows without a value.

    Returns:
        Its indices and values, whether each row was empty, and the new places of the old values.
    """
    rows = indices[:, 0]
    empty = np.setdiff1d(np.arange(int(shape[0])), rows)
    added = np.zeros((len(empty), indices.shape[1]), np.int64)
    added[:, 0] = empty
    order = np.argsort(np.concatenate([rows, empty]), kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    filled = np.concatenate([values, np.full(len(empty), default.item(), values.dtype)])
    is_empty = np.isin(np.arange(int(shape[0])), empty)
    return [np.concatenate([indices, added])[order], filled[order], is_empty, back[: len(rows)]]


def reshape_sparse(indices: np.ndarray, shape: np.ndarray, wanted: np.ndarray) -> list[np.ndarray]:
    """The indices of a sparse tensor in another shape, and this shape; -1 is the dimension that is left.

    Raises:
        ValueError: the shapes have not as many elements.
    """
    old = [int(size) for size in shape]
    new = [int(size) for size in wanted]
    if -1 in new:
        new[new.index(-1)] = math.prod(old) // max(-math.prod(new), 1)
    if math.prod(new) != math.prod(old):
        raise ValueError(f"the shape {old} is not reshaped to {new}.")
    flat = np.ravel_multi_index(tuple(indices.T), old) if len(indices) else np.zeros(0, np.int64)
    places = np.stack(np.unravel_index(flat, new), axis=-1) if len(indices) else np.zeros((0, len(new)))
    return [places.astype(np.int64), np.array(new, np.int64)]
