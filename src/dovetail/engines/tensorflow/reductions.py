"""Rules of reductions, of running sums and products, and of positions of extremes."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from dovetail.core.rules import Rule
from dovetail.core.values.shapes import normalize_axes
from dovetail.engines.tensorflow import sums
from dovetail.engines.tensorflow.tables import HALVES, cast, dims, ints, kernel, rules, widened


def _reduction(name: str) -> Rule:
    function = getattr(tf.raw_ops, name)

    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        return function(input=x, axis=ints(normalize_axes(axis, x.shape.rank)), keep_dims=keepdims)

    return rule


rules |= {name: _reduction(name) for name in ("Prod", "Any", "All")}
rules["Cumsum"] = sums.running_total


@rules("Sum")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return sums.total(x, normalize_axes(axis, x.shape.rank), keepdims)


_mean = _reduction("Mean")


@rules("Mean")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    axes = normalize_axes(axis, x.shape.rank)
    if sums.is_exact(x, axes):
        return _mean(x, axes, keepdims)
    sizes = dims(x)
    return sums.total(x, axes, keepdims) / tf.cast(math.prod([sizes[i] for i in axes]), x.dtype)


def _extreme(name: str, of_bools: str) -> Rule:
    numbers, bools = widened(HALVES)(_reduction(name)), rules[of_bools]
    return lambda x, axis, keepdims: (bools if x.dtype == tf.bool else numbers)(x, axis, keepdims)


rules["Max"] = _extreme("Max", "Any")
rules["Min"] = _extreme("Min", "All")
rules["Cumprod"] = kernel("Cumprod", "x", "axis", "exclusive", "reverse")


@rules("CumulativeLogsumexp")
def _(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    where = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    infinite = x == math.inf
    result = tf.raw_ops.CumulativeLogsumexp(x=tf.where(infinite, tf.zeros((), x.dtype), x), **where)
    reached = tf.cumsum(cast(infinite, x.dtype), **where) > 0
    result = tf.where(reached & ~tf.math.is_nan(result), tf.constant(math.inf, x.dtype), result)
    # The kernel starts from the lowest number instead of -inf.
    return tf.where(result == x.dtype.min, tf.constant(-math.inf, x.dtype), result)


def _position(name: str) -> Rule:
    find = kernel(name, "input", "dimension")

    def rule(x: Any, axis: int | None, keepdims: bool) -> Any:
        rank = x.shape.rank
        if axis is None:
            x = tf.reshape(x, (-1,))
        positions = find(x, axis or 0)
        if x.dtype.is_floating:  # the kernel skips NaN, but the first NaN is the extreme
            nan = tf.math.is_nan(x)
            positions = tf.where(tf.reduce_any(nan, axis or 0), tf.argmax(nan, axis or 0), positions)
        if keepdims:
            return tf.reshape(positions, (1,) * rank) if axis is None else tf.expand_dims(positions, axis)
        return positions

    return rule


rules["ArgMax"] = _position("ArgMax")
rules["ArgMin"] = _position("ArgMin")
