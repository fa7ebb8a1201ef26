"""TensorFlow's names for segments: reductions over the elements that have a number in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.arithmetic import divide
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.values.value_kinds import dtype_of
from dovetail.formats.tensorflow.ops import segments
from dovetail.ops.shapes.shape import shaped

TYPES = {"sum": "Sum", "prod": "Prod", "max": "Max", "min": "Min", "mean": "Mean"}  # kind → its part of types


def _over(kind: str) -> Callable[..., Any]:
    """The sums over the number of the elements, or over its root."""

    def segment(data: Any, segment_ids: Any, count: Any) -> Any:
        data, segment_ids = shaped(data), shaped(segment_ids)
        total = segments.reduced(data, segment_ids, count, "Sum")
        return divide(total, segments.like(segments.divisor(segment_ids, count, kind, total.dtype), total))

    return segment


REDUCED = {kind: of_type(f"UnsortedSegment{TYPES[kind]}") for kind in ("sum", "prod", "max", "min")}
REDUCED |= {"mean": _over("Mean"), "sqrt_n": _over("SqrtN")}


def _unsorted(kind: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return REDUCED[kind](data, segment_ids, num_segments)

    call.__doc__ = f"""The {kind} of the elements that have a number in common; negative numbers are left out.

    Source: `tf.math.unsorted_segment_{kind}`.
    """
    return call


def _sorted(kind: str) -> Callable[..., Any]:
    reduced = of_type(f"Segment{TYPES[kind]}")

    def call(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        return ops.cast(reduced(data, segment_ids), dtype_of(data))  # means of integers are integers

    call.__doc__ = f"""The {kind} of neighbouring elements that have a number in common; the numbers ascend.

    Source: `tf.math.segment_{kind}`.
    """
    return call


UNSORTED: dict[str, Callable[..., Any]] = {}  # the functions of numbers in any order

for _kind in REDUCED:
    _names = f"math.unsorted_segment_{_kind} unsorted_segment_{_kind}"
    UNSORTED[_kind] = in_v1(function(_names, scope=True, defers=True)(_unsorted(_kind)))
for _kind in TYPES:
    function(f"math.segment_{_kind} segment_{_kind}", scope=True, defers=True)(_sorted(_kind))
