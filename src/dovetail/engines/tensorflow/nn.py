"""Rules of activations, and of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from dovetail.core.rules import Rule
from dovetail.engines.tensorflow.tables import kernel, rules

rules |= {
    "Relu": kernel("Relu", "features"),
    "Relu6": kernel("Relu6", "features"),
    "Softplus": kernel("Softplus", "features"),
    "Softsign": kernel("Softsign", "features"),
    "Sigmoid": kernel("Sigmoid", "x"),
}


def _gradient(name: str, *settings: str) -> Rule:
    """The rule of a backward kernel, which needs the gradient and the features in one shape."""
    backward = kernel(name, "gradients", "features", *settings)

    def rule(g: Any, x: Any, *values: Any) -> Any:
        if not (g.shape.is_fully_defined() and g.shape == x.shape):
            shape = tf.broadcast_dynamic_shape(tf.shape(g), tf.shape(x))
            g, x = tf.broadcast_to(g, shape), tf.broadcast_to(x, shape)
        return backward(g, x, *values)

    return rule


rules["ReluGrad"] = _gradient("ReluGrad")
rules["Relu6Grad"] = _gradient("Relu6Grad")


def _sloped(kernel: Rule, slope: Rule) -> Rule:
    """The rule of a kernel that has its slope in float32; float64 takes the other rule, if that would round it."""

    def rule(*args: Any) -> Any:
        rounds = args[0].dtype == tf.float64 and args[-1] != float(np.float32(args[-1]))
        return (slope if rounds else kernel)(*args)

    return rule


rules["LeakyRelu"] = _sloped(
    kernel("LeakyRelu", "features", "alpha"), lambda x, alpha: tf.where(x > 0, x, tf.constant(alpha, x.dtype) * x)
)
rules["LeakyReluGrad"] = _sloped(
    _gradient("LeakyReluGrad", "alpha"), lambda g, x, alpha: tf.where(x > 0, g, tf.constant(alpha, g.dtype) * g)
)


@rules("Softmax")
def _(x: Any, axis: Any) -> Any:
    if axis in (-1, x.shape.rank - 1):
        return tf.raw_ops.Softmax(logits=x)
    e = tf.exp(x - tf.reduce_max(x, axis, keepdims=True))
    return e / tf.reduce_sum(e, axis, keepdims=True)


@rules("LogSoftmax")
def _(x: Any, axis: Any) -> Any:
    if axis in (-1, x.shape.rank - 1):
        return tf.raw_ops.LogSoftmax(logits=x)
    x = x - tf.reduce_max(x, axis, keepdims=True)
    return x - tf.math.log(tf.reduce_sum(tf.exp(x), axis, keepdims=True))


@rules("Elu")
def _(x: Any, alpha: float) -> Any:
    y = tf.raw_ops.Elu(features=x)
    return y if alpha == 1 else tf.where(x > 0, y, tf.constant(alpha, x.dtype) * y)
