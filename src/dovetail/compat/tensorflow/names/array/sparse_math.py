"""TensorFlow's names for mathematics of sparse tensors: a row for each, with the function of their parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor, sparse_concatenate
from dovetail.compat.tensorflow.names.array.sparse import takes_values
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.table import constant_value, function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype

_reorder, _reshape, _fill = map(of_type, ("SparseReorder", "SparseReshape", "SparseFillEmptyRows"))


def _number(indices: Any, dims: Sequence[Any]) -> Any:
    """The place of each element among all elements of the dense tensor."""
    return functools.reduce(
        lambda found, axis: found * ops.cast(dims[axis], "int64") + indices[:, axis],
        range(len(dims)),
        ops.zeros_like(indices[:, 0]),
    )


def reordered(x: SparseTensor) -> SparseTensor:
    """The elements in row-major order."""
    indices, values = _reorder(x.indices, x.values, x.dense_shape)
    return SparseTensor(indices, values, x.dims)


def _retained(x: SparseTensor, to_retain: Any) -> SparseTensor:
    places = ops.positions(to_retain)[:, 0]
    return SparseTensor(ops.gather(x.indices, places), ops.gather(x.values, places), x.dims)


def _transposed(x: SparseTensor, perm: Any = None) -> SparseTensor:
    order = [*reversed(range(len(x.dims)))] if perm is None else [int(axis) for axis in perm]
    return reordered(SparseTensor(ops.gather(x.indices, order, 1), x.values, [x.dims[axis] for axis in order]))


def _reshaped(x: SparseTensor, shape: Any) -> SparseTensor:
    indices, dims = _reshape(x.indices, x.dense_shape, ops.cast(shape, "int64"))
    return SparseTensor(indices, x.values, dims)


def _softmax(x: SparseTensor) -> SparseTensor:
    """The softmax of the elements of each row along the last axis."""
    rows = ops.expand_dims(_number(x.indices, x.dims[:-1]), 1)
    count = functools.reduce(lambda a, b: a * b, x.dims[:-1])
    lowest = ops.full([count], -np.inf, x.dtype)
    highest = ops.stop_gradient(ops.tensor_scatter_max(lowest, rows, x.values))
    powers = ops.exp(ops.subtract(x.values, ops.gather_nd(highest, rows)))
    return SparseTensor(
        x.indices, ops.divide(powers, ops.gather_nd(ops.scatter_nd(rows, powers, [count]), rows)), x.dims
    )


def _sum(x: SparseTensor, axis: Any = None, keepdims: Any = None) -> Any:
    return ops.sum(K.to_dense(x), axis, bool(keepdims))


def _largest(x: SparseTensor, axis: Any = None, keepdims: Any = None) -> Any:
    """The largest element along axes; 0 where there is none."""
    there = ops.greater(K.to_dense(SparseTensor(x.indices, ops.ones_like(x.values), x.dims)), 0)
    known = ops.where(there, K.to_dense(x), as_dtype(x.dtype).min)
    largest = ops.max(known, axis, bool(keepdims))
    return ops.where(ops.any(there, axis, bool(keepdims)), largest, ops.zeros_like(largest))


def _grouped(reduce: Callable[[Any, Any, Any], Any]) -> Callable[..., SparseTensor]:
    """A reduction to a sparse tensor, by the function of the values, their groups, and the number of groups."""

    def reduced(x: SparseTensor, axis: Any = None, keepdims: Any = None) -> SparseTensor:
        rank = len(x.dims)
        axes = range(rank) if axis is None else {int(a) % rank for a in np.ravel(axis)}
        kept = [a for a in range(rank) if a not in axes]
        groups = ops.gather(x.indices, kept, 1) if kept else x.indices[:, :0]
        numbers, places, _ = ops.unique(_number(groups, [x.dims[a] for a in kept]))
        count, places = ops.shape(numbers)[:1], ops.reshape(places, [-1, 1])
        columns = x.indices * np.array([a in kept for a in range(rank)], "int64") if keepdims else groups
        dims = [x.dims[a] if a in kept else 1 for a in range(rank) if keepdims or a in kept]
        indices = ops.tensor_scatter_update(ops.zeros([count[0], len(dims)], "int64"), places, columns)
        made = SparseTensor(indices, reduce(x.values, places, count), dims)
        return reordered(made) if dims else made

    return reduced


def _sums_of_groups(values: Any, places: Any, count: Any) -> Any:
    return ops.scatter_nd(places, values, count)


def _largest_of_groups(values: Any, places: Any, count: Any) -> Any:
    return ops.tensor_scatter_max(ops.full(count, as_dtype(values.dtype).min, values.dtype), places, values)


def _of_extent(x: SparseTensor, new_shape: Any = None) -> SparseTensor:
    """A sparse tensor of another shape, with its elements at their places; by default of the smallest shape."""
    if new_shape is None:
        ends = ops.concatenate([x.indices + 1, ops.zeros([1, len(x.dims)], "int64")])
        return SparseTensor(x.indices, x.values, ops.max(ends, 0))
    return SparseTensor(x.indices, x.values, [int(n) for n in np.ravel(constant_value(new_shape))])


def _united(a: SparseTensor, b: SparseTensor) -> tuple[Any, Any, Any, Any]:
    """The places of the elements of both, the values of each there, and how many of the two have an element there."""
    both = ops.concatenate([a.indices, b.indices])
    numbers, places, counts = ops.unique(_number(both, a.dims))
    count, places = ops.shape(numbers)[:1], ops.reshape(places, [-1, 1])
    indices = ops.tensor_scatter_update(ops.zeros([count[0], len(a.dims)], "int64"), places, both)
    first = ops.shape(a.values)[0]
    own, its = (ops.scatter_nd(part, x.values, count) for part, x in ((places[:first], a), (places[first:], b)))
    return indices, own, its, counts


def _extreme(choose: Callable[..., Any]) -> Callable[..., SparseTensor]:
    def elementwise(a: SparseTensor, b: SparseTensor) -> SparseTensor:
        indices, own, its, _ = _united(a, b)
        return reordered(SparseTensor(indices, choose(own, its), a.dims))

    return elementwise


def _added(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum: sparse if both are; sums of two elements whose size is below the threshold are dropped."""
    if not (K.is_sparse(a) and K.is_sparse(b)):
        return ops.add(K.to_dense(a), K.to_dense(b))
    indices, own, its, counts = _united(a, b)
    values = ops.add(own, its)
    whole = SparseTensor(indices, values, a.dims)
    is_large = ops.greater_equal(ops.absolute(values), ops.cast(threshold, values.dtype))
    return _retained(whole, ops.logical_or(is_large, ops.equal(counts, 1))) if threshold else whole


def _sliced(x: SparseTensor, start: Sequence[Any], size: Sequence[Any]) -> SparseTensor:
    begin = ops.cast(start, "int64")
    ends = ops.minimum(begin + ops.cast(size, "int64"), ops.cast(ops.stack(list(x.dims)), "int64"))
    inside = ops.logical_and(ops.greater_equal(x.indices, begin), ops.less(x.indices, ends))
    kept = _retained(x, ops.all(inside, 1))
    return SparseTensor(kept.indices - begin, kept.values, ends - begin)


def _filled(x: SparseTensor, default_value: Any) -> tuple[SparseTensor, Any]:
    indices, values, is_empty, _ = _fill(x.indices, x.values, x.dense_shape, ops.cast(default_value, x.dtype))
    return SparseTensor(indices, values, x.dims), is_empty


def _indicator(x: SparseTensor, vocab_size: Any) -> Any:
    """Whether each row has each number."""
    places = ops.concatenate([x.indices[:, :-1], ops.expand_dims(ops.cast(x.values, "int64"), 1)], 1)
    return ops.greater(ops.scatter_nd(places, ops.ones_like(x.values, "int32"), [*x.dims[:-1], vocab_size]), 0)


def _expanded(x: SparseTensor, axis: int = -1) -> SparseTensor:
    place = axis % (len(x.dims) + 1)
    before, after = x.indices[:, :place], x.indices[:, place:]
    indices = ops.concatenate([before, ops.zeros_like(x.indices[:, :1]), after], 1)
    return SparseTensor(indices, x.values, [*x.dims[:place], 1, *x.dims[place:]])


def distance(first: Sequence[Any], second: Sequence[Any]) -> int:
    """The number of elements that are added, removed or replaced to make one sequence the other.

    Source: Levenshtein 1966, "Binary codes capable of correcting deletions, insertions, and reversals".
    """
    before = [*range(len(second) + 1)]
    for i, own in enumerate(first, 1):
        distances = [i]
        for j, its in enumerate(second, 1):
            distances.append(min(before[j] + 1, distances[-1] + 1, before[j - 1] + (own != its)))
        before = distances
    return before[-1]


def _edit_distance(hypothesis: SparseTensor, truth: SparseTensor, normalize: bool = True) -> Any:
    """The distance of the sequences along the last axis; normalised, it is divided by the true length."""

    def distances(*parts: np.ndarray) -> np.ndarray:
        by_place = np.zeros(np.maximum(parts[2], parts[5])[:-1], "float32")
        sequences = [_sequences(*parts[i : i + 2]) for i in (0, 3)]
        for place in np.ndindex(*by_place.shape):
            own, its = (known.get(place, []) for known in sequences)
            by_place[place] = distance(own, its)
            if normalize and by_place[place]:
                by_place[place] = by_place[place] / len(its) if its else np.inf
        return by_place

    given = [part for x in (hypothesis, truth) for part in (x.indices, x.values, x.dense_shape)]
    computed_distances = py_func(distances, given, "float32")
    ranks = {len(x.dims) for x in (hypothesis, truth) if isinstance(x.dims, tuple)}
    computed_distances.set_shape(truth.shape[:-1] if truth.shape.rank else [None] * (max(ranks) - 1) if ranks else None)
    return computed_distances


def _sequences(indices: np.ndarray, values: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    """The elements of each row along the last axis."""
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for place, element in zip(indices.tolist(), values.tolist(), strict=True):
        sequences.setdefault(tuple(place[:-1]), []).append(element)
    return sequences


def _concatenated(axis: int, sp_inputs: Sequence[Any]) -> SparseTensor:
    return sparse_concatenate(sp_inputs, int(axis))


@function("sparse.eye", scope=True)
def eye(num_rows: Any, num_columns: Any = None, dtype: Any = "float32", name: str | None = None) -> SparseTensor:
    """The identity matrix.

    Source: `tf.sparse.eye`.
    """
    columns = num_rows if num_columns is None else num_columns
    places = ops.arange(ops.minimum(num_rows, columns), dtype="int64")
    values = ops.ones_like(places, as_dtype(dtype))
    return SparseTensor(ops.stack([places, places], 1), values, [num_rows, columns])


@function("sparse.map_values")
@takes_values
def map_values(op: Any, *args: Any, **kwargs: Any) -> SparseTensor:
    """The result of a function of the elements of sparse tensors, which have elements at the same places.

    Args:
        op: the function; in place of each sparse tensor it gets the elements.

    Raises:
        ValueError: there is no sparse tensor among the arguments.

    Source: `tf.sparse.map_values`.
    """
    sparse = [x for x in (*args, *kwargs.values()) if K.is_sparse(x)]
    if not sparse:
        raise op_error(ValueError, "tf.sparse.map_values", "no argument is a sparse tensor: call the function itself.")
    values = [x.values if K.is_sparse(x) else x for x in args]
    named = {key: x.values if K.is_sparse(x) else x for key, x in kwargs.items()}
    return SparseTensor(sparse[0].indices, op(*values, **named), sparse[0].dims)


REDUCTION = "sp_input:x axis keepdims", "reduction_axes:axis keep_dims:keepdims"
ROWS: dict[str, tuple[Callable[..., Any], str, str]] = {  # names → function, words, more of TensorFlow 1
    "sparse.reorder sparse_reorder": (reordered, "sp_input:x", ""),
    "sparse.maximum sparse_maximum": (_extreme(ops.maximum), "sp_a:a sp_b:b", ""),
    "sparse.minimum sparse_minimum": (_extreme(ops.minimum), "sp_a:a sp_b:b", ""),
    "sparse.retain sparse_retain": (_retained, "sp_input:x to_retain", ""),
    "sparse.transpose sparse_transpose": (_transposed, "sp_input:x perm", ""),
    "sparse.reshape sparse_reshape": (_reshaped, "sp_input:x shape", ""),
    "sparse.softmax sparse_softmax": (_softmax, "sp_input:x", ""),
    "sparse.reduce_sum sparse_reduce_sum": (_sum, *REDUCTION),
    "sparse.reduce_max sparse_reduce_max": (_largest, *REDUCTION),
    "sparse_reduce_sum_sparse": (_grouped(_sums_of_groups), *REDUCTION),
    "sparse_reduce_max_sparse": (_grouped(_largest_of_groups), *REDUCTION),
    "sparse.reset_shape sparse_reset_shape": (_of_extent, "sp_input:x new_shape", ""),
    "sparse.add sparse_add": (_added, "a b threshold", "thresh:threshold"),
    "sparse.concat sparse_concat": (_concatenated, "axis sp_inputs", "concat_dim:axis"),
    "sparse.slice sparse_slice": (_sliced, "sp_input:x start size", ""),
    "sparse.fill_empty_rows sparse_fill_empty_rows": (_filled, "sp_input:x default_value", ""),
    "sparse.to_indicator sparse_to_indicator": (_indicator, "sp_input:x vocab_size", ""),
    "sparse.expand_dims": (_expanded, "sp_input:x axis", ""),
    "edit_distance": (_edit_distance, "hypothesis truth normalize", ""),
}
for _names, (_function, _words, _old) in ROWS.items():
    row(_names, takes_values(_function), _words, v1=f"+{_old}", scope=True, defers=False)


@function("sparse.split sparse_split", v1="keyword_required sp_input num_split axis name split_dim:axis", scope=True)
@takes_values
def split(sp_input: Any, num_split: int, axis: int, name: str | None = None) -> list[SparseTensor]:
    """Parts of a sparse tensor along an axis; the first ones have the rest of the division.

    Source: `tf.sparse.split`.
    """
    dims = list(sp_input.dims)
    size, rest = divmod(dims[axis], num_split)
    parts, start = [], 0
    for number in range(num_split):
        own = size + (number < rest)
        begin = [start if a == axis % len(dims) else 0 for a in range(len(dims))]
        extent = [own if a == axis % len(dims) else dim for a, dim in enumerate(dims)]
        parts.append(_sliced(sp_input, begin, extent))
        start += own
    return parts


@function("sparse_merge", "v1", scope=True)
@takes_values
def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """The values of a sparse tensor, at places along new last axes that other sparse tensors give.

    Args:
        sp_ids: the sparse tensor of the places, or a list of them.
        vocab_size: the size of the last axis, or the sizes of the last axes.

    Source: `tf.compat.v1.sparse_merge`.
    """
    ids = sp_ids if isinstance(sp_ids, list) else [sp_ids]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids) != len(sizes):
        problem = f"{len(ids)} sparse tensors of places need as many sizes, not {len(sizes)}."
        raise op_error(ValueError, "tf.sparse_merge", problem)
    last = [ops.expand_dims(ops.cast(each.values, "int64"), 1) for each in ids]
    indices = ops.concatenate([ids[0].indices[:, :-1], *last], 1)
    made = SparseTensor(indices, sp_values.values, [*ids[0].dims[:-1], *sizes])
    return made if already_sorted else reordered(made)
