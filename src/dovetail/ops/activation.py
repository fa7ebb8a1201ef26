"""Activation functions: the nonlinearities of neural networks.

Bodies and gradients stay finite for inputs of any size: nothing is exponentiated that could overflow, and where two
branches meet, the one that is not taken is kept finite too, so that its zero gradient stays zero.  Gradients that
engines have kernels for are ops of their own (`ReluGrad`), like TensorFlow's; they take the gradient that arrives
first.
"""

from __future__ import annotations

from math import pi
from typing import Any

from dovetail.ops.bitwise import logical_and
from dovetail.ops.compare import clip, greater, less, less_equal, maximum, minimum, where
from dovetail.ops.exponential import exp, expm1, log1p
from dovetail.ops.infer import elementwise
from dovetail.ops.kinds import Float, Number
from dovetail.ops.math import absolute
from dovetail.ops.op import composite
from dovetail.ops.samples import array, ints, sample, unary
from dovetail.ops.shape import sum_like
from dovetail.ops.special import erf
from dovetail.ops.trigonometry import tanh
from dovetail.tensor import Tensor

# -- rectifiers -------------------------------------------------------------------------------------------------------


@composite("Relu", infer=elementwise, samples=[*unary(), sample(ints(4, low=-3, high=3))])
def _relu(x: Number) -> Tensor:
    """Rectified linear unit `max(x, 0)`."""
    return maximum(x, 0)


@_relu.gradient
def _(op: Any, g: Any) -> Any:
    return relu_grad(g, op.outputs[0])


@composite("ReluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3))])
def relu_grad(g: Float, y: Float) -> Tensor:
    """The gradient of `relu` where `g` arrives at its output `y`.

    Source: `tf.raw_ops.ReluGrad`.

    Example:
        >>> relu_grad([5., 6.], [0., 1.]).numpy()
        array([0., 6.], dtype=float32)
    """
    return where(less_equal(y, 0), 0, g)


@relu_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    return sum_like(relu_grad(h, y), g), None


@composite("Relu6", infer=elementwise, samples=[*unary(-4, 8)])
def relu6(x: Number) -> Tensor:
    """Rectified linear unit with a ceiling: `min(max(x, 0), 6)`.

    Source: Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010.

    Example:
        >>> relu6([-1., 3., 8.]).numpy()
        array([0., 3., 6.], dtype=float32)
    """
    return clip(x, 0, 6)


@relu6.gradient
def _(op: Any, g: Any) -> Any:
    y = op.outputs[0]
    return where(logical_and(greater(y, 0), less(y, 6)), g, 0)


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


@leaky_relu.gradient
def _(op: Any, g: Any) -> Any:
    return leaky_relu_grad(g, op.inputs[0], op.attr("negative_slope"))


@composite("LeakyReluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), 0.1)])
def leaky_relu_grad(g: Float, x: Float, negative_slope: float = 0.2) -> Tensor:
    """The gradient of `leaky_relu` where `g` arrives at its output.

    Source: `tf.raw_ops.LeakyReluGrad`.

    Example:
        >>> leaky_relu_grad([5., 6.], [-1., 1.]).numpy()
        array([1., 6.], dtype=float32)
    """
    return where(greater(x, 0), g, g * negative_slope)


@leaky_relu_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, x = op.inputs
    return sum_like(leaky_relu_grad(h, x, op.attr("negative_slope")), g), None


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0, name: str | None = None
) -> Any:
    """Rectified linear unit: `max(x, 0)`, and its variants.

    Args:
        x: a tensor of numbers.
        negative_slope: below the threshold the result is `negative_slope * (x - threshold)`.
        max_value: the ceiling of the result, None for none.
        threshold: where the result becomes `x` itself.
        name: the name of the node in a graph.

    Source: `keras.backend.relu`; Nair and Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> relu([-2., 0.5, 3.]).numpy()
        array([0. , 0.5, 3. ], dtype=float32)
        >>> relu([-2., 0.5, 3.], negative_slope=0.1, max_value=2., threshold=1.).numpy()
        array([-0.3 , -0.05,  2.  ], dtype=float32)
    """
    if threshold == 0 and max_value is None:
        return _relu(x, name=name) if negative_slope == 0 else leaky_relu(x, negative_slope, name=name)
    if threshold == 0 and negative_slope == 0 and max_value == 6:
        return relu6(x, name=name)
    return _general_relu(x, negative_slope, max_value, threshold, name=name)


@composite(
    "ThresholdedRelu",
    samples=[sample(array(2, 3), 0.1, 1.0, 0.5), sample(array(2, 3), 0.0, None, -0.5), sample(array(0, 3), 0.2, 3.0)],
)
def _general_relu(
    x: Float, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """`relu` with all its variants."""
    below = (x - threshold) * negative_slope if negative_slope else 0
    y = where(less_equal(x, threshold), below, x)
    return y if max_value is None else minimum(y, max_value)


# -- exponentials -----------------------------------------------------------------------------------------------------


@composite("Elu", infer=elementwise, samples=[*unary(-3, 3), sample(array(2, 3), alpha=0.5)])
def elu(x: Float, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit: `x` above zero, `alpha * (exp(x) - 1)` below.

    Args:
        x: a tensor of floats.
        alpha: minus the value that the result tends to for very negative `x`.

    Source: Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2015.

    Example:
        >>> elu([-1., 2.]).numpy()
        array([-0.63212055,  2.        ], dtype=float32)
    """
    return where(greater(x, 0), x, expm1(minimum(x, 0)) * alpha)


@elu.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    return where(greater(x, 0), g, g * exp(minimum(x, 0)) * op.attr("alpha"))


SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


@composite("Selu", infer=elementwise, samples=unary(-3, 3))
def selu(x: Float) -> Tensor:
    """Scaled exponential linear unit, which keeps activations at mean 0 and variance 1.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> selu([-1., 2.]).numpy()
        array([-1.1113307,  2.101402 ], dtype=float32)
    """
    return elu(x, SELU_ALPHA) * SELU_SCALE


@composite("Celu", infer=elementwise, samples=[*unary(-3, 3), sample(array(2, 3), alpha=0.5)])
def celu(x: Float, alpha: float = 1.0) -> Tensor:
    """Continuously differentiable exponential linear unit: `alpha * (exp(x / alpha) - 1)` below zero.

    Source: Barron, "Continuously differentiable exponential linear units", 2017.

    Example:
        >>> celu([-1., 2.]).numpy()
        array([-0.63212055,  2.        ], dtype=float32)
    """
    return elu(x / alpha) * alpha


@composite("Softplus", infer=elementwise, samples=unary(-5, 5))
def softplus(x: Float) -> Tensor:
    """Smooth rectifier `log(1 + exp(x))`.

    Source: Dugas et al., "Incorporating second-order functional knowledge for better option pricing", 2000.

    Example:
        >>> softplus([-1000., 0., 1000.]).numpy()
        array([0.000000e+00, 6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return maximum(x, 0) + log1p(exp(-absolute(x)))


@softplus.gradient
def _(op: Any, g: Any) -> Any:
    return g * sigmoid(op.inputs[0])


@composite("Softsign", infer=elementwise, samples=unary(-5, 5))
def softsign(x: Float) -> Tensor:
    """`x / (1 + |x|)`, which tends to -1 and 1.

    Source: Turian et al., "Quadratic features and deep architectures for chunking", 2009.

    Example:
        >>> softsign([-1., 3.]).numpy()
        array([-0.5 ,  0.75], dtype=float32)
    """
    return x / (absolute(x) + 1)


@softsign.gradient
def _(op: Any, g: Any) -> Any:
    scale = 1 / (absolute(op.inputs[0]) + 1)
    return g * (scale * scale)


# -- sigmoids ---------------------------------------------------------------------------------------------------------


@composite("Sigmoid", infer=elementwise, samples=unary(-5, 5))
def sigmoid(x: Float) -> Tensor:
    """Logistic function `1 / (1 + exp(-x))`.

    Source: `tf.math.sigmoid`.

    Example:
        >>> sigmoid([-1000., 0., 1000.]).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    small = exp(-absolute(x))
    return where(less(x, 0), small, 1) / (small + 1)


@sigmoid.gradient
def _(op: Any, g: Any) -> Any:
    return sigmoid_grad(g, op.outputs[0])


@composite("SigmoidGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3, low=0.1, high=0.9))])
def sigmoid_grad(g: Float, y: Float) -> Tensor:
    """The gradient of `sigmoid` where `g` arrives at its output `y`.

    Source: `tf.raw_ops.SigmoidGrad`.

    Example:
        >>> sigmoid_grad([4.], [0.5]).numpy()
        array([1.], dtype=float32)
    """
    return g * (y * (1 - y))


@sigmoid_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, y = op.inputs
    return sum_like(sigmoid_grad(h, y), g), sum_like(h * g * (1 - 2 * y), y)


@composite("LogSigmoid", infer=elementwise, samples=unary(-5, 5))
def log_sigmoid(x: Float) -> Tensor:
    """Logarithm of the logistic function, `-log(1 + exp(-x))`.

    Source: `keras.ops.log_sigmoid`.

    Example:
        >>> log_sigmoid([-1000., 0.]).numpy()
        array([-1.000000e+03, -6.931472e-01], dtype=float32)
    """
    return -softplus(-x)


@composite("HardSigmoid", infer=elementwise, samples=unary(-5, 5))
def hard_sigmoid(x: Float) -> Tensor:
    """Piecewise linear sigmoid `clip(x / 6 + 0.5, 0, 1)`.

    Source: `keras.ops.hard_sigmoid`.

    Example:
        >>> hard_sigmoid([-3., 0., 1.5]).numpy()
        array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return clip(x * (1 / 6) + 0.5, 0, 1)


@composite("HardTanh", infer=elementwise, samples=unary(-3, 3))
def hard_tanh(x: Float) -> Tensor:
    """Piecewise linear tanh `clip(x, -1, 1)`.

    Source: `keras.ops.hard_tanh`.

    Example:
        >>> hard_tanh([-3., 0.5]).numpy()
        array([-1. ,  0.5], dtype=float32)
    """
    return clip(x, -1, 1)


# -- self-gated -------------------------------------------------------------------------------------------------------


@composite("Silu", infer=elementwise, samples=unary(-5, 5))
def silu(x: Float) -> Tensor:
    """Sigmoid linear unit `x * sigmoid(x)`, also known as swish.

    Source: Elfwing et al., "Sigmoid-weighted linear units for neural network function approximation", 2017.

    Example:
        >>> silu([-1., 0., 1.]).numpy()
        array([-0.2689414,  0.       ,  0.7310586], dtype=float32)
    """
    return x * sigmoid(x)


@silu.gradient
def _(op: Any, g: Any) -> Any:
    return silu_grad(g, op.inputs[0])


@composite("SiluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3))])
def silu_grad(g: Float, x: Float) -> Tensor:
    """The gradient of `silu` where `g` arrives at its output.

    Source: Elfwing et al., 2017.

    Example:
        >>> silu_grad([4.], [0.]).numpy()
        array([2.], dtype=float32)
    """
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


@silu_grad.gradient
def _(op: Any, h: Any) -> Any:
    g, x = op.inputs
    s = sigmoid(x)
    return sum_like(silu_grad(h, x), g), sum_like(h * g * (s * (1 - s) * (2 + x * (1 - 2 * s))), x)


swish = silu


@composite("HardSilu", infer=elementwise, samples=unary(-5, 5))
def hard_silu(x: Float) -> Tensor:
    """`x * hard_sigmoid(x)`, also known as hard swish.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    Example:
        >>> hard_silu([-3., 0., 1.5]).numpy()
        array([-0.   ,  0.   ,  1.125], dtype=float32)
    """
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@composite("Gelu", infer=elementwise, samples=[*unary(-3, 3), sample(array(2, 3), approximate=False)])
def gelu(x: Float, approximate: bool = True) -> Tensor:
    """Gaussian error linear unit: `x` times the probability that a standard normal variable is below it.

    Args:
        x: a tensor of floats.
        approximate: whether the probability is approximated by a tanh; else it is computed with `erf`.

    Source: `keras.ops.gelu`; Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> gelu([-1., 0., 2.]).numpy().round(4)
        array([-0.1588,  0.    ,  1.9546], dtype=float32)
    """
    return x * _normal_cdf(x, approximate)


@gelu.gradient
def _(op: Any, g: Any) -> Any:
    return gelu_grad(g, op.inputs[0], op.attr("approximate"))


@composite("GeluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), a) for a in (True, False)])
def gelu_grad(g: Float, x: Float, approximate: bool = True) -> Tensor:
    """The gradient of `gelu` where `g` arrives at its output.

    Source: Hendrycks and Gimpel, 2016.

    Example:
        >>> gelu_grad([4.], [0.]).numpy()
        array([2.], dtype=float32)
    """
    near = clip(x, -20, 20)  # further out the slope of the probability is zero
    if approximate:
        t = tanh(_gelu_inner(near))
        slope = (1 - t * t) * ((3 * _GELU_CUBIC * near * near + 1) * (0.5 * _GELU_SCALE))
    else:
        slope = exp(near * near * -0.5) * ((2 * pi) ** -0.5)
    return g * (_normal_cdf(x, approximate) + near * slope)


_GELU_SCALE = (2 / pi) ** 0.5
_GELU_CUBIC = 0.044715


def _gelu_inner(x: Any) -> Any:
    return (x + _GELU_CUBIC * x * x * x) * _GELU_SCALE


def _normal_cdf(x: Any, approximate: bool) -> Any:
    return (tanh(_gelu_inner(x)) if approximate else erf(x * 0.5**0.5)) * 0.5 + 0.5


@composite("Mish", infer=elementwise, samples=unary(-5, 5))
def mish(x: Float) -> Tensor:
    """`x * tanh(softplus(x))`.

    Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Example:
        >>> mish([-1., 0., 1.]).numpy().round(4)
        array([-0.3034,  0.    ,  0.8651], dtype=float32)
    """
    return x * tanh(softplus(x))


@mish.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    t = tanh(softplus(x))
    return g * (t + x * (1 - t * t) * sigmoid(x))
