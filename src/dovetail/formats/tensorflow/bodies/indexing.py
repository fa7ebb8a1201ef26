"""Elements by their indices: gathered, scattered, selected, counted."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.bodies.shapes import scalar
from dovetail.formats.tensorflow.rows import row
from dovetail.ops.shapes.shape import dims_of


@row(
    "Gather: x/Tparams indices/Tindices; validate_indices",
    "GatherV2: x/Tparams indices/Tindices axis!/Taxis; batch_dims:batch",
    "ResourceGather: x&/- indices/Tindices; batch_dims:batch validate_indices",
)
def gathered(x: Any, indices: Any, axis: int = 0, batch: int = 0) -> Any:
    """The slices of a tensor at indices, as TensorFlow's GatherV2."""
    if not batch:
        return OPS["GatherV2"](x, indices, axis)
    return ops.gather(x, indices, axis=axis, batch_dims=batch)


@row("ScatterNd: indices/Tindices updates/T shape?/Tindices; bad_indices_policy=")
def _(indices: Any, updates: Any, shape: Any) -> Any:
    return ops.tensor_scatter_add(ops.zeros(shape, updates.dtype), indices, updates)


@row("Select: condition/- x/T y/T")
def _(condition: Any, x: Any, y: Any) -> Any:
    if condition.shape is not None and x.shape is not None and 0 < len(condition.shape) < len(x.shape):
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * (len(x.shape) - len(condition.shape))])
    return ops.where(condition, x, y)


@row("OneHot: x/TI depth?/- on/T off/T; axis|-1")
def _(x: Any, depth: Any, on: Any, off: Any, axis: int) -> Any:
    return ops.where(ops.one_hot(x, scalar(depth), axis, "bool"), on, off)


@row("Unique: x/T; out_idx>1|int32")
def _(x: Any) -> Any:
    values, places, *_ = OPS["Unique"](x)  # in ascending order; TensorFlow has them in the order of the input
    count, size = dims_of(values)[0], dims_of(x)[0]
    none = ops.full([count], size, "int32")
    first = OPS["TensorScatterMin"](none, ops.expand_dims(places, -1), ops.arange(size, dtype="int32"))
    order = ops.argsort(first)
    return [OPS["GatherV2"](values, order, 0), OPS["GatherV2"](ops.argsort(order), places, 0)]
