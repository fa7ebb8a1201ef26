"""Activations: the nonlinearities of neural networks, elementwise except `softmax`.

Sections that the docstrings of its functions leave out:

Args:
    x: a tensor of floats, of any shape.

Returns:
    A tensor of the shape and dtype of `x`.

Source: `tf.keras.backend.{name}`.

Differs: integers become floats; tf.keras refuses them.

Modern: `keras.ops.{name}(x)`.
"""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import logits
from dovetail.core.kinds import TensorLike

__all__ = [
    "elu",
    "hard_sigmoid",
    "relu",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
]


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """Rectified linear unit: `max(x, 0)`, or a variant that its parameters select.

    Above the threshold the result is `x`, at most `max_value`; elsewhere it is `alpha * (x - threshold)`.

    Args:
        x: a tensor of numbers, of any shape.
        alpha: the slope up to the threshold.
        max_value: the ceiling; None for none.
        threshold: the value above which the result is `x` itself.

    Returns:
        A tensor of the shape and dtype of `x`; floats if a parameter is given, except for a `max_value` of 6.

    Differs: integers with parameters, and booleans, become numbers that fit; tf.keras refuses them.
    Minus infinity is below a threshold like other numbers; tf.keras makes it NaN.

    Modern: `keras.ops.relu(x)`, `keras.activations.relu(x, negative_slope, max_value, threshold)`.

    Example:
        >>> K.relu([-2., 0.5, 3.]).numpy()
        array([0. , 0.5, 3. ], dtype=float32)
        >>> K.relu([-2., 0.5, 3.], alpha=0.1, max_value=2., threshold=1.).numpy()
        array([-0.3 , -0.05,  2.  ], dtype=float32)
    """
    return ops.relu(x, alpha, max_value, threshold)


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Exponential linear unit: `x` above zero, `alpha * (exp(x) - 1)` below.

    Args:
        x: a tensor of floats, of any shape.
        alpha: minus the value that the result tends to for very negative `x`.

    Modern: `keras.ops.elu(x, alpha)`.

    Example:
        >>> K.elu([-1., 2.]).numpy()
        array([-0.63212055,  2.        ], dtype=float32)
    """
    return ops.elu(x, alpha)


def softmax(x: TensorLike, axis: Any = -1) -> Any:
    """Scores as probabilities, which are positive and add up to 1: `exp(x) / sum(exp(x))`.

    Cross-entropies that get the result use the scores it was computed from, so that large scores lose no precision.

    Args:
        x: scores, a tensor of floats of rank 2 or more.
        axis: the axis along which the probabilities add up to 1, or a list of axes, over all of which they add up to 1.

    Raises:
        ValueError: the rank is below 2, or `x` has no such axis.

    Differs: integers become floats, and nested lists a tensor; tf.keras refuses them.
    Along an axis with NaN or infinity all probabilities are NaN, except on tensorflow; tf.keras makes some of them 0.

    Modern: `keras.ops.softmax(x, axis)`.

    Example:
        >>> K.softmax([[1000., 1000.]]).numpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    rank = K.ndim(x)
    if rank is not None and rank < 2:
        raise ValueError(f"the rank must be 2 or more, but it is {rank}; add an axis with K.expand_dims(x, 0).")
    output = ops.softmax(x, axis)
    logits.remember(output, x)
    return output


def softplus(x: TensorLike) -> Any:
    """Smooth rectifier, `log(1 + exp(x))`.

    Example:
        >>> K.softplus([-1000., 0., 1000.]).numpy()
        array([0.000000e+00, 6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return ops.softplus(x)


def softsign(x: TensorLike) -> Any:
    """`x / (1 + |x|)`, which tends to -1 and 1.

    Example:
        >>> K.softsign([-1., 3.]).numpy()
        array([-0.5 ,  0.75], dtype=float32)
    """
    return ops.softsign(x)


def sigmoid(x: TensorLike) -> Any:
    """Logistic function, `1 / (1 + exp(-x))`.

    Cross-entropies that get the result use the scores it was computed from, so that large scores lose no precision.

    Args:
        x: scores, a tensor of floats of any shape.

    Example:
        >>> K.sigmoid([-1000., 0., 1000.]).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    output = ops.sigmoid(x)
    logits.remember(output, x)
    return output


def hard_sigmoid(x: TensorLike) -> Any:
    """Piecewise linear sigmoid, `clip(0.2 * x + 0.5, 0, 1)`.

    Differs: integers become floats, and lists and arrays a tensor; tf.keras refuses them.

    Modern: `keras.ops.clip(0.2 * x + 0.5, 0., 1.)`; the slope of `keras.ops.hard_sigmoid` is 1/6.

    Example:
        >>> K.hard_sigmoid([-3., 0., 1.]).numpy()
        array([0. , 0.5, 0.7], dtype=float32)
    """
    return ops.clip(ops.add(ops.multiply(x, 0.2), 0.5), 0, 1)


def tanh(x: TensorLike) -> Any:
    """Hyperbolic tangent.

    Example:
        >>> K.tanh([-1000., 0., 1000.]).numpy()
        array([-1.,  0.,  1.], dtype=float32)
    """
    return ops.tanh(x)
