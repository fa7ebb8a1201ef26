"""TensorFlow's names for segments: reductions over the elements that have a number in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.arithmetic import divide
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

Segments = Callable[..., Any]

# reduction → its scattering op, and a function of a dtype for the value of a segment without elements
SCATTERED: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "sum": (ops.tensor_scatter_add, lambda dtype: 0),
    "prod": (ops.tensor_scatter_mul, lambda dtype: 1),
    "max": (ops.tensor_scatter_max, lambda dtype: dtype.min),
    "min": (ops.tensor_scatter_min, lambda dtype: dtype.max),
}


def _scattered(kind: str, data: Any, segment_ids: Any, count: Any) -> Any:
    """Reduce the elements of each segment.  Elements with negative numbers go into a row before the first segment."""
    scatter, of_none = SCATTERED[kind]
    dtype = native_to_dtype(dtype_of(data))
    none, rank = ops.convert(of_none(dtype), dtype), len(static_shape(segment_ids))
    kept = ops.greater_equal(segment_ids, 0)
    wide = ops.reshape(kept, [*dims_of(segment_ids), *[1] * (len(static_shape(data)) - rank)])
    data = ops.where(wide, data, none)  # its gradient is finite, also if elements are left out
    rows = ops.expand_dims(ops.add(ops.maximum(segment_ids, -1), 1), -1)
    shape = [ops.add(count, 1) if is_tensor(count) else int(count) + 1, *dims_of(data)[rank:]]
    return scatter(ops.full(shape, none, dtype), rows, data)[1:]


def _counts(data: Any, segment_ids: Any, count: Any, dtype: Any) -> Any:
    """Count the elements of each segment, at least 1, in a shape that broadcasts to the sums."""
    found = _scattered("sum", ops.ones_like(segment_ids, dtype), segment_ids, count)
    axes = len(static_shape(data)) - len(static_shape(segment_ids))
    return ops.reshape(ops.maximum(found, 1), [*dims_of(found), *[1] * axes])


def _mean(data: Any, segment_ids: Any, count: Any) -> Any:
    total = _scattered("sum", data, segment_ids, count)
    return divide(total, _counts(data, segment_ids, count, total.dtype))


def _over_root(data: Any, segment_ids: Any, count: Any) -> Any:
    total = _scattered("sum", data, segment_ids, count)
    return ops.divide(total, ops.sqrt(_counts(data, segment_ids, count, total.dtype)))


def _unsorted(kind: str, segments: Segments) -> Segments:
    def call(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return segments(data, segment_ids, num_segments)

    call.__doc__ = f"""The {kind} of the elements that have a number in common; negative numbers are left out.

    Source: `tf.math.unsorted_segment_{kind}`.
    """
    return call


def _sorted(kind: str, segments: Segments) -> Segments:
    def call(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        count = ops.add(ops.maximum(ops.max(segment_ids), -1), 1)  # 0 without any numbers
        found = segments(data, segment_ids, count)
        if kind in ("max", "min"):
            has_some = ops.greater(_scattered("sum", ops.ones_like(segment_ids), segment_ids, count), 0)
            wide = ops.reshape(has_some, [*dims_of(has_some), *[1] * (len(static_shape(found)) - 1)])
            return ops.where(wide, found, ops.zeros_like(found))
        return ops.cast(found, dtype_of(data)) if kind == "mean" else found

    call.__doc__ = f"""The {kind} of neighbouring elements that have a number in common; the numbers ascend.

    Source: `tf.math.segment_{kind}`.
    """
    return call


def _by_scattering(kind: str) -> Segments:
    return lambda data, segment_ids, count: _scattered(kind, data, segment_ids, count)


KINDS: dict[str, Segments] = {**{kind: _by_scattering(kind) for kind in SCATTERED}, "mean": _mean, "sqrt_n": _over_root}
UNSORTED: dict[str, Callable[..., Any]] = {}  # the functions of numbers in any order

for _kind, _segments in KINDS.items():
    _names = f"math.unsorted_segment_{_kind} unsorted_segment_{_kind}"
    UNSORTED[_kind] = in_v1(function(_names, scope=True, defers=True)(_unsorted(_kind, _segments)))
    if _kind != "sqrt_n":
        function(f"math.segment_{_kind} segment_{_kind}", scope=True, defers=True)(_sorted(_kind, _segments))
