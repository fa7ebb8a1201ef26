"""Activation functions: the smooth nonlinearities of neural networks, and their piecewise linear stand-ins.

Bodies and gradients stay finite for inputs of any size: no exponential overflows.  A branch of `where` that is not
taken stays finite too, so that its zero gradient stays zero.  Gradients for which engines have kernels are ops of their
own (`ReluGrad`), like TensorFlow's; their first argument is the gradient that arrives.
"""

from __future__ import annotations

from math import pi
from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Float
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.math.arithmetic import absolute
from dovetail.ops.math.compare import clip, greater, less, maximum, minimum, where
from dovetail.ops.math.exponential import exp, expm1, log1p
from dovetail.ops.math.special import erf
from dovetail.ops.samples import array, sample, unary
from dovetail.ops.shapes.shape import sum_like

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


@composite("EluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), a) for a in (1.0, 0.5)])
def elu_grad(g: Float, x: Float, alpha: float = 1.0) -> Tensor:
    """The gradient of `elu` where `g` arrives at its output.

    Source: Clevert et al., 2015.

    Example:
        >>> elu_grad([4., 5.], [0., 1.]).numpy()
        array([4., 5.], dtype=float32)
    """
    return where(greater(x, 0), g, g * exp(minimum(x, 0)) * alpha)


elu.differentiated_by(elu_grad)


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


@composite("SigmoidGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3, low=0.1, high=0.9))])
def sigmoid_grad(g: Float, y: Float) -> Tensor:
    """The gradient of `sigmoid` where `g` arrives at its output `y`.

    Source: `tf.raw_ops.SigmoidGrad`.

    Example:
        >>> sigmoid_grad([4.], [0.5]).numpy()
        array([1.], dtype=float32)
    """
    return g * (y * (1 - y))


sigmoid.differentiated_by(sigmoid_grad)


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
        >>> silu([-1., 0., 1.]).numpy().round(4)
        array([-0.2689,  0.    ,  0.7311], dtype=float32)
    """
    return x * sigmoid(x)


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


silu.differentiated_by(silu_grad)


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


@checked
def gelu(x: Any, approximate: bool = True, name: str | None = None) -> Any:
    """Gaussian error linear unit: `x` times the probability that a standard normal variable is below it.

    Args:
        x: a tensor of floats.
        approximate: whether the probability is approximated by a logistic function; else it is computed with `erf`.
        name: the name of the node in a graph.

    Source: `keras.ops.gelu`; Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> gelu([-1., 0., 2.]).numpy().round(4)
        array([-0.1588,  0.    ,  1.9546], dtype=float32)
        >>> gelu([-1., 0., 2.], approximate=False).numpy().round(4)
        array([-0.1587,  0.    ,  1.9545], dtype=float32)
    """
    return (_approximate_gelu if approximate else _gelu)(x, name=name)


# 1 / 2 + tanh(u) / 2 is the logistic function of 2 u, which is cheaper: 2 u = (LINEAR + CUBIC * x * x) * x
_GELU_LINEAR = 2 * (2 / pi) ** 0.5
_GELU_CUBIC = 0.044715 * _GELU_LINEAR


@composite("ApproximateGelu", infer=elementwise, samples=unary(-3, 3))
def _approximate_gelu(x: Float) -> Tensor:
    """`gelu` with the approximation."""
    return x * sigmoid((x * x * _GELU_CUBIC + _GELU_LINEAR) * x)


@_approximate_gelu.gradient
def _(op: Any, g: Any) -> Any:
    x = clip(op.inputs[0], -20, 20)  # further out the slope is 0 or 1, and squares must not overflow
    square = x * x
    p = sigmoid((square * _GELU_CUBIC + _GELU_LINEAR) * x)
    return g * (p + x * (p * (1 - p)) * (square * (3 * _GELU_CUBIC) + _GELU_LINEAR))


@composite("Gelu", infer=elementwise, samples=unary(-3, 3))
def _gelu(x: Float) -> Tensor:
    """`gelu` without the approximation."""
    return x * _normal_cdf(x)


@composite("GeluGrad", infer=elementwise, samples=[sample(array(2, 3), array(2, 3))])
def gelu_grad(g: Float, x: Float) -> Tensor:
    """The gradient of `gelu`, not approximated, where `g` arrives at its output.

    Source: Hendrycks and Gimpel, 2016.

    Example:
        >>> gelu_grad([4.], [0.]).numpy()
        array([2.], dtype=float32)
    """
    return g * (_normal_cdf(x) + x * exp(x * x * -0.5) * (2 * pi) ** -0.5)


_gelu.differentiated_by(gelu_grad)


def _normal_cdf(x: Any) -> Any:
    return erf(x * 0.5**0.5) * 0.5 + 0.5


@composite("Mish", infer=elementwise, samples=unary(-5, 5))
def mish(x: Float) -> Tensor:
    """`x * tanh(softplus(x))`.

    Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Example:
        >>> mish([-1., 0., 1.]).numpy().round(4)
        array([-0.3034,  0.    ,  0.8651], dtype=float32)
    """
    return x * _tanh_of_softplus(exp(minimum(x, 20)))


@mish.gradient
def _(op: Any, g: Any) -> Any:
    x = op.inputs[0]
    e = exp(minimum(x, 20))
    t = _tanh_of_softplus(e)
    return g * (t + x * (1 - t * t) * (e / (e + 1)))


def _tanh_of_softplus(e: Any) -> Any:
    """The tanh of softplus, given e = exp(x): n / (n + 2) with n = e (e + 2), which is 1 from e = exp(20) on."""
    n = e * (e + 2)
    return n / (n + 2)
