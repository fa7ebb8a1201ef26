"""Sums of many floats, in parts, since rounding errors grow with the number of additions to one total.

TensorFlow's kernels add in parts along the last axes, but to one total for each column along others.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dovetail.engines.tensorflow.tables import dims, ints, kernel

LONGEST = 256  # the most elements that a kernel adds to one total
LONGEST_ALIGNED = 4096  # the same for columns in whole packets of ALIGNED, of which a kernel keeps several totals
ALIGNED = 64
PART = 128  # the elements of a part if no length near it divides the axis

running_kernel = kernel("Cumsum", "x", "axis", "exclusive", "reverse")
_product = functools.partial(functools.reduce, operator.mul)


def _sum(x: Any, axes: Sequence[int], keepdims: bool = False) -> Any:
    return tf.raw_ops.Sum(input=x, axis=np.array(axes, np.int32), keep_dims=keepdims)


def _reshaped(x: Any, *shape: Any) -> Any:
    return tf.raw_ops.Reshape(tensor=x, shape=ints(shape))


def has_fractions(x: Any) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def is_exact(x: Any, axes: Sequence[int]) -> bool:
    """Whether the kernel's sum over axes has small rounding errors."""
    if not has_fractions(x) or not axes or axes[0] + len(axes) == x.shape.rank:
        return True
    sizes, columns = [x.shape[i] for i in axes], x.shape[axes[-1] + 1 :].num_elements() or 0
    is_aligned = columns > ALIGNED and columns % ALIGNED == 0 and axes[-1] - axes[0] < len(axes)
    return None not in sizes and math.prod(sizes) <= (LONGEST_ALIGNED if is_aligned else LONGEST)


def total(x: Any, axes: Sequence[int], keepdims: bool) -> Any:
    """The sum over axes, which are sorted."""
    if is_exact(x, axes):
        return _sum(x, axes, keepdims)
    sizes = list(dims(x))
    runs = [[i for _, i in run] for _, run in itertools.groupby(enumerate(axes), lambda pair: pair[1] - pair[0])]
    lengths = {run[0]: x.shape[run[0] : run[-1] + 1].num_elements() or math.inf for run in runs}
    for run in sorted(runs, key=lambda run: -lengths[run[0]]):
        x = _columns(_three_axes(x, sizes, run))
        for i in run:
            sizes[i] = 1
    return _reshaped(x, *(size for i, size in enumerate(sizes) if keepdims or i not in axes))


def _three_axes(x: Any, sizes: Sequence[Any], run: Sequence[int]) -> Any:
    """The tensor of some sizes, with the axes before a run of axes, these axes, and those behind it as one each."""
    split = sizes[: run[0]], sizes[run[0] : run[-1] + 1], sizes[run[-1] + 1 :]
    return _reshaped(x, *(_product(part, 1) for part in split))


def _columns(x: Any) -> Any:
    """The sum over the middle one of three axes."""
    size, width = x.shape[1:]
    rests = []
    if size is None and width != 1:
        part = _cube_root(dims(x)[1])
        for _ in range(2):
            x, rest = _added_parts(x, part)
            rests.append(rest)
    while width != 1 and size is not None and size > LONGEST:
        part = _part(size)
        x, rest = _added_parts(x, part)
        rests += [rest] if size % part else []
        size //= part
    return sum((_sum(rest, (1,)) for rest in rests), _sum(x, (1,)))


def _part(size: int) -> int:
    """The length of the parts of an axis: if possible, one that leaves no rest."""
    return max((part for part in range(PART // 4, 2 * PART + 1) if size % part == 0), default=PART)


def _cube_root(size: Any) -> Any:
    """The length of parts that is also about the number of parts in a part of a higher level."""
    return tf.cast(tf.math.ceil(tf.cast(tf.maximum(size, 1), tf.float64) ** (1 / 3)), tf.int32)


def _added_parts(x: Any, part: Any) -> tuple[Any, Any]:
    """The sums of the parts of the middle one of three axes, and the elements behind the last whole part."""
    outer, size, width = dims(x)
    count = size // part
    whole = count * part
    rest = None
    if not isinstance(size, int) or size != whole:
        x, rest = _cut(x, 0, whole), _cut(x, whole, size - whole)
    return _reshaped(_sum(_reshaped(x, outer * count, part, width), (1,)), outer, count, width), rest


def _cut(x: Any, start: Any, length: Any) -> Any:
    outer, _, width = dims(x)
    if x.shape[0] == 1:  # TensorFlow copies no slice along the first axis
        rows = _reshaped(x, -1, width)
        rows = tf.raw_ops.Slice(input=rows, begin=ints((start, 0)), size=ints((length, width)))
        return _reshaped(rows, 1, length, width)
    return tf.raw_ops.Slice(input=x, begin=ints((0, start, 0)), size=ints((outer, length, width)))


def running_total(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """The running sum along an axis: running sums of parts, and the sums of all parts before."""
    axis %= x.shape.rank
    size = x.shape[axis]
    if not has_fractions(x) or (size is not None and size <= LONGEST):
        return running_kernel(x, axis, exclusive, reverse)
    sizes = dims(x)
    return _reshaped(_running(_three_axes(x, sizes, [axis]), exclusive, reverse), *sizes)


def _running(x: Any, exclusive: bool, reverse: bool, part: Any = None, levels: int = 2) -> Any:
    """The running sum along the middle one of three axes; `part` and `levels` are for unknown sizes."""
    outer, size, width = dims(x)
    if size <= LONGEST if isinstance(size, int) else not levels:
        return running_kernel(x, 1, exclusive, reverse)
    if isinstance(size, int):
        part = _part(size)
    elif part is None:
        part = _cube_root(size)
    lacking = -size % part
    if not isinstance(lacking, int) or lacking:
        x = tf.raw_ops.Pad(input=x, paddings=[[0, 0], [0, lacking], [0, 0]])
    count = (size + lacking) // part
    parts = _reshaped(x, outer * count, part, width)
    before = _running(_reshaped(_sum(parts, (1,)), outer, count, width), True, reverse, part, levels - 1)
    result = running_kernel(parts, 1, exclusive, reverse) + _reshaped(before, outer * count, 1, width)
    result = _reshaped(result, outer, size + lacking, width)
    return _cut(result, 0, size) if not isinstance(lacking, int) or lacking else result
