"""Elements by their indices: GatherV2, GatherNd, ScatterNd, TensorScatterAdd, SelectV2, Where, OneHot, UnravelIndex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import scattered
from dovetail.formats.nodes.constants import filled
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("""
GatherV2 < GatherV2: x indices axis!; batch_dims=0
GatherNd: x indices; bad_indices_policy=
TensorScatterUpdate TensorScatterAdd: x indices updates; bad_indices_policy=
TensorScatterMax TensorScatterMin: x indices updates; bad_indices_policy=
SelectV2: condition x y
Where > Where: x; >0|int64
""")


@row(
    "Gather: x indices; validate_indices",
    "GatherV2: x indices axis!; batch_dims:batch",
    "ResourceGather: x& indices; batch_dims:batch validate_indices",
)
def gathered(x: Any, indices: Any, axis: int = 0, batch: int = 0) -> Any:
    """The slices of a tensor at indices, as TensorFlow's GatherV2."""
    if not batch:
        return OPS["GatherV2"](x, indices, axis)
    return ops.gather(x, indices, axis=axis, batch_dims=batch)


@row("ScatterNd: indices updates shape?; bad_indices_policy=")
def _(indices: Any, updates: Any, shape: Any) -> Any:
    return scattered("Add", filled(shape, 0, updates.dtype), indices, updates)


@row("Select: condition x y")
def _(condition: Any, x: Any, y: Any) -> Any:
    if condition.shape is not None and x.shape is not None and 0 < rank_of(condition) < rank_of(x):
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * (rank_of(x) - rank_of(condition))])
    return ops.where(condition, x, y)


@row("OneHot: x depth? on off; axis")
def _(x: Any, depth: Any, on: Any, off: Any, axis: int) -> Any:
    return ops.where(ops.one_hot(x, scalar(depth), axis, "bool"), on, off)


@row("UnravelIndex: x dims!")
def _(x: Any, dims: Sequence[int]) -> Any:
    coordinates: list[Any] = []
    for dim in reversed(dims):
        coordinates.insert(0, OPS["FloorMod"](x, ops.cast(dim, x.dtype)))
        x = OPS["FloorDiv"](x, ops.cast(dim, x.dtype))
    return ops.stack(coordinates, 0)


@row(*(f"Inplace{kind}: x i v; +kind={kind}" for kind in ("Update", "Add", "Sub")))
def _(x: Any, i: Any, v: Any, kind: str) -> Any:
    change = "TensorScatterUpdate" if kind == "Update" else "TensorScatterAdd"
    return OPS[change](x, ops.expand_dims(i, -1), -v if kind == "Sub" else v)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("OneHot")
def _one_hot(place: Place, x: Ref, num_classes: Any, axis: int, dtype: Any) -> list[Ref]:
    depth = place.scalar(num_classes) if isinstance(num_classes, Ref) else place.constant(num_classes[0], "depth")
    on, off = (place.constant(value, name, dtype) for value, name in ((1, "on_value"), (0, "off_value")))
    return place.result("OneHot", x, depth, on, off, axis=axis)


@writes("Where")
def _where(place: Place, x: Ref) -> list[Ref]:
    return place.result(
        "Cast", place.node("Where", place.cast(x, "bool"), dtype="int64"), DstT=as_dtype("int32"), Truncate=False
    )


@writes("TensorScatterMul")
def _scatter_mul(place: Place, x: Ref, indices: Ref, updates: Ref) -> list[Ref]:
    """All rows of the tensor times the products of the numbers that have the row's position."""
    spec, at, _ = (tensor.spec for tensor in place.operation.inputs)

    def rows(given: Any, indices: Any) -> Any:
        sizes = ops.shape(given)[: dims_of(indices)[-1]]
        steps = OPS["Cumprod"](sizes, 0, True, True)
        return ops.sum(ops.cast(indices, "int32") * steps, -1), ops.prod(sizes), ops.shape(given)

    numbers, count, shape = place.computed(rows, (x, spec), (indices, at))
    factors = place.node("Reshape", place.node("UnsortedSegmentProd", updates, numbers, count), shape)
    return place.result("Mul", x, factors)


POSITIONS = ("Const", "Iota", "ArgMax", "ArgMin", "ArgSort", "Where", "Range", "Unique")


def _may_be_negative(operation: Operation) -> bool:
    """Whether positions may count from the end."""
    indices = operation.inputs[1]
    maker = indices.op
    if indices.dtype.name.startswith("u"):
        return False
    if maker.type == "Const":
        return bool(maker.attrs["value"].min(initial=0) < 0)
    is_counted = maker.type == "SelectV2" and maker.inputs[0].op.type == "Less"  # as below
    return maker.type not in POSITIONS and not (is_counted and maker.inputs[0].op.inputs[0] is maker.inputs[2])


def _counted(indices: Any, sizes: Any) -> Any:
    return ops.where(ops.less(indices, 0), indices + ops.cast(sizes, indices.dtype), indices)


@body("GatherV2", _may_be_negative)
def _gather(op: Any, x: Any, indices: Any, axis: int) -> Any:
    return op(x, _counted(indices, dims_of(x)[axis]), axis)


@body(
    "GatherNd TensorScatterUpdate TensorScatterAdd TensorScatterMul TensorScatterMax TensorScatterMin", _may_be_negative
)
def _at(op: Any, x: Any, indices: Any, *updates: Any) -> Any:
    depth = dims_of(indices)[-1]
    sizes = ops.cast(ops.shape(x)[:depth], indices.dtype)
    return op(x, _counted(indices, sizes), *updates)
