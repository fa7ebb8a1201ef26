"""Sums of many floats with NumPy, in parts, since rounding errors grow with the number of additions to one total.

NumPy adds in parts itself, but only along axes that are the last in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from dovetail.core.values.shapes import normalize_axes

FEW = 1024  # the most elements of an array that NumPy adds alone
LONGEST = 256  # the most elements that are added one after the other to begin with
PART = 128  # the elements of a part, which are added one after the other
RUN = 64  # the elements of a part of a running sum
_add: Any = np.add
WIDTH = 1024  # the elements that one addition of NumPy's inner loop should have


def total(x: Any, axis: Any, keepdims: bool, out: Any = None) -> Any:
    """The sum over axes, in the dtype of `x`."""
    if x.size > FEW and x.dtype.kind in "fc" and (type(axis) is not int or x.shape[axis] > LONGEST):
        axes = normalize_axes(axis, x.ndim)
        if _length(x, axes) > LONGEST and _length(x, _sequential(x, axes)) > LONGEST:
            result = _in_parts(*_merged(x, axes))
            shape = [1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdims or i not in axes]
            result = result.reshape(shape if out is None else out.shape)
            if out is None:
                return result
            out[...] = result
            return out
    return _add.reduce(x, axis, x.dtype, out, keepdims)


def _length(x: Any, axes: Collection[int]) -> int:
    return math.prod([x.shape[i] for i in axes])


def _sequential(x: Any, axes: Collection[int]) -> list[int]:
    """The axes along which NumPy adds one element after the other: all but those that are last in memory."""
    steps = {i: abs(x.strides[i]) for i, dim in enumerate(x.shape) if dim > 1}
    order = sorted([i for i in axes if i in steps], key=steps.__getitem__)
    step = min(steps.values(), default=0)
    while step and order and steps[order[0]] == step:
        step *= x.shape[order.pop(0)]
    return order


def _merged(x: Any, axes: Collection[int]) -> tuple[Any, list[int]]:
    """The array with neighbouring axes joined if all of them, or none, are reduced; and the axes to reduce."""
    shape, reduced = list[int](), list[bool]()
    for i, dim in enumerate(x.shape):
        if x.flags.c_contiguous and reduced and reduced[-1] == (i in axes):
            shape[-1] *= dim
        else:
            shape.append(dim)
            reduced.append(i in axes)
    return x.reshape(shape), [i for i, is_reduced in enumerate(reduced) if is_reduced]


def _in_parts(x: Any, axes: Collection[int]) -> Any:
    """The sum over axes, which stay with size 1."""
    sequential = _sequential(x, axes)
    if _length(x, sequential) <= PART:
        return _add.reduce(x, tuple(axes), x.dtype, keepdims=True)
    axis = max(sequential, key=x.shape.__getitem__)
    before, (size, *after) = x.shape[:axis], x.shape[axis:]
    wide = max(1, min(WIDTH // max(1, math.prod(after)), size // PART))
    part = min(PART, size // wide)
    whole = size // (part * wide) * part * wide
    head, rest = np.split(x, [whole], axis)
    parts = _add.reduce(head.reshape(*before, -1, part, wide, *after), axis + 1, x.dtype)
    result = _in_parts(parts.reshape(*before, whole // part, *after), axes)
    return result + _in_parts(rest, axes) if whole < size else result


def running_total(x: Any, axis: int) -> Any:
    """The running sum along an axis, in the dtype of `x`: sums of parts, and the sums of all parts before."""
    if x.dtype.kind not in "fc" or x.shape[axis] <= 2 * RUN or not x.size:
        return _add.accumulate(x, axis, x.dtype)
    shape = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    return _running(x.reshape(shape)).reshape(x.shape)


def _running(x: Any) -> Any:
    """The running sum along the middle one of three axes."""
    outer, size, width = x.shape
    if size <= 2 * RUN:
        return _add.accumulate(x, 1, x.dtype)
    result, whole = np.empty(x.shape, x.dtype), size // RUN * RUN
    split = outer, -1, RUN, width
    given, sums = x[:, :whole].reshape(split), result[:, :whole].reshape(split)
    if width < 16:
        _add.accumulate(given, 2, None, sums)
    else:  # additions of rows, as `accumulate` goes along columns, far apart in memory
        sums[:, :, 0] = given[:, :, 0]
        for i in range(1, RUN):
            np.add(sums[:, :, i - 1], given[:, :, i], sums[:, :, i])
    before = _running(sums[:, :, -1])
    if width < 8:  # columns are longer than rows
        for i in range(width):
            sums[:, 1:, :, i] += before[:, :-1, None, i]
    else:
        sums[:, 1:] += before[:, :-1, None]
    _add.accumulate(x[:, whole:], 1, None, result[:, whole:])
    result[:, whole:] += before[:, -1:]
    return result
