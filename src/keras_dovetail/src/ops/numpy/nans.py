"""Reductions that skip NaN."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating, is_float
from keras_dovetail.src.ops.calls import Function, of_tensor
from keras_dovetail.src.ops.numpy import reduce


def _filled(x: Any, value: float) -> Any:
    """The tensor with another number instead of NaN."""
    x = as_tensor(x)
    return ops.where(ops.isnan(x), ops.full_like(x, value), x) if is_float(x) else x


def _position(op: Function, worst: float) -> Function:
    def call(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        x = as_tensor(x)
        position = op(_filled(x, worst), axis, keepdims)
        return ops.where(ops.all(ops.isnan(x), axis, keepdims), as_tensor(-1, position.dtype), position)

    return call


nanargmax = _position(reduce.argmax, -math.inf)
nanargmin = _position(reduce.argmin, math.inf)


nancumprod = of_tensor(reduce.cumprod, partial(_filled, value=1))
nancumsum = of_tensor(reduce.cumsum, partial(_filled, value=0))
nansum = of_tensor(reduce.sum, partial(_filled, value=0))


def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduce.prod(_filled(x, 1), axis, keepdims)


def _extreme(op: Function, worst: float) -> Function:
    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = as_tensor(x)
        if not is_float(x):
            return op(x, axis, keepdims)
        extreme = op(_filled(x, worst), axis, keepdims)
        return ops.where(ops.all(ops.isnan(x), axis, keepdims), ops.full_like(extreme, math.nan), extreme)

    return call


nanmax = _extreme(ops.max, -math.inf)
nanmin = _extreme(ops.min, math.inf)


def _known(x: Any, axis: Any, keepdims: bool) -> Any:
    """The number of elements that are not NaN."""
    return ops.sum(ops.cast(ops.logical_not(ops.isnan(x)), x.dtype), axis, keepdims)


def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    return ops.sum(_filled(x, 0), axis, keepdims) / _known(x, axis, keepdims)


def nanvar(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    return nanmean(ops.square(x - nanmean(x, axis, True)), axis, keepdims)


def nanstd(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return ops.sqrt(nanvar(x, axis, keepdims))


def nanquantile(x: Any, q: Any, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    rank = len(x.shape)
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    reduced = sorted(a % rank for a in axes)
    kept = [a for a in range(rank) if a not in reduced]
    dims = [x.shape[a] for a in kept]
    rows = ops.reshape(ops.transpose(x, [*kept, *reduced]), [*dims, -1])
    rows = ops.sort(rows)  # NaN comes last
    q = as_tensor(q, x.dtype)
    at = ops.reshape(q, [-1]) * ops.maximum(_known(rows, -1, True) - 1, 0)
    low, high = (ops.take_along_axis(rows, ops.cast(f(at), "int32"), -1) for f in (ops.floor, ops.ceil))
    between = _BETWEEN[method](low, high, at - ops.floor(at), at)
    quantiles = ops.moveaxis(between, -1, 0)
    shape = [1 if a in reduced else x.shape[a] for a in range(rank)] if keepdims else dims
    return ops.reshape(quantiles, [*q.shape, *shape])


_BETWEEN: dict[str, Function] = {  # (number below, number above, part of the way, position) → quantile
    "linear": lambda low, high, part, at: ops.where(part == 0, low, low + (high - low) * part),
    "lower": lambda low, high, part, at: low,
    "higher": lambda low, high, part, at: high,
    "midpoint": lambda low, high, part, at: ops.where(part == 0, low, (low + high) / 2),
    "nearest": lambda low, high, part, at: ops.where(ops.rint(at) == ops.floor(at), low, high),
}


def nanpercentile(x: Any, q: Any, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    return nanquantile(x, as_tensor(q, x.dtype) / 100, axis, method, keepdims)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return nanquantile(x, 0.5, axis, "linear", keepdims)
