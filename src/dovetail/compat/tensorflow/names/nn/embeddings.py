"""TensorFlow's names for lookups of rows in tables, by numbers and by sparse numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names.variables.partitions import PartitionedVariable
from dovetail.compat.tensorflow.table import row
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, partition_strategy: str = "div") -> Any:
    """Rows of a table, which may come in parts.

    Args:
        partition_strategy: "div" if each part has consecutive rows, "mod" if each of n parts has every n-th row.

    Source: `tf.nn.embedding_lookup`.
    """
    params = list(params) if isinstance(params, PartitionedVariable) else params
    if isinstance(params, (list, tuple)):
        if partition_strategy not in ("mod", "div"):
            problem = f"the partition_strategy is mod or div, not {partition_strategy!r}."
            raise op_error(ValueError, "tf.nn.embedding_lookup", problem)
        if partition_strategy == "mod" and len(params) > 1:
            ids = _row_of(params, ops.convert(ids))
        params = ops.concatenate(list(params), 0) if len(params) > 1 else params[0]
    rows = ops.gather(params, ids)
    if max_norm is not None:
        axes = list(range(len(static_shape(ops.convert(ids))), len(static_shape(rows))))
        norm = ops.sqrt(ops.sum(ops.square(rows), axes, True))
        rows = ops.multiply(rows, ops.divide(max_norm, ops.maximum(norm, max_norm)))
    return rows


def _row_of(parts: Sequence[Any], ids: Any) -> Any:
    """The row numbers in the concatenated parts, if part i of n has the rows i, i + n, i + 2n, ..."""
    sizes = [dims_of(ops.convert(part))[0] for part in parts]
    starts = ops.cast(ops.stack([0, *itertools.accumulate(sizes[:-1])]), ids.dtype)
    return ops.add(ops.gather(starts, ops.mod(ids, len(parts))), ops.floor_divide(ids, len(parts)))


row(
    "nn.embedding_lookup",
    embedding_lookup,
    "params ids max_norm",
    v1="params ids partition_strategy='mod' name validate_indices max_norm",
)

# -- sparse lookups ---------------------------------------------------------------------------------------------------

# combiner → the numbers of the weights that are summed up, and the divisor by their sum
COMBINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (lambda weights: ops.zeros_like(weights), lambda total: ops.ones_like(total)),
    "mean": (lambda weights: weights, lambda total: total),
    "sqrtn": (lambda weights: ops.square(weights), lambda total: ops.sqrt(total)),
}


def _lookup(
    title: str, params: Any, sp_ids: Any, weights: Any, combiner: str | None, max_norm: Any, strategy: str
) -> Any:
    """The rows of a table, combined for each row of sparse ids, and a function that sums up numbers of the ids."""
    if combiner not in (None, *COMBINERS):
        raise op_error(ValueError, f"tf.{title}", f"the combiner is {', '.join(COMBINERS)}, not {combiner!r}.")
    rows = embedding_lookup(params, sp_ids.values, max_norm, strategy)
    inner = dims_of(rows)[1:]

    def wide(x: Any) -> Any:
        return ops.reshape(x, [-1, *[1] * len(inner)])

    def total(x: Any) -> Any:
        return ops.tensor_scatter_add(ops.zeros([sp_ids.dims[0], *dims_of(x)[1:]], x.dtype), sp_ids.indices[:, :1], x)

    summed, divisor = COMBINERS[combiner or "mean"]
    weights = ops.ones_like(sp_ids.values, rows.dtype) if weights is None else ops.cast(weights, rows.dtype)
    below = divisor(total(wide(summed(weights))))
    result = ops.divide(total(ops.multiply(rows, wide(weights))), ops.where(ops.equal(below, 0), 1.0, below))
    return result, lambda x: total(wide(ops.cast(x, rows.dtype)))


def _embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    partition_strategy: str = "div",
) -> Any:
    """Rows of a table, combined for each row of sparse ids.

    Args:
        combiner: "sum", "mean" by weights, the default, or "sqrtn": the sum over the root of the weights' squares.

    Source: `tf.nn.embedding_lookup_sparse`.
    """
    weights = None if sp_weights is None else sp_weights.values
    return _lookup("nn.embedding_lookup_sparse", params, sp_ids, weights, combiner, max_norm, partition_strategy)[0]


row(
    "nn.embedding_lookup_sparse",
    _embedding_lookup_sparse,
    "params sp_ids sp_weights combiner max_norm",
    v1="params sp_ids sp_weights partition_strategy='mod' name combiner max_norm",
)


def _safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    partition_strategy: str = "div",
) -> Any:
    """Rows of a table, combined for each row of sparse ids.

    Negative ids count nothing, nor do weights that are not positive.

    Args:
        default_id: the id of rows without others; by default, these give zeros.

    Source: `tf.nn.safe_embedding_lookup_sparse`.
    """
    ids, title = sparse_ids.values, "nn.safe_embedding_lookup_sparse"
    given = ops.ones_like(ids, "float32") if sparse_weights is None else sparse_weights.values
    is_kept = ops.greater_equal(ids, 0)
    if combiner != "sum":
        is_kept = ops.logical_and(is_kept, ops.greater(given, 0.0))
    weights = ops.where(is_kept, given, ops.zeros_like(given))
    kept = SparseTensor(sparse_ids.indices, ops.maximum(ids, 0), sparse_ids.dims)
    rows, total = _lookup(title, embedding_weights, kept, weights, combiner, max_norm, partition_strategy)
    if default_id is None:
        return rows
    other = embedding_lookup(embedding_weights, [default_id], max_norm, partition_strategy)
    return ops.where(ops.equal(total(is_kept), 0), other, rows)


row(
    "nn.safe_embedding_lookup_sparse",
    _safe_embedding_lookup_sparse,
    "embedding_weights sparse_ids sparse_weights combiner default_id max_norm",
    v1="embedding_weights sparse_ids sparse_weights combiner default_id name partition_strategy max_norm",
)
