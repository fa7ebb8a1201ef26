"""Rectified linear units."""

from __future__ import annotations

from numbers import Real
from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Float, Ordered
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.bitwise import logical_or
from dovetail.ops.math.compare import clip, greater, greater_equal, less_equal, maximum, where
from dovetail.ops.samples import array, ints, sample, unary
from dovetail.ops.shapes.shape import sum_like


@composite("Relu", infer=elementwise, samples=[*unary(), sample(ints(4, low=-3, high=3))])
def _relu(x: Ordered) -> Tensor:
    """Rectified linear unit `max(x, 0)`."""
    return maximum(x, 0)


@composite("ReluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3))])
def relu_grad(g: Float, y: Float) -> Tensor:
    """The gradient of `relu` where `g` arrives at its output `y`.

    Source: `tf.raw_ops.ReluGrad`.

    Example:
        >>> relu_grad([5., 6.], [0., 1.]).numpy()
        array([0., 6.], dtype=float32)
    """
    return where(less_equal(y, 0), 0, g)


_relu.differentiated_by(relu_grad)


@relu_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    return sum_like(relu_grad(h, y), g), None


@composite("Relu6", infer=elementwise, samples=[*unary(-4, 8)])
def relu6(x: Ordered) -> Tensor:
    """Rectified linear unit with a ceiling: `min(max(x, 0), 6)`.

    Source: Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010.

    Example:
        >>> relu6([-1., 3., 8.]).numpy()
        array([0., 3., 6.], dtype=float32)
    """
    return clip(x, 0, 6)


@composite("Relu6Grad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3, low=0, high=7))])
def relu6_grad(g: Float, y: Float) -> Tensor:
    """The gradient of `relu6` where `g` arrives at its output `y`.

    Source: `tf.raw_ops.Relu6Grad`.

    Example:
        >>> relu6_grad([4., 5., 6.], [0., 1., 6.]).numpy()
        array([0., 5., 0.], dtype=float32)
    """
    return where(logical_or(less_equal(y, 0), greater_equal(y, 6)), 0, g)


relu6.differentiated_by(relu6_grad)


@relu6_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    return sum_like(relu6_grad(h, y), g), None


@composite("LeakyRelu", infer=elementwise, samples=[*unary(), sample(array(2, 3), negative_slope=0.5)])
def leaky_relu(x: Float, negative_slope: float = 0.2) -> Tensor:
    """Rectified linear unit with a slope below zero: `x` above, `negative_slope * x` below.

    Args:
        x: a tensor of floats.
        negative_slope: the slope for negative `x`.

    Source: Maas et al., "Rectifier nonlinearities improve neural network acoustic models", 2013.

    Example:
        >>> leaky_relu([-10., 3.]).numpy()
        array([-2.,  3.], dtype=float32)
    """
    return where(greater(x, 0), x, x * negative_slope)


@composite("LeakyReluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), 0.1)])
def leaky_relu_grad(g: Float, x: Float, negative_slope: float = 0.2) -> Tensor:
    """The gradient of `leaky_relu` where `g` arrives at its output.

    Source: `tf.raw_ops.LeakyReluGrad`.

    Example:
        >>> leaky_relu_grad([5., 6.], [-1., 1.]).numpy()
        array([1., 6.], dtype=float32)
    """
    return where(greater(x, 0), g, g * negative_slope)


leaky_relu.differentiated_by(leaky_relu_grad)


@leaky_relu_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, x = op.inputs
    return sum_like(leaky_relu_grad(h, x, op.attr("negative_slope")), g), None


@checked
def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0, name: str | None = None
) -> Any:
    """Rectified linear unit: `max(x, 0)`, and its variants.

    Args:
        x: a tensor of numbers.
        negative_slope: below the threshold the result is `negative_slope * (x - threshold)`.
        max_value: the ceiling of the result above the threshold, which then is 0 or more; None for no ceiling.
        threshold: the value of `x` above which the result is `x` itself.  All three are numbers, or tensors that
            broadcast to the shape of `x`.
        name: the name of the node in a graph.

    Source: `keras.backend.relu`; Nair and Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> relu([-2., 0.5, 3.]).numpy()
        array([0. , 0.5, 3. ], dtype=float32)
        >>> relu([-2., 0.5, 3.], negative_slope=0.1, max_value=2., threshold=1.).numpy()
        array([-0.3 , -0.05,  2.  ], dtype=float32)
    """
    if not all(isinstance(each, Real | None) for each in (negative_slope, max_value, threshold)):
        below, above = (x - threshold) * negative_slope, x if max_value is None else clip(x, 0, maximum(max_value, 0))
        return where(less_equal(x, threshold), below, above)
    if threshold == 0 and max_value is None:
        return _relu(x, name=name) if negative_slope == 0 else leaky_relu(x, negative_slope, name=name)
    if threshold == 0 and negative_slope == 0 and max_value == 6:
        return relu6(x, name=name)
    return _general_relu(x, negative_slope, max_value, threshold, name=name)


@composite(
    "ThresholdedRelu",
    samples=[sample(array(2, 3), 0.1, 1.0, 0.5), sample(array(2, 3), 0.0, 1.0, -0.5), sample(array(0, 3), 0.2, 3.0)],
)
def _general_relu(
    x: Float, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """`relu` with all its variants."""
    below = (x - threshold) * negative_slope if negative_slope else 0
    above = x if max_value is None else clip(x, 0, max(max_value, 0))
    return where(less_equal(x, threshold), below, above)
