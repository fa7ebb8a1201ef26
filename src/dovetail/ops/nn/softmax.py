"""Softmax and its logarithm: scores along an axis as probabilities."""

from __future__ import annotations

from typing import Any

from dovetail.core.calls.static_types import Axes
from dovetail.core.kinds import Float
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.math.exponential import exp, log
from dovetail.ops.math.reduce import max, sum
from dovetail.ops.samples import array, sample

_SAMPLES = [
    sample(array(2, 3)),
    *(sample(array(2, 3, 2), axis) for axis in (1, (0, -1), (), None)),
    sample(array(0, 3)),
    sample(array(), axis=None),
]
_GRADIENT_SAMPLES = [sample(array(2, 3, 2), array(2, 3, 2), axis) for axis in (-1, 1, (0, 2), (), None)]


def _along_axis(*args: Any) -> TensorSpec:
    """The spec of the tensors, which must have the axis or the axes."""
    *tensors, axis = args
    return infer.along(infer.elementwise(*tensors), axis)


@composite("Softmax", cost="reduction", infer=_along_axis, samples=_SAMPLES)
def softmax(x: Float, axis: Axes = -1) -> Tensor:
    """Probabilities `exp(x) / sum(exp(x))` along an axis.

    Args:
        x: scores; adding the same number to all of them changes nothing.
        axis: the axis, or several axes together, along which the probabilities add up to 1; None for all of them.

    Source: `keras.ops.softmax`; Bridle, "Probabilistic interpretation of feedforward classification network outputs",
    1990.

    Example:
        >>> softmax([1000., 1000.]).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    e = exp(x - max(x, axis, keepdims=True))
    return e / sum(e, axis, keepdims=True)


@composite("SoftmaxGrad", cost="reduction", infer=_along_axis, samples=_GRADIENT_SAMPLES)
def softmax_grad(g: Float, y: Float, axis: Axes = -1) -> Tensor:
    """The gradient of `softmax` where `g` arrives at its output `y`.

    Source: the derivative of softmax.

    Example:
        >>> softmax_grad([4., 0.], [0.5, 0.5]).numpy()
        array([ 1., -1.], dtype=float32)
    """
    return (g - sum(g * y, axis, keepdims=True)) * y


softmax.differentiated_by(softmax_grad)


@softmax_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    axis = op.attr("axis")
    inner = sum(h * y, axis, keepdims=True)
    return softmax_grad(h, y, axis), h * (g - sum(g * y, axis, keepdims=True)) - g * inner


@composite("LogSoftmax", cost="reduction", infer=_along_axis, samples=_SAMPLES)
def log_softmax(x: Float, axis: Axes = -1) -> Tensor:
    """Logarithms of the probabilities that `softmax` gives.

    Args:
        x: scores.
        axis: the axis, or several axes together, along which the probabilities add up to 1; None for all of them.

    Source: `keras.ops.log_softmax`.

    Example:
        >>> log_softmax([0., 1000.]).numpy()
        array([-1000.,     0.], dtype=float32)
    """
    z = x - max(x, axis, keepdims=True)
    return z - log(sum(exp(z), axis, keepdims=True))


@composite("LogSoftmaxGrad", cost="reduction", infer=_along_axis, samples=_GRADIENT_SAMPLES)
def log_softmax_grad(g: Float, y: Float, axis: Axes = -1) -> Tensor:
    """The gradient of `log_softmax` where `g` arrives at its output `y`.

    Source: the derivative of log-softmax.

    Example:
        >>> log_softmax_grad([1., 0.], [0., -1000.]).numpy()
        array([0., 0.], dtype=float32)
    """
    return g - exp(y) * sum(g, axis, keepdims=True)


log_softmax.differentiated_by(log_softmax_grad)


@log_softmax_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    axis = op.attr("axis")
    p = exp(y)
    return h - sum(h * p, axis, keepdims=True), -(h * p * sum(g, axis, keepdims=True))
