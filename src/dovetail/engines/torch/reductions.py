"""Rules of reductions, of running sums and products, and of positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.rules import Rule
from dovetail.core.values.shapes import normalize_axes
from dovetail.engines.numpy_like import infinite_bounds, running
from dovetail.engines.torch.tables import of_floats, or_numpy, rules


def _reduce(reduce: Rule, start: Callable[[DType], Any] | None = None) -> Rule:
    """The rule of a torch function that takes no empty list of axes and, if `start` is given, no axis of length 0."""

    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        if type(axis) is int and x.numel():
            return reduce(x, (axis,), keepdims)
        axes = normalize_axes(axis, x.ndim)
        if not axes:
            return x.clone()
        if start is not None and not x.numel() and 0 in [x.shape[i] for i in axes]:
            shape = [1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdims or i not in axes]
            return torch.full(shape, start(native_to_dtype(x.dtype)), dtype=x.dtype, device=x.device)
        return reduce(x, axes, keepdims)

    return rule


def _prod(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    for i in reversed(axes):
        x = torch.prod(x, i, keepdims, dtype=x.dtype)
    return x


rules |= {
    "Mean": _reduce(torch.mean),
    "LogSumExp": _reduce(torch.logsumexp, lambda dtype: -math.inf),
    "Any": _reduce(torch.any),
    "All": _reduce(torch.all),
    "CumulativeLogsumexp": running(torch, torch.logcumsumexp, -math.inf),
}
rules.fresh.add("LogSumExp")
for _name, _rule in {
    "Sum": _reduce(lambda x, axes, keepdims: torch.sum(x, axes, keepdims, dtype=x.dtype)),
    "Prod": _reduce(_prod),
    "Max": _reduce(torch.amax, lambda dtype: infinite_bounds(dtype)[0]),
    "Min": _reduce(torch.amin, lambda dtype: infinite_bounds(dtype)[1]),
    "Cumsum": running(torch, lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype), 0),
    "Cumprod": running(torch, lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype), 1),
}.items():
    or_numpy(_name)(_rule)


@rules.specialized("Sum", "Mean")
def _(operation: Any) -> Rule | None:
    (x,) = operation.inputs
    reduce = torch.sum if operation.type == "Sum" else torch.mean
    axis, keepdims = operation.attrs["axis"], operation.attrs["keepdims"]
    if axis == () or x.ndim is None or not of_floats(operation):
        return None
    if axis is None and not keepdims:
        return reduce
    return partial(reduce, dim=[*range(x.ndim)] if axis is None else axis, keepdim=keepdims)


def _position(find: Rule) -> Rule:
    def rule(x: Any, axis: int | None, keepdims: bool) -> Any:
        x = x.to(torch.uint8) if x.dtype is torch.bool else x
        position = find(x.reshape(-1), 0) if axis is None else find(x, axis, keepdims)
        return position.reshape((1,) * x.ndim) if axis is None and keepdims else position

    return rule


or_numpy("ArgMax")(_position(torch.argmax))
or_numpy("ArgMin")(_position(torch.argmin))


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    return g.sum_to_size(like.shape).to(g.dtype)  # torch sums integers as int64
