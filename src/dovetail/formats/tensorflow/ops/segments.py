"""Elements with a number in common: SegmentSum, UnsortedSegmentSum, SparseSegmentSum, DynamicPartition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.formats.nodes.constants import constant_of, filled
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of, rank_of

SCATTERS = {"Sum": ("Add", 0), "Prod": ("Mul", 1), "Max": ("Max", None), "Min": ("Min", None)}
UNSORTED = "UnsortedSegment{0}: x numbers count?; +reduction={0}"


@row(*map(UNSORTED.format, SCATTERS))
def reduced(x: Any, numbers: Any, count: Any, reduction: str) -> Any:
    """The elements of each number, reduced; negative numbers go to a row that is cut away."""
    scatter, start = SCATTERS[reduction]
    dtype, rank = native_to_dtype(dtype_of(x)), len(static_shape(numbers))
    if start is None:
        start = dtype.min if reduction == "Max" else dtype.max
    kept = ops.reshape(numbers >= 0, [*dims_of(numbers), *[1] * (len(static_shape(x)) - rank)])
    x = ops.where(kept, x, ops.cast(start, dtype))  # its gradient is finite, also if elements are left out
    rows = ops.expand_dims(ops.maximum(numbers, -1) + 1, -1)
    return OPS[f"TensorScatter{scatter}"](filled([scalar(count) + 1, *dims_of(x)[rank:]], start, dtype), rows, x)[1:]


@row(*(f"Segment{reduction}: x numbers; +reduction={reduction}" for reduction in SCATTERS))
def _(x: Any, numbers: Any, reduction: str) -> Any:
    count = _count(numbers)
    reduced_rows = reduced(x, numbers, count, reduction)
    if reduction not in ("Max", "Min"):
        return reduced_rows
    return ops.where(like(_sizes(numbers, count) > 0, reduced_rows), reduced_rows, ops.zeros_like(reduced_rows))


@row("SegmentMean: x numbers; T>0")
def _(x: Any, numbers: Any) -> Any:
    return _averaged(x, numbers, _count(numbers), "Mean")


_SPARSE = "x places numbers"


@row(
    *(
        text
        for kind in ("Sum", "Mean", "SqrtN")
        for text in (
            f"SparseSegment{kind}: {_SPARSE}; sparse_gradient +kind={kind}",
            f"SparseSegment{kind}WithNumSegments: {_SPARSE} count?; sparse_gradient +kind={kind}",
        )
    )
)
def _(x: Any, places: Any, numbers: Any, kind: str, count: Any = None) -> Any:
    count = _count(numbers) if count is None else scalar(count)
    return _averaged(OPS["GatherV2"](x, places, 0), numbers, count, kind)


@row(*(f"SparseSegment{kind}Grad: g places numbers count?; +kind={kind}" for kind in ("Sum", "Mean", "SqrtN")))
def _(g: Any, places: Any, numbers: Any, count: Any, kind: str) -> Any:
    rows = OPS["GatherV2"](g / like(divisor(numbers, dims_of(g)[0], kind, g.dtype), g), numbers, 0)
    return reduced(rows, places, count, "Sum")


def _averaged(x: Any, numbers: Any, count: Any, kind: str) -> Any:
    """The sums of the elements of each number, over how many there are, or over its root."""
    total = reduced(x, numbers, count, "Sum")
    return total if kind == "Sum" else total / like(divisor(numbers, count, kind, x.dtype), total)


def divisor(numbers: Any, count: Any, kind: str, dtype: Any) -> Any:
    """How many elements each number has, at least 1, or the root of that."""
    sizes = ops.cast(ops.maximum(_sizes(numbers, count), 1), dtype)
    return sizes if kind == "Mean" else ops.sqrt(sizes) if kind == "SqrtN" else ops.ones_like(sizes)


def _sizes(numbers: Any, count: Any) -> Any:
    return reduced(ops.ones_like(numbers), numbers, count, "Sum")


def _count(numbers: Any) -> Any:
    """One more than the last of the sorted numbers, 0 if there is none."""
    return ops.max(ops.concatenate([numbers, ops.cast([-1], numbers.dtype)])) + 1


def like(x: Any, other: Any) -> Any:
    """A vector with as many axes as another tensor."""
    return ops.reshape(x, [-1, *[1] * (len(static_shape(other)) - 1)])


# -- parts ------------------------------------------------------------------------------------------------------------


@row("DynamicPartition: x numbers; num_partitions:count")
def _(x: Any, numbers: Any, count: int) -> Any:
    return [ops.boolean_mask(x, ops.equal(numbers, number)) for number in range(count)]


@row("DynamicStitch ParallelDynamicStitch: places* xs*")
def _(places: Sequence[Any], xs: Sequence[Any]) -> Any:
    known = [constant_of(one) for one in places]
    if all(one is not None for one in known):
        size: Any = 1 + max(int(one.max(initial=-1)) for one in known if one is not None)
    else:
        size = _count(ops.concatenate([ops.reshape(one, [-1]) for one in places]))
    inner = dims_of(xs[0])[rank_of(places[0]) :]
    stitched = filled([size, *inner], 0, xs[0].dtype)
    for one, x in zip(places, xs, strict=True):
        rows = ops.reshape(one, [-1, 1])
        stitched = OPS["TensorScatterUpdate"](stitched, rows, ops.reshape(x, [-1, *inner]))
    return stitched
