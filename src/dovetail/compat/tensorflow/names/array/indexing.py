"""TensorFlow's names for picking and placing: gathering, masks, conditions, scattering."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.strings.moved import by_numbers, by_op
from dovetail.compat.tensorflow.table import alike_values, function, row
from dovetail.core.base.errors import op_error
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of


@function(
    "gather",
    scope=True,
    defers=True,
    v1="params indices validate_indices name axis batch_dims",
    around=by_op("params"),
)
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices at positions of an axis.

    Source: `tf.gather`.
    """
    if batch_dims < 0:
        batch_dims += len(static_shape(ops.convert(indices)))
    return ops.gather(params, indices, batch_dims if axis is None else int(axis), batch_dims)


@function("batch_gather", scope=True, defers=True, around=by_op("params"))
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """The slices at positions of the last axis of the indices, batch by batch.

    Source: `tf.compat.v1.batch_gather`.
    """
    axis = len(static_shape(ops.convert(indices))) - 1
    return ops.gather(params, indices, axis, axis)


def _gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    params, indices, count = ops.convert(params), ops.convert(indices), int(batch_dims)
    if count > 1:  # all batch axes as one
        batch = dims_of(indices)[:count]
        params = ops.reshape(params, [-1, *dims_of(params)[count:]])
        gathered = _gather_nd(params, ops.reshape(indices, [-1, *dims_of(indices)[count:]]), 1)
        if gathered.shape is None:
            raise op_error(ValueError, "tf.gather_nd", "the last dimension of the indices must be known.")
        return ops.reshape(gathered, [*batch, *dims_of(gathered)[1:]], name=name)
    if count == 1:
        first, *others = dims_of(indices)[:-1]
        rows = ops.broadcast_to(
            ops.reshape(ops.arange(0, first), [first, *[1] * (len(others) + 1)]), [first, *others, 1]
        )
        indices = ops.concatenate([ops.cast(rows, indices.dtype), indices], -1)
    return ops.gather_nd(params, indices, name=name)


row(
    "gather_nd",
    _gather_nd,
    "params indices batch_dims",
    v1="params indices name batch_dims",
    around=by_numbers("params"),
)


def _boolean_mask(tensor: Any, mask: Any, axis: Any = None) -> Any:
    return ops.boolean_mask(tensor, mask, 0 if axis is None else int(axis))


row("boolean_mask", _boolean_mask, "tensor mask axis", v1="tensor mask name axis", around=by_numbers("tensor"))


@function("where where_v2", "v2", scope=True, around=by_numbers("x y"))
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Elements of one tensor or the other; for a condition alone, the positions where it is true.

    Source: `tf.where`.
    """
    if (x is None) != (y is None):
        raise op_error(ValueError, "tf.where", "it needs both x and y, or neither.")
    if x is None:
        return ops.cast(ops.positions(condition), "int64")
    return ops.where(condition, *alike_values([x, y]))


@function("where", "v1", scope=True, defers=True, around=by_numbers("x y"))
def where_v1(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Elements of one tensor or the other; a condition of one axis chooses whole rows.

    Source: `tf.compat.v1.where`.
    """
    condition = ops.convert(condition)
    if x is not None and len(condition.shape) == 1:
        extra = len(static_shape(ops.convert(x))) - 1
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * extra])
    return where(condition, x, y)


row("scatter_nd", ops.scatter_nd, "indices updates:values shape", around=by_numbers("updates"))
row("tensor_scatter_nd_update tensor_scatter_update", ops.tensor_scatter_update, "tensor:x indices updates")
row("tensor_scatter_nd_add tensor_scatter_add", ops.tensor_scatter_add, "tensor:x indices updates")
row("tensor_scatter_nd_max", ops.tensor_scatter_max, "tensor:x indices updates")
row("tensor_scatter_nd_min", ops.tensor_scatter_min, "tensor:x indices updates")


@function("tensor_scatter_nd_sub tensor_scatter_sub", scope=True)
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """A tensor, with updates subtracted at positions.

    Source: `tf.tensor_scatter_nd_sub`.
    """
    return ops.tensor_scatter_add(tensor, indices, ops.negative(updates))


def _reverse_sequence(input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None) -> Any:
    x = ops.convert(input)
    axes = 0 if seq_axis is None else int(seq_axis), 0 if batch_axis is None else int(batch_axis)
    steps, batch = (normalize_axis(axis, len(static_shape(x))) for axis in axes)
    if steps == batch:
        raise op_error(ValueError, "tf.reverse_sequence", "seq_axis and batch_axis must be two axes.")
    x = ops.moveaxis(x, (batch, steps), (0, 1))
    lengths = ops.expand_dims(ops.saturate_cast(seq_lengths, "int32"), -1)
    place = ops.expand_dims(ops.arange(0, dims_of(x)[1]), 0)
    order = ops.where(ops.less(place, lengths), ops.subtract(ops.subtract(lengths, 1), place), place)
    return ops.moveaxis(ops.gather(x, order, 1, 1), (0, 1), (batch, steps))


reverse_sequence = row(
    "reverse_sequence",
    _reverse_sequence,
    "input seq_lengths seq_axis batch_axis",
    v1="+seq_dim:seq_axis batch_dim:batch_axis",
    around=by_numbers("input"),
)

value("newaxis", None)
