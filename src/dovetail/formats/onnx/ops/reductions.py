"""Reductions along axes: ReduceSum and others, ArgMax, ArgMin; sums and products so far: CumSum, CumProd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.bodies import by_body
from dovetail.formats.nodes.constants import filled
from dovetail.formats.onnx.ops.shapes import COPIES
from dovetail.formats.onnx.table import body, row, rows, writes
from dovetail.formats.onnx.written_nodes import LAST, Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

rows("""
ArgMax > ArgMax: x; axis|0 keepdims@bool|1 select_last_index=0 >0|int64
ArgMin > ArgMin: x; axis|0 keepdims@bool|1 select_last_index=0 >0|int64
CumSum = Cumsum: x axis!; exclusive@bool reverse@bool
CumProd > Cumprod: x axis!; exclusive@bool reverse@bool
""")


# -- reading ----------------------------------------------------------------------------------------------------------


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    wide = x if x.dtype.is_floating else ops.cast(x, "float64")
    return ops.cast(ops.mean(wide, axis, keepdims), x.dtype)


def _limit(function: Callable[..., Any], empty: Callable[[Any], Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """The largest or the smallest number; of none, the number that no other one beats."""
    if x.dtype.is_bool:
        return ops.equal(_limit(function, empty, ops.cast(x, "uint8"), axis, keepdims), 1)
    axes = range(rank_of(x)) if axis is None else [number % rank_of(x) for number in axis]
    if all(known_dims(x)[number] != 0 for number in axes):
        return function(x, axis, keepdims)
    sizes = ops.shape(ops.sum(x, axis, keepdims))
    return filled(sizes, empty(x.dtype), x.dtype)


def _lowest(dtype: Any) -> Any:
    return -float("inf") if dtype.is_floating else dtype.min


def _highest(dtype: Any) -> Any:
    return float("inf") if dtype.is_floating else dtype.max


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    axes = range(rank_of(x)) if axis is None else axis
    if any(known_dims(x)[number] == 0 for number in axes):
        return ops.log(ops.sum(ops.exp(x), axis, keepdims))
    return ops.logsumexp(x, axis, keepdims)


def _norm(x: Any, axis: Any, keepdims: bool) -> Any:
    wide = x if x.dtype.is_floating else ops.cast(x, "float32")
    return ops.cast(ops.sqrt(ops.sum(ops.square(wide), axis, keepdims)), x.dtype)


def _of_floats(function: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """A function of floats; of integers, its result is cut to integers."""
    return ops.cast(function(x if x.dtype.is_floating else ops.cast(x, "float64"), axis, keepdims), x.dtype)


# type → the function of (x, axis, keepdims), the first version whose axes are an input, and Dovetail's type or ""
REDUCTIONS: dict[str, tuple[Callable[..., Any], int, str]] = {
    "ReduceSum": (ops.sum, 13, "Sum"),
    "ReduceMean": (_mean, 18, "Mean"),
    "ReduceProd": (ops.prod, 18, "Prod"),
    "ReduceMax": (partial(_limit, ops.max, _lowest), 18, "Max"),
    "ReduceMin": (partial(_limit, ops.min, _highest), 18, "Min"),
    "ReduceL1": (lambda x, axis, keepdims: ops.sum(ops.absolute(x), axis, keepdims), 18, ""),
    "ReduceL2": (_norm, 18, "EuclideanNorm"),
    "ReduceLogSum": (partial(_of_floats, lambda x, axis, keepdims: ops.log(ops.sum(x, axis, keepdims))), 18, ""),
    "ReduceLogSumExp": (partial(_of_floats, _log_sum_exp), 18, "LogSumExp"),
    "ReduceSumSquare": (lambda x, axis, keepdims: ops.sum(ops.square(x), axis, keepdims), 18, ""),
}


def _reduced(
    function: Callable[..., Any], x: Any, axes: Sequence[int] | None = None, keepdims: int = 1, noop: int = 0
) -> Any:
    axis = list(axes) if axes else [] if noop else None
    return function(x, axis, bool(keepdims))


for _type, (_function, _first, _ours) in REDUCTIONS.items():
    row(
        f"{_type} 1-{_first - 1}: x; axes keepdims",
        f"{_type} {_first}: x axes!; keepdims noop_with_empty_axes:noop",
    )(partial(_reduced, _function))
    if _ours:
        rows(f"{_type} 1-{_first - 1} < {_ours}: x; axes:axis keepdims@bool|1")
        rows(f"{_type} {_first} < {_ours}: x axis!; keepdims@bool|1")


def _last_index(function: Callable[..., Any], x: Any, axis: int = 0, keepdims: int = 1, last: int = 0) -> Any:
    """The last of several positions, which is the first one from behind."""
    from_behind = ops.cast(function(ops.flip(x, axis), axis, bool(keepdims)), "int64")
    return ops.cast(ops.shape(x)[axis], "int64") - 1 - from_behind


row("ArgMax: x; axis keepdims select_last_index:last")(partial(_last_index, ops.argmax))
row("ArgMin: x; axis keepdims select_last_index:last")(partial(_last_index, ops.argmin))


# -- writing ----------------------------------------------------------------------------------------------------------


def _has_no_axis(operation: Operation) -> bool:
    return operation.attrs["axis"] == ()


body("Sum Prod Max Min Mean", _has_no_axis)(lambda op, x, axis, keepdims: x)
body("Mean", lambda operation: 0 in (operation.inputs[0].shape or ()))(by_body)


@writes("SumLike")
def _sum_like(place: Place, g: Ref, like: Ref) -> list[Ref]:
    """A sum over the axes along which a value was repeated."""
    whole, part = place.shapes
    if whole is not None and part is not None and None not in (*whole[len(whole) - len(part) :], *part):
        added = len(whole) - len(part)
        axes = [*range(added), *(added + i for i, n in enumerate(part) if n == 1 and whole[added + i] != 1)]
        total = place.node("ReduceSum", g, place.constant(axes), keepdims=0) if axes else g
        return place.result("Reshape", total, place.ints(part), allowzero=int(0 in part) or None)
    if part is None or whole is None:
        raise place.refused(ValueError, "the ranks of its inputs must be known; give them by set_shape(shape).")
    added = len(whole) - len(part)
    total = place.node("ReduceSum", g, place.constant([*range(added)]), keepdims=0) if added else g
    for axis, size in enumerate(part):
        if size == 1 and whole[added + axis] != 1:
            total = place.node("ReduceSum", total, place.constant([axis]), keepdims=1)
        elif size is None:
            total = _sum_along(place, total, like, axis)
    return place.result("Identity", total)


def _sum_along(place: Place, total: Ref, like: Ref, axis: int) -> Ref:
    """A sum along an axis if the size of the other value is 1 there: the axis as (repetitions, size), and their sum."""
    whole, part = place.shape(total), place.shape(like)
    size = place.node("Slice", part, place.constant([axis]), place.constant([axis + 1]))
    all_of_it = place.node("Slice", whole, place.constant([axis]), place.constant([axis + 1]))
    one = place.node("Max", size, place.constant([1]))
    parts = [
        place.node("Slice", whole, place.constant([0]), place.constant([axis])),
        place.node("Div", all_of_it, one),
        size,
        place.node("Slice", whole, place.constant([axis + 1]), place.constant([LAST])),
    ]
    shape = place.node("Concat", parts, axis=0)
    repeated = place.node("Reshape", total, shape, allowzero=int(place.opset > COPIES) or None)
    return place.node("ReduceSum", repeated, place.constant([axis]), keepdims=0)


@writes("ArgMax ArgMin")
def _position(place: Place, x: Ref, axis: Any, keepdims: bool) -> list[Ref]:
    type, is_flat = place.operation.type, axis is None
    flat = place.node("Reshape", x, place.constant([-1])) if is_flat else x
    position = place.node(
        type, flat, dtype="int64", axis=0 if is_flat else axis, keepdims=int(keepdims and not is_flat)
    )
    if is_flat and keepdims:
        position = place.node("Reshape", position, place.constant([1] * len(place.shapes[0])))
    return place.result("Cast", position, to=place.operation.outputs[0].dtype)


def _each_before(x: Any, axis: int, exclusive: bool, reverse: bool, fill: float) -> Any:
    """For each element those before it along an axis, on a new last axis; another number in place of those behind."""
    rank, size = rank_of(x), dims_of(x)[axis]
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    moved = ops.expand_dims(ops.transpose(x, order), -2)
    rows, columns = ops.expand_dims(OPS["Iota"](size), 1), ops.expand_dims(OPS["Iota"](size), 0)
    compare = {(False, False): ops.less_equal, (True, False): ops.less}
    compare |= {(False, True): ops.greater_equal, (True, True): ops.greater}
    before = ops.where(compare[exclusive, reverse](columns, rows), moved, ops.full_like(moved, fill))
    return ops.transpose(before, [*(order.index(i) for i in range(rank)), rank])


@body("CumulativeLogsumexp")
def _cumulative(op: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    before = _each_before(x, axis, exclusive, reverse, -math.inf)
    most = ops.max(before, -1, keepdims=True)
    safe = ops.where(ops.isfinite(most), most, ops.zeros_like(most))
    return ops.squeeze(ops.log(ops.sum(ops.exp(before - safe), -1, keepdims=True)) + safe, -1)


@body("Cumprod")
def _cumulative_product(op: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return ops.prod(_each_before(x, axis, exclusive, reverse, 1), -1)
