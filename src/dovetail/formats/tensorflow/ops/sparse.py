"""Sparse tensors, whose parts are tensors: SparseToDense, SparseReduceSum, SparseReorder and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import filled
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of


@row("SparseToDense: indices shape? values default; validate_indices")
def dense(indices: Any, shape: Any, values: Any, default: Any) -> Any:
    """The dense tensor of a sparse one."""
    indices = indices if rank_of(indices) == 2 else ops.reshape(indices, [-1, 1])
    whole = ops.broadcast_to(default, shape)
    return OPS["TensorScatterUpdate"](whole, indices, ops.broadcast_to(values, dims_of(indices)[:1]))


@row("SparseTensorDenseMatMul: indices values shape? b; adjoint_a adjoint_b")
def _(indices: Any, values: Any, shape: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    row_, column = (1, 0) if adjoint_a else (0, 1)
    b, values = (
        OPS["Conj"](one) if is_adjoint and one.dtype.is_complex else one
        for one, is_adjoint in ((b, adjoint_b), (values, adjoint_a))
    )
    b = ops.swapaxes(b, -1, -2) if adjoint_b else b
    sums = ops.zeros([shape[row_], dims_of(b)[1]], b.dtype)
    products = OPS["GatherV2"](b, indices[:, column], 0) * ops.expand_dims(values, -1)
    return OPS["TensorScatterAdd"](sums, indices[:, row_ : row_ + 1], products)


def _rank(shape: Any) -> int:
    """The rank of a sparse tensor with a shape."""
    size: int | None = len(shape) if isinstance(shape, list) else known_dims(shape)[0]
    if size is None:
        raise Unreadable("the rank of its sparse tensor is not known")
    return size


@row(
    "SparseReduceSum: indices values shape? axes!; keep_dims:keepdims +change=TensorScatterAdd",
    "SparseReduceMax: indices values shape? axes!; keep_dims:keepdims +change=TensorScatterMax",
)
def _(indices: Any, values: Any, shape: Any, axes: Any, change: str, keepdims: bool = False) -> Any:
    rank = _rank(shape)
    reduced = {axis % rank for axis in np.ravel(axes).tolist()}
    dims = [1 if axis in reduced else shape[axis] for axis in range(rank)]
    places = indices * np.array([axis not in reduced for axis in range(rank)], "int64")
    first = 0 if change == "TensorScatterAdd" else values.dtype.min
    reduced_values = OPS[change](filled(dims, first, values.dtype), places, values)
    if first:
        is_given = OPS["TensorScatterMax"](filled(dims, 0, "int32"), places, ops.ones_like(values, "int32"))
        reduced_values = ops.where(ops.equal(is_given, 1), reduced_values, 0)
    return reduced_values if keepdims or not reduced else ops.squeeze(reduced_values, sorted(reduced))


@row(
    *(
        f"SparseDenseCwise{name}: indices values shape? dense; +op={op}"
        for name, op in (("Add", "AddV2"), ("Mul", "Mul"), ("Div", "RealDiv"))
    )
)
def _(indices: Any, values: Any, shape: Any, dense: Any, op: str) -> Any:
    """The values of a sparse tensor with those of a dense one, which is broadcast to its shape."""
    places = indices[:, _rank(shape) - rank_of(dense) :]
    places = ops.where(ops.equal(ops.cast(ops.shape(dense), places.dtype), 1), 0, places)
    return OPS[op](values, OPS["GatherNd"](dense, places))


def _number(indices: Any, shape: Any) -> Any:
    """The place of each index among all elements."""
    numbers = ops.zeros_like(indices[:, 0])
    for axis in range(_rank(shape)):
        numbers = numbers * shape[axis] + indices[:, axis]
    return numbers


@row("SparseReorder: indices values shape?")
def _(indices: Any, values: Any, shape: Any) -> list[Any]:
    order = ops.argsort(_number(indices, shape))
    return [OPS["GatherV2"](indices, order, 0), OPS["GatherV2"](values, order, 0)]


@row("SparseReshape: indices shape new")
def _(indices: Any, shape: Any, new: Any) -> list[Any]:
    rest = OPS["FloorDiv"](ops.prod(shape), ops.maximum(ops.absolute(ops.prod(new)), 1))
    new = ops.where(new < 0, rest, new)
    numbers = _number(indices, shape)
    coordinates: list[Any] = []
    for axis in reversed(range(_rank(new))):
        coordinates.insert(0, OPS["FloorMod"](numbers, new[axis]))
        numbers = OPS["FloorDiv"](numbers, new[axis])
    return [ops.stack(coordinates, -1), new]


@row("SparseFillEmptyRows: indices values shape default")
def _(indices: Any, values: Any, shape: Any, default: Any) -> list[Any]:
    """With an element in each row: the indices, the values, which rows were empty, and the new place of each value."""
    rows, count = indices[:, 0], dims_of(indices)[0]
    none = ops.zeros([shape[0]], "int32")
    is_empty = ops.equal(OPS["TensorScatterAdd"](none, indices[:, :1], ops.ones_like(rows, "int32")), 0)
    new = OPS["Where"](is_empty)
    added = ops.concatenate([new, *[ops.zeros_like(new)] * (_rank(shape) - 1)], -1)
    every = ops.concatenate([indices, ops.cast(added, indices.dtype)], 0)
    filled = ops.concatenate([values, ops.broadcast_to(default, dims_of(new)[:1])], 0)
    order = ops.argsort(every[:, 0])
    places = ops.argsort(order)[:count]
    sorted_parts = OPS["GatherV2"](every, order, 0), OPS["GatherV2"](filled, order, 0)
    return [*sorted_parts, is_empty, ops.cast(places, "int64")]
