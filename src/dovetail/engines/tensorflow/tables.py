"""The table of rules, which the modules of the families fill, and functions that most of them need.

Dovetail's op types are TensorFlow's, so a rule is often TensorFlow's kernel of the same name, called without the layers
of Python around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from dovetail.core.rules import Rule, Rules

rules = Rules()


def kernel(name: str, *parameters: str) -> Rule:
    """A kernel of TensorFlow as a function of its inputs in order, which its `parameters` name."""
    function = getattr(tf.raw_ops, name)
    if parameters == ("x",):
        return lambda x: function(x=x)
    if parameters == ("x", "y"):
        return lambda x, y: function(x=x, y=y)
    return lambda *args, **options: function(**dict(zip(parameters, args, strict=True)), **options)


def cast(x: Any, dtype: Any) -> Any:
    """The values in another dtype; complex ones lose their imaginary part without a warning."""
    return x if x.dtype == dtype else tf.raw_ops.Cast(x=x, DstT=dtype)


def widened(wider: Mapping[Any, Any]) -> Callable[[Rule], Rule]:
    """Decorator: compute tensors of dtypes without a kernel in a wider dtype, and cast the results back.

    Args:
        wider: dtype → the dtype to compute in.
    """

    def decorate(rule: Rule) -> Rule:
        @functools.wraps(rule)
        def wide(x: Any, *args: Any) -> Any:
            target = wider.get(x.dtype)
            if target is None:
                return rule(x, *args)
            dtype = x.dtype
            return cast(rule(cast(x, target), *[cast(a, target) if is_tensor(a) else a for a in args]), dtype)

        return wide

    return decorate


def is_tensor(value: Any) -> bool:
    return isinstance(value, (tf.Tensor, tf.Variable))


SMALL = {tf.int8: tf.int32, tf.int16: tf.int32, tf.uint8: tf.int32, tf.uint16: tf.int32}
UNSIGNED = {tf.uint8: tf.int32, tf.uint16: tf.int32, tf.uint32: tf.int64, tf.uint64: tf.int64}
HALVES = {tf.float16: tf.float32, tf.bfloat16: tf.float32}


def dims(x: Any) -> tuple[Any, ...]:
    """The dimensions: ints where known, scalar tensors where not."""
    known = x.shape.as_list()
    if None not in known:
        return tuple(known)
    whole = tf.unstack(tf.shape(x), num=len(known))
    return tuple(whole[i] if dim is None else dim for i, dim in enumerate(known))


def ints(values: Any, dtype: Any = tf.int32) -> Any:
    """Integers, some of which may be scalar tensors, as an array or a tensor of one axis."""
    if tf.is_tensor(values):  # how many there are depends on values
        return tf.cast(values, dtype)
    if all(isinstance(v, int) for v in values):
        return np.array(values, dtype.as_numpy_dtype)
    return tf.stack([tf.cast(v, dtype) for v in values])
