"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.formats.nodes.constants import filled
from dovetail.formats.onnx.table import row


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    wide = x if x.dtype.is_floating else ops.cast(x, "float64")
    return ops.cast(ops.mean(wide, axis, keepdims), x.dtype)


def _limit(function: Callable[..., Any], empty: Callable[[Any], Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """The largest or the smallest number; of none, the number that no other one beats."""
    if x.dtype.is_bool:
        return ops.equal(_limit(function, empty, ops.cast(x, "uint8"), axis, keepdims), 1)
    axes = range(len(x.shape)) if axis is None else [number % len(x.shape) for number in axis]
    if all(x.shape[number] != 0 for number in axes):
        return function(x, axis, keepdims)
    sizes = ops.shape(ops.sum(x, axis, keepdims))
    return filled(sizes, empty(x.dtype), x.dtype)


def _lowest(dtype: Any) -> Any:
    return -float("inf") if dtype.is_floating else dtype.min


def _highest(dtype: Any) -> Any:
    return float("inf") if dtype.is_floating else dtype.max


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    axes = range(len(x.shape)) if axis is None else axis
    if any(x.shape[number] == 0 for number in axes):
        return ops.log(ops.sum(ops.exp(x), axis, keepdims))
    return ops.logsumexp(x, axis, keepdims)


def _of_floats(function: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """A function of floats; of integers, its result is cut to integers."""
    return ops.cast(function(x if x.dtype.is_floating else ops.cast(x, "float64"), axis, keepdims), x.dtype)


# type → the function of (x, axis, keepdims), and the first version whose axes are an input
REDUCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "ReduceSum": (ops.sum, 13),
    "ReduceMean": (_mean, 18),
    "ReduceProd": (ops.prod, 18),
    "ReduceMax": (partial(_limit, ops.max, _lowest), 18),
    "ReduceMin": (partial(_limit, ops.min, _highest), 18),
    "ReduceL1": (lambda x, axis, keepdims: ops.sum(ops.absolute(x), axis, keepdims), 18),
    "ReduceL2": (
        lambda x, axis, keepdims: ops.cast(
            ops.sqrt(ops.sum(ops.square(ops.cast(x, x.dtype if x.dtype.is_floating else "float32")), axis, keepdims)),
            x.dtype,
        ),
        18,
    ),
    "ReduceLogSum": (partial(_of_floats, lambda x, axis, keepdims: ops.log(ops.sum(x, axis, keepdims))), 18),
    "ReduceLogSumExp": (partial(_of_floats, _log_sum_exp), 18),
    "ReduceSumSquare": (lambda x, axis, keepdims: ops.sum(ops.square(x), axis, keepdims), 18),
}


def _reduced(
    function: Callable[..., Any], type: str, x: Any, axes: Sequence[int] | None = None, keepdims: int = 1, noop: int = 0
) -> Any:
    axis = list(axes) if axes else None
    if axis is None and noop:
        axis = []
    return function(x, axis, bool(keepdims))


for _type, (_function, _first) in REDUCTIONS.items():
    row(
        f"{_type} 1-{_first - 1}: x; axes keepdims",
        f"{_type} {_first}: x axes!; keepdims noop_with_empty_axes:noop",
    )(partial(_reduced, _function, _type))


@row("ArgMax: x; axis keepdims select_last_index:last")
def _(x: Any, axis: int = 0, keepdims: int = 1, last: int = 0) -> Any:
    return _last_index(ops.argmax, x, axis, keepdims)


@row("ArgMin: x; axis keepdims select_last_index:last")
def _(x: Any, axis: int = 0, keepdims: int = 1, last: int = 0) -> Any:
    return _last_index(ops.argmin, x, axis, keepdims)


def _last_index(function: Callable[..., Any], x: Any, axis: int, keepdims: int) -> Any:
    """The last of several positions, which is the first one from behind."""
    from_behind = ops.cast(function(ops.flip(x, axis), axis, bool(keepdims)), "int64")
    return ops.cast(ops.shape(x)[axis], "int64") - 1 - from_behind
