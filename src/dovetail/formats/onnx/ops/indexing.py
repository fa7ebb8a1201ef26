"""Elements by their indices, and in order: Gather, Scatter, OneHot, TopK, NonZero, Compress, Unique."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import add_wider, scattered
from dovetail.formats.nodes.constants import counted, is_tensor, known_size
from dovetail.formats.nodes.opaque import Words
from dovetail.formats.onnx.calls import arguments
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.ops.shapes import moved
from dovetail.formats.onnx.sizes import integer, scalar
from dovetail.formats.onnx.table import body, by_values, row, rows, special, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("""
Gather = GatherV2: x indices; axis|0
GatherND 11 = GatherNd: x indices; batch_dims=0
ScatterND 11 < TensorScatterUpdate: x indices updates; reduction=none
ScatterND 16 < TensorScatterAdd: x indices updates; reduction=add
ScatterND 16 < TensorScatterMul: x indices updates; reduction=mul
ScatterND 18 < TensorScatterMax: x indices updates; reduction=max
ScatterND 18 < TensorScatterMin: x indices updates; reduction=min
""")
special("Gather GatherElements GatherND")(moved)
# Dtypes that ONNX Runtime refuses as it runs.
add_wider(body, "TensorScatterAdd TensorScatterMul TensorScatterMax TensorScatterMin: float16 > float32")
add_wider(body, "TensorScatterMax TensorScatterMin: bool > int32")


# -- reading ----------------------------------------------------------------------------------------------------------

CHANGES = Words({"none": "Update", "add": "Add", "mul": "Mul", "max": "Max", "min": "Min"})


def wrapped(indices: Any, size: Any) -> Any:
    """Indices from the start, for those that may count from the end."""
    indices = ops.cast(indices, "int32")
    return ops.where(ops.less(indices, 0), indices + size, indices)


def places(indices: Any, size: Any, axis: int) -> Any:
    """The positions of elements: those of `indices`, with its own elements along an axis."""
    dims = dims_of(indices)
    parts = []
    for i, dim in enumerate(dims):
        part = wrapped(indices, size) if i == axis else ops.reshape(counted(dim), [-1, *[1] * (len(dims) - 1 - i)])
        parts.append(ops.broadcast_to(part, dims))
    return ops.stack(parts, -1)


@row("GatherElements: x indices; axis")
def _(x: Any, indices: Any, axis: int = 0) -> Any:
    axis = axis % rank_of(x)
    return OPS["GatherNd"](x, places(indices, dims_of(x)[axis], axis))


@row("ScatterND 11: x indices updates; reduction")
def _(x: Any, indices: Any, updates: Any, reduction: str = "none") -> Any:
    return scattered(CHANGES[reduction], x, indices, updates)


@row("ScatterElements: x indices updates; axis reduction", "Scatter: x indices updates; axis")
def _(x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Any:
    axis = axis % rank_of(x)
    return scattered(CHANGES[reduction], x, places(indices, dims_of(x)[axis], axis), updates)


@row("GatherND 12: x indices; batch_dims:batch")
def _(x: Any, indices: Any, batch: int = 0) -> Any:
    """The batch becomes indices of its own."""
    dims, sizes = dims_of(indices), dims_of(x)
    depth = known_size(indices, -1)
    own = [ops.reshape(counted(dims[i]), [-1, *[1] * (len(dims) - 1 - i)]) for i in range(batch)]
    own = [ops.broadcast_to(one, [*dims[:-1], 1]) for one in own]
    rest = [wrapped(indices[..., i : i + 1], sizes[batch + i]) for i in range(depth)]
    return OPS["GatherNd"](x, ops.concatenate([*own, *rest], -1))


@row("OneHot: indices depth? values; axis")
def _(indices: Any, depth: Any, values: Any, axis: int = -1) -> Any:
    size = scalar(depth)
    size = int(size) if isinstance(size, (int, float)) else ops.cast(size, "int32")
    if indices.dtype.is_signed_integer:  # none of 64 bits may become one within
        indices = ops.clip(indices, ops.cast(-size - 1, indices.dtype), ops.cast(size, indices.dtype))
    hot = ops.one_hot(wrapped(indices, size), size, axis, "bool")
    return ops.where(hot, values[1], values[0])


@row("TopK 1-9: x; k axis", "TopK 10: x k!; axis largest sorted")
def _top_of(x: Any, k: Any, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """The first elements in their order, and their places; if their number is not known, all are ordered before."""
    k = k[0] if isinstance(k, list) else k
    rows = ops.moveaxis(x, axis, -1)
    if largest and not is_tensor(k):
        values, order = ops.top_k(rows, k)
    else:
        if largest:  # of equal ones the first come first
            order = dims_of(rows)[-1] - 1 - ops.flip(ops.argsort(ops.flip(rows, -1), -1), -1)
        else:
            order = ops.argsort(rows, -1)
        order = order[..., :k]
        values = OPS["TakeAlongAxis"](rows, order, -1)
    return ops.moveaxis(values, -1, axis), ops.cast(ops.moveaxis(order, -1, axis), "int64")


@by_values("TopK")
def _(node: Node) -> Any:
    return _top_of(node.tensor(0), integer(node, 1), **arguments(node, "axis largest"))


@row("NonZero: x")
def _(x: Any) -> Any:
    return ops.transpose(ops.cast(OPS["Where"](x if x.dtype.is_bool else ops.not_equal(x, 0)), "int64"))


@row("Compress: x condition; axis")
def _(x: Any, condition: Any, axis: int | None = None) -> Any:
    x = ops.reshape(x, [-1]) if axis is None else x
    kept = OPS["Where"](condition)[:, 0]
    return OPS["GatherV2"](x, kept, axis or 0)


@row("Unique: x; axis sorted")
def _(x: Any, axis: int | None = None, sorted: int = 1) -> Any:
    """The different elements, where each is first, where each element is among them, and how often it is."""
    slices = axis is not None and rank_of(x) > 1
    flat = _ranks(ops.moveaxis(x, axis, 0)) if slices and axis is not None else ops.reshape(x, [-1])
    size = dims_of(flat)[0]
    values, inverse, *_ = OPS["Unique"](flat)
    none = ops.full(ops.shape(values), size, "int32")
    at = ops.expand_dims(inverse, -1)
    first = OPS["TensorScatterMin"](none, at, counted(size))
    counts = OPS["TensorScatterAdd"](ops.zeros_like(none), at, ops.ones_like(inverse, "int32"))
    if not sorted:
        order = ops.argsort(first)
        values, first, counts = (OPS["GatherV2"](one, order, 0) for one in (values, first, counts))
        inverse = OPS["GatherV2"](ops.argsort(order), inverse, 0)
    values = OPS["GatherV2"](x, first, axis or 0) if slices else values
    return [values, *(ops.cast(one, "int64") for one in (first, inverse, counts))]


def _ranks(x: Any) -> Any:
    """The place of each slice in their order: how many slices are less, by the first element that differs."""
    rows = ops.reshape(x, [dims_of(x)[0], -1])
    one, other = ops.expand_dims(rows, 1), ops.expand_dims(rows, 0)
    differs = ops.not_equal(one, other)
    first = ops.expand_dims(ops.argmax(ops.cast(differs, "int32"), -1), -1)
    is_more = OPS["TakeAlongAxis"](ops.cast(ops.greater(one, other), "int32"), first, -1)
    return ops.sum(is_more, [1, 2])


@row("TensorScatter: x update at; axis mode")
def _(x: Any, update: Any, at: Any = None, axis: int = -2, mode: str = "linear") -> Any:
    """A cache with new elements from a place on that each row of the batch has."""
    axis, dims = axis % rank_of(x), dims_of(update)
    first = ops.zeros([dims[0]], "int32") if at is None else ops.cast(at, "int32")
    place = ops.expand_dims(first, 1) + counted(dims[axis])
    place = OPS["FloorMod"](place, dims_of(x)[axis]) if mode == "circular" else place
    shape = [dim if i in (0, axis) else 1 for i, dim in enumerate(dims)]
    index = ops.broadcast_to(ops.reshape(place, shape), dims)
    return OPS["TensorScatterUpdate"](x, places(index, dims_of(x)[axis], axis), update)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("TakeAlongAxis")
def _take_along(place: Place, x: Ref, indices: Ref, axis: int) -> list[Ref]:
    """Both tensors have the same sizes along the other axes, or are repeated."""
    shapes = [[*shape[:axis], 1, *shape[axis:][1:]] for shape in place.shapes]
    if shapes[0] != shapes[1] or None in shapes[0]:
        x, indices = _spread(place, x, indices, axis), _spread(place, indices, x, axis)
    return place.result("GatherElements", x, indices, axis=axis)


def _spread(place: Place, x: Ref, other: Ref, axis: int) -> Ref:
    """A value that is repeated to the sizes of another, but not along an axis."""
    rank = len(place.shapes[0])
    is_axis = place.constant([number == axis % rank for number in range(rank)], "bool")
    sizes = place.node("Where", is_axis, place.constant([1]), place.shape(other), dtype="int64")
    return place.node("Expand", x, sizes)


@writes("OneHot", lambda operation: operation.inputs[0].shape != ())
def _one_hot(place: Place, x: Ref, num_classes: Any, axis: int, dtype: Any) -> list[Ref]:
    """Nowhere one for positions that are negative, or too large."""
    depth = place.node("Squeeze", place.ints(num_classes), place.constant([0]))
    is_valid = place.node("GreaterOrEqual", x, place.constant(0, x.dtype), dtype="bool")
    at = place.node("Where", is_valid, place.cast(x, "int64"), depth, dtype="int64")
    rows = place.node("OneHot", at, depth, place.constant([0, 1], "float32"), dtype="float32", axis=axis)
    return place.result("Cast", rows, to=dtype)


@writes("Where")
def _where(place: Place, x: Ref) -> list[Ref]:
    places = place.node("NonZero", place.cast(x, "bool"), dtype="int64")
    return place.result("Cast", place.node("Transpose", places, perm=[1, 0]), to=as_dtype("int32"))


@writes("TopKV2")
def _top(place: Place, x: Ref, k: int) -> list[Ref]:
    values, order = place.several("TopK", x, place.constant([k]), dtypes=[x.dtype, "int64"])
    return [values, place.cast(order, "int32")]


@writes("ArgSort")
def _order(place: Place, x: Ref, axis: int) -> list[Ref]:
    """The positions of all, the smallest first."""
    size = place.node("Gather", place.shape(x), place.constant([axis]))
    _, order = place.several("TopK", x, size, dtypes=[x.dtype, "int64"], axis=axis, largest=0)
    return place.result("Cast", order, to=as_dtype("int32"))
