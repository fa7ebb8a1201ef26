"""Nodes of ragged and sparse tensors: rows of different lengths, with the places where they begin and end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dovetail.formats.opaque import Unreadable
from dovetail.formats.tensorflow.host.table import host

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


def _array(variants: list[Ragged], shape: Any) -> np.ndarray:
    """An array of variants, which other nodes move as they move strings."""
    found = np.empty(len(variants), object)
    found[:] = variants
    return found.reshape(shape)


def _part(splits: list[np.ndarray], values: np.ndarray, first: int, last: int) -> Ragged:
    """The rows from one to another."""
    parts = []
    for one in splits:
        part = one[first : last + 1]
        parts.append(part - part[0])
        first, last = part[0], part[-1]
    return Ragged(parts, values[first:last])


@host("RaggedTensorToVariant")
def _to_variant(node: Any, *parts: Any) -> Any:
    *splits, values = parts
    if not node.attrs("batched_input"):
        return _array([Ragged(splits, values)], ())
    if splits:
        rows = [_part(splits[1:], values, *row) for row in pairwise(splits[0].tolist())]
    else:
        rows = [Ragged([], row) for row in values]
    return _array(rows, [len(rows)])


@host("RaggedTensorFromVariant")
def _of_variant(node: Any, variants: Any) -> Any:
    dtype = node.attrs("Tsplits").numpy if "Tsplits" in node.attrs else np.dtype(np.int64)
    depth, kind = node.attrs("output_ragged_rank"), node.attrs("Tvalues")
    whole = np.asarray(variants)
    for number, one in enumerate(whole.reshape(-1)):
        if not isinstance(one, Ragged) or len(one.splits) != depth - whole.ndim:
            raise ValueError(f"its variant {number} is no ragged tensor of rank {depth - whole.ndim}.")
    if not whole.ndim:
        return [*(splits.astype(dtype) for splits in whole.item().splits), whole.item().values]
    return _stacked(whole, depth, dtype, np.empty(0, object if kind is None else kind.numpy))


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


@host("RaggedGather")
def _gather(node: Any, *parts: np.ndarray) -> Any:
    *splits, values, indices = parts
    depth = node.attrs("OUTPUT_RAGGED_RANK")
    if depth - len(splits) != indices.ndim - 1:
        raise Unreadable("its indices have another rank than its results")
    rows = [_part(splits[1:], values, splits[0][i], splits[0][i + 1]) for i in indices.reshape(-1).tolist()]
    return _stacked(_array(rows, indices.shape), depth, splits[0].dtype, values[:0])


@host("RaggedRange")
def _range(node: Any, starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray) -> Any:
    count = max(array.size if array.ndim else 1 for array in (starts, limits, deltas))
    bounds = np.broadcast_arrays(*(array.reshape(-1) for array in (starts, limits, deltas)), np.empty(count))[:3]
    rows = [np.arange(*bound) for bound in zip(*(bound.tolist() for bound in bounds), strict=True)]
    splits = node.attrs("Tsplits").numpy if "Tsplits" in node.attrs else np.dtype(np.int64)
    values = np.concatenate(rows) if rows else np.empty(0)
    return [np.cumsum([0, *map(len, rows)], dtype=splits), values.astype(starts.dtype)]


@host("RaggedTensorToSparse")
def _to_sparse(node: Any, *parts: np.ndarray) -> Any:
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


@host("RaggedTensorToTensor")
def _to_dense(node: Any, shape: np.ndarray, values: np.ndarray, default: np.ndarray, *partitions: np.ndarray) -> Any:
    kinds = node.attrs("row_partition_types")
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


@host("SparseToDense")
def _sparse_to_dense(node: Any, indices: np.ndarray, shape: np.ndarray, values: np.ndarray, fill: np.ndarray) -> Any:
    dense = zeros(shape.tolist(), values.dtype, fill.item())
    places = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if places.size and ((places < 0) | (places >= np.array(dense.shape))).any():
        raise ValueError(f"it has indices outside of the shape {dense.shape}.")
    dense[tuple(places.T)] = values
    return dense


@host("SparseFillEmptyRows")
def _fill_rows(node: Any, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, default: np.ndarray) -> Any:
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


@host("SparseReshape")
def _reshape(node: Any, indices: np.ndarray, shape: np.ndarray, wanted: np.ndarray) -> Any:
    old = [int(size) for size in shape]
    new = [int(size) for size in wanted]
    if -1 in new:
        new[new.index(-1)] = math.prod(old) // max(-math.prod(new), 1)
    if math.prod(new) != math.prod(old):
        raise ValueError(f"the shape {old} is not reshaped to {new}.")
    flat = np.ravel_multi_index(tuple(indices.T), old) if len(indices) else np.zeros(0, np.int64)
    places = np.stack(np.unravel_index(flat, new), axis=-1) if len(indices) else np.zeros((0, len(new)))
    return [places.astype(np.int64), np.array(new, np.int64)]
