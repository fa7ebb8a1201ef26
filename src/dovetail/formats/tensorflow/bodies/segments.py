"""Elements that have a number in common, reduced."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.bodies.shapes import scalar
from dovetail.formats.tensorflow.rows import row
from dovetail.ops.shapes.shape import dims_of

SCATTERS = {"Sum": ("Add", 0), "Prod": ("Mul", 1), "Max": ("Max", None), "Min": ("Min", None)}
UNSORTED = "UnsortedSegment{0}: x/T numbers/Tindices count?/Tnumsegments; +reduction={0}"


@row(*(UNSORTED.format(reduction) for reduction in SCATTERS))
def reduced(x: Any, numbers: Any, count: Any, reduction: str) -> Any:
    """The elements of each number, reduced; negative numbers go to a row that is cut away."""
    scatter, start = SCATTERS[reduction]
    if start is None:
        start = x.dtype.min if reduction == "Max" else x.dtype.max
    shape = [scalar(count) + 1, *dims_of(x)[len(numbers.shape) :]]
    rows = ops.expand_dims(ops.maximum(numbers, -1) + 1, -1)
    return OPS[f"TensorScatter{scatter}"](ops.full(shape, ops.cast(start, x.dtype), x.dtype), rows, x)[1:]


@row(*(f"Segment{reduction}: x/T numbers/Tindices; +reduction={reduction}" for reduction in ("Sum", "Prod")))
def _(x: Any, numbers: Any, reduction: str) -> Any:
    return reduced(x, numbers, ops.max(numbers) + 1, reduction)
