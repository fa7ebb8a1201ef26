"""Rules of optimizers: a variable and its slots after a step.

    rule(variable, gradient, *slots, numbers by name) → (variable, *slots)

Nothing is assigned.  Variable, gradient and slots have one shape and one dtype; the numbers are scalars.  A rule has
the words of TensorFlow's `Apply…` type, so that no table maps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.ops.math.arithmetic import absolute, sign, square
from dovetail.ops.math.compare import clip, maximum, where
from dovetail.ops.math.exponential import exp, sqrt
from dovetail.ops.shapes.shape import cast

Rule = Callable[..., tuple[Any, ...]]


def _averaged(mean: Any, x: Any, kept: Any) -> Any:
    """A moving average after one more number; `kept` is the share of the numbers before."""
    return mean + (x - mean) * (1 - kept)


def _shrunk(x: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """Numbers after a step that makes their sums of absolute values and of squares smaller."""
    return sign(x) * maximum(absolute(x) - rate * l1, 0) / (1 + l2 * rate)


def gradient_descent(var: Any, grad: Any, *, alpha: Any) -> tuple[Any, ...]:
    """A step against the gradient."""
    return (var - alpha * grad,)


def proximal_gradient_descent(var: Any, grad: Any, *, alpha: Any, l1: Any, l2: Any) -> tuple[Any, ...]:
    """A step against the gradient, after which weights shrink.

    Source: Duchi and Singer, "Efficient online and batch learning using forward backward splitting", 2009.
    """
    return (_shrunk(var - alpha * grad, alpha, l1, l2),)


def momentum(
    var: Any, grad: Any, accum: Any, *, lr: Any, momentum: Any, use_nesterov: bool = False, share: Any = None
) -> tuple[Any, ...]:
    """A step that continues in the direction of the steps before.

    Args:
        accum: the sum of the gradients, of which each step keeps the share `momentum`.
        use_nesterov: whether the variable moves as far as one more step with this gradient would.
        share: the part of the gradient that goes into the sum, if not all of it.
    """
    accum = accum * momentum + (grad if share is None else share * grad)
    return var - lr * (grad + accum * momentum if use_nesterov else accum), accum


def keras_momentum(
    var: Any, grad: Any, accum: Any, *, lr: Any, momentum: Any, use_nesterov: bool = False
) -> tuple[Any, ...]:
    """`momentum`, where the slot is the change of the variable, with the learning rate of each step.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
    """
    step = grad * lr
    accum = accum * momentum - step
    return var + (accum * momentum - step if use_nesterov else accum), accum


def adam(
    var: Any,
    grad: Any,
    m: Any,
    v: Any,
    *vhat: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    beta1_power: Any = None,
    beta2_power: Any = None,
    use_nesterov: bool = False,
) -> tuple[Any, ...]:
    """A step by the moving averages of the gradients and of their squares.

    Args:
        m, v: the averages.
        vhat: for AMSGrad, the largest average of squares so far.
        beta1, beta2: the shares of the averages that stay.
        beta1_power, beta2_power: their powers by the number of the step, which correct averages that begin at zero;
            without them the rate has that correction.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2014; Dozat, "Incorporating Nesterov momentum
        into Adam", 2016; Reddi et al., "On the convergence of Adam and beyond", 2018.
    """
    rate = lr if beta1_power is None else lr * sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = _averaged(m, grad, beta1), _averaged(v, square(grad), beta2)
    ahead = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    vhat = tuple(maximum(largest, v) for largest in vhat)
    return var - rate * ahead / (sqrt(vhat[0] if vhat else v) + epsilon), m, v, *vhat


def adamax(
    var: Any, grad: Any, m: Any, v: Any, *, lr: Any, beta1: Any, beta2: Any, epsilon: Any, beta1_power: Any
) -> tuple[Any, ...]:
    """Adam with the largest gradient, which fades, in place of the average of squares."""
    m, v = _averaged(m, grad, beta1), maximum(beta2 * v, absolute(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def adagrad(
    var: Any, grad: Any, accum: Any, *, lr: Any, epsilon: Any = None, update_slots: bool = True
) -> tuple[Any, ...]:
    """A step by the gradient over the root of the sum of its squares.

    Source: Duchi et al., "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
    """
    accum = accum + square(grad) if update_slots else accum
    root = sqrt(accum) if epsilon is None else sqrt(accum) + epsilon
    return var - lr * grad / root, accum


def proximal_adagrad(var: Any, grad: Any, accum: Any, *, lr: Any, l1: Any, l2: Any) -> tuple[Any, ...]:
    """A step of Adagrad, after which weights shrink."""
    accum = accum + square(grad)
    rate = lr / sqrt(accum)
    return _shrunk(var - rate * grad, rate, l1, l2), accum


def adagrad_da(
    var: Any, grad: Any, total: Any, squares: Any, *, lr: Any, l1: Any, l2: Any, global_step: Any
) -> tuple[Any, ...]:
    """A step from zero by the sums of all gradients and of their squares; steps count from 1."""
    total, squares, step = total + grad, squares + square(grad), cast(global_step, var.dtype)
    large = maximum(absolute(total) - l1 * step, 0)
    return -lr * sign(total) * large / (l2 * step * lr + sqrt(squares)), total, squares


def adadelta(var: Any, grad: Any, accum: Any, accum_update: Any, *, lr: Any, rho: Any, epsilon: Any) -> tuple[Any, ...]:
    """A step whose size follows the size of the steps before.

    Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.
    """
    accum = accum * rho + square(grad) * (1 - rho)
    update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + square(update) * (1 - rho)


def rms_prop(
    var: Any, grad: Any, ms: Any, mom: Any, *, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> tuple[Any, ...]:
    """A step by the gradient over the root of the average of its squares.

    Source: Hinton, "Neural networks for machine learning", lecture 6, 2012.
    """
    ms = _averaged(ms, square(grad), rho)
    mom = mom * momentum + lr * grad / sqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(
    var: Any, grad: Any, mg: Any, ms: Any, mom: Any, *, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> tuple[Any, ...]:
    """A step by the gradient over its standard deviation.

    Source: Graves, "Generating sequences with recurrent neural networks", 2013.
    """
    mg, ms = _averaged(mg, grad, rho), _averaged(ms, square(grad), rho)
    mom = mom * momentum + lr * grad / sqrt(ms - square(mg) + epsilon)
    return var - mom, mg, ms, mom


def add_sign(var: Any, grad: Any, m: Any, *, lr: Any, alpha: Any, sign_decay: Any, beta: Any) -> tuple[Any, ...]:
    """A step that is larger where the gradient has the sign of its average.

    Source: Bello et al., "Neural optimizer search with reinforcement learning", 2017.
    """
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad, m


def power_sign(var: Any, grad: Any, m: Any, *, lr: Any, logbase: Any, sign_decay: Any, beta: Any) -> tuple[Any, ...]:
    """A step that is by a factor larger where the gradient has the sign of its average; as for `add_sign`."""
    m = m * beta + grad * (1 - beta)
    return var - lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad, m


def ftrl(
    var: Any,
    grad: Any,
    accum: Any,
    linear: Any,
    *,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    l2_shrinkage: Any = 0,
    multiply_linear_by_lr: bool = False,
) -> tuple[Any, ...]:
    """A step that follows the regularised leader.

    Source: McMahan et al., "Ad click prediction: a view from the trenches", 2013.
    """

    def by_rate(x: Any) -> Any:
        return x * lr if multiply_linear_by_lr else x

    def over_rate(x: Any) -> Any:
        return x if multiply_linear_by_lr else x / lr

    new = accum + square(grad)
    before, after = accum**-lr_power, new**-lr_power
    linear = linear + by_rate(grad + 2 * l2_shrinkage * var) - over_rate(after - before) * var
    bound, quadratic = by_rate(l1), over_rate(after) + by_rate(2 * l2)
    var = where(absolute(linear) > bound, (clip(linear, -bound, bound) - linear) / quadratic, 0)
    return var, new, linear
