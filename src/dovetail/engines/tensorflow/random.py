"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from dovetail.core.base import threefry
from dovetail.engines.tensorflow.tables import ints, rules


class _Words:
    """Unsigned 32-bit words with the operators that the cipher is written in; TensorFlow's tensors have no shifts."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, index: slice) -> _Words:
        return _Words(self.value[index])

    def __add__(self, other: Any) -> _Words:
        return _Words(tf.raw_ops.AddV2(x=self.value, y=_value(other)))

    def __xor__(self, other: Any) -> _Words:
        return _Words(tf.raw_ops.BitwiseXor(x=self.value, y=_value(other)))

    def __or__(self, other: Any) -> _Words:
        return _Words(tf.raw_ops.BitwiseOr(x=self.value, y=_value(other)))

    def __lshift__(self, bits: int) -> _Words:
        return _Words(tf.raw_ops.LeftShift(x=self.value, y=_value(bits)))

    def __rshift__(self, bits: int) -> _Words:
        return _Words(tf.raw_ops.RightShift(x=self.value, y=_value(bits)))


def _value(other: _Words | int) -> Any:
    return other.value if isinstance(other, _Words) else tf.constant(other, tf.uint32)


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any, part: Any) -> Any:
    if tf.executing_eagerly():  # one pass over blocks that stay in the processor's cache
        given = (None if x is None else x.numpy() for x in (counter, part))
        return tf.constant(threefry.on_host(key.numpy(), shape, *given))
    x0, is_first = threefry.first_words(lambda n: tf.range(tf.cast(n, tf.int64)), tf.where, shape, part)
    x0 = tf.cast(x0, tf.uint32)
    x1 = tf.zeros_like(x0)
    if counter is not None:
        first, second = tf.unstack(tf.bitcast(counter, tf.uint32), num=2)
        x0, x1 = x0 + first, x1 + second
    words = threefry.encrypt(_Words(tf.bitcast(key, tf.uint32)), _Words(x0), _Words(x1), signed=False)
    values = [tf.bitcast(w.value, tf.int32) for w in words]
    if is_first is not None:
        return tf.where(is_first, *values)
    return tf.reshape(tf.concat(values, 0)[: math.prod(shape)], ints(shape))
