"""Functions that reduce the numbers along axes."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating, name_of, promoted, widened
from keras_dovetail.src.ops.calls import Function, functions, of_tensor

globals().update(functions(of_tensor, "all amax=max amin=min any mean median std var"))
sum = of_tensor(ops.sum, widened)


def _extreme(reduced: Function, both: Function) -> Function:
    def call(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        x = as_tensor(x)
        if initial is None:
            return reduced(x, axis, keepdims)
        initial = as_tensor(initial, x.dtype)
        if 0 not in x.shape:
            return both(reduced(x, axis, keepdims), initial)
        return ops.broadcast_to(initial, ops.shape(ops.sum(x, axis, keepdims)))

    return call


max = _extreme(ops.max, ops.maximum)
min = _extreme(ops.min, ops.minimum)


def _position(op: Function) -> Function:
    def call(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return ops.cast(op(as_tensor(x), axis, keepdims), "int32")

    return call


argmax = _position(ops.argmax)
argmin = _position(ops.argmin)


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return ops.mean(floating(x), axis)
    x, weights = promoted(x, weights, with_float=True)
    return ops.average(x, axis, weights)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    return ops.cast(ops.count_nonzero(as_tensor(x), axis), "int32")


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    return ops.prod(widened(x) if dtype is None else as_tensor(x, dtype), axis, keepdims)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_tensor(x)
    return ops.max(x, axis, keepdims) - ops.min(x, axis, keepdims)


def quantile(x: Any, q: Any, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    return ops.quantile(x, as_tensor(q, x.dtype), axis, method, keepdims)


def percentile(x: Any, q: Any, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    return ops.quantile(x, as_tensor(q, x.dtype) / 100, axis, method, keepdims)


def _cumulative(op: Function) -> Function:
    def call(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
        x = as_tensor(x, dtype)
        x = ops.cast(x, "int32") if name_of(x) == "bool" else x
        return op(ops.ravel(x), 0) if axis is None else op(x, axis)

    return call


cumprod = _cumulative(ops.cumprod)
cumsum = _cumulative(ops.cumsum)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = ops.moveaxis(floating(y), axis, -1)
    if x is not None:
        dx = as_tensor(x, y.dtype)
        dx = ops.diff(dx if len(dx.shape) == 1 else ops.moveaxis(dx, axis, -1))
    return ops.sum((y[..., 1:] + y[..., :-1]) * as_tensor(dx, y.dtype) / 2, -1)
