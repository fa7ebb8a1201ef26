"""Sets: the last axis of a tensor has the elements of a set, and a result is a sparse tensor of sorted elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names.strings.tensors import STRING, computed, is_text
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of, static_shape


def _parts(given: Any) -> list[Any]:
    """A tensor alone, or the indices, the values and the shape of a sparse one."""
    if isinstance(given, SparseTensor):
        return [given.indices, given.values, given.dense_shape]
    return [given if is_text(given) else ops.convert(given)]


def _rank(title: str, parts: Sequence[Any]) -> int:
    """The rank of a tensor of sets."""
    rank = len(static_shape(parts[0])) if len(parts) == 1 else static_shape(parts[0])[1]
    if rank < 2:
        raise op_error(ValueError, title, f"sets need an axis for rows before the last one, not {rank} axes.")
    return rank


def _rows(parts: Sequence[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The shape without the last axis, and the sorted set of each row."""
    if len(parts) == 1:
        (array,) = parts
        flat = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])
        return array.shape[:-1], [np.unique(row) for row in flat]
    indices, values, shape = parts
    leading = tuple(int(dim) for dim in shape[:-1])
    places = np.ravel_multi_index(tuple(indices[:, :-1].T), leading) if leading else np.zeros(len(values), int)
    return leading, [np.unique(values[places == place]) for place in range(int(np.prod(leading)))]


def _sparse(title: str, given: Sequence[Any], combine: Callable[..., np.ndarray], name: str | None) -> SparseTensor:
    """The sparse tensor of the sets that a function makes of the sets of two tensors."""
    parts = [_parts(each) for each in given]
    values = [each[1 if len(each) == 3 else 0] for each in parts]
    kinds = [STRING if is_text(each) else dtype_of(each) for each in values]
    if kinds[0] != kinds[1]:
        raise op_error(TypeError, title, f"both tensors need one dtype, not {kinds[0]} and {kinds[1]}.")
    rank = max(_rank(title, each) for each in parts)

    def combined(*arrays: np.ndarray) -> list[np.ndarray]:
        count = len(parts[0])
        (leading, first), (others, second) = _rows(arrays[:count]), _rows(arrays[count:])
        if leading != others:
            raise ValueError(f"{title}: the axes before the last must be equal, not {leading} and {others}.")
        rows = [combine(a, b) for a, b in zip(first, second, strict=True)]
        places = [(*np.unravel_index(i, leading), k) for i, row in enumerate(rows) for k in range(len(row))]
        longest = max(map(len, rows), default=0)
        flat = np.concatenate(rows) if rows else np.unique(arrays[1 if count == 3 else 0])
        return [np.array(places, "int64").reshape(-1, len(leading) + 1), flat, np.array([*leading, longest], "int64")]

    shapes = [(None, rank), (None,), (rank,)]
    return SparseTensor(*computed(combined, [*parts[0], *parts[1]], ["int64", kinds[0], "int64"], shapes, name))


@function("sets.intersection sets.set_intersection")
def intersection(a: Any, b: Any, validate_indices: bool = True, name: str | None = None) -> SparseTensor:
    """The elements that two sets share, for each row.

    Args:
        a, b: tensors or sparse tensors of integers or strings, of two axes or more.  Only their last axes may differ.

    Returns:
        A sparse tensor; its last axis is as long as the largest set.

    Source: `tf.sets.intersection`.
    """
    return _sparse("tf.sets.intersection", [a, b], np.intersect1d, name)


@function("sets.union sets.set_union")
def union(a: Any, b: Any, validate_indices: bool = True, name: str | None = None) -> SparseTensor:
    """The elements of two sets, for each row; see `intersection`.

    Source: `tf.sets.union`.
    """
    return _sparse("tf.sets.union", [a, b], np.union1d, name)


@function("sets.difference sets.set_difference")
def difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True, name: str | None = None
) -> SparseTensor:
    """The elements of one set that the other one lacks, for each row; see `intersection`.

    Args:
        aminusb: whether to take the elements of `a` that `b` lacks, or the other way round.

    Source: `tf.sets.difference`.
    """
    return _sparse("tf.sets.difference", [a, b] if aminusb else [b, a], np.setdiff1d, name)


@function("sets.size sets.set_size")
def size(a: Any, validate_indices: bool = True, name: str | None = None) -> Any:
    """The number of elements of the set of each row, int32; `a` is a sparse tensor.

    Source: `tf.sets.size`.
    """
    parts = _parts(a)
    shape = (None,) * (_rank("tf.sets.size", parts) - 1)

    def sizes(*arrays: np.ndarray) -> np.ndarray:
        leading, rows = _rows(arrays)
        return np.array([len(row) for row in rows], "int32").reshape(leading)

    return computed(sizes, parts, ["int32"], [shape], name)[0]
