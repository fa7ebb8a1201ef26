"""Rules of activations and normalizations, and of their gradients."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import torch

from dovetail.core.base.optional_api import optional_api
from dovetail.core.rules import EAGER, OUT, PROGRAM, WITH_OUT, Rule
from dovetail.core.values.shapes import normalize_axes
from dovetail.engines.torch.tables import covered, of_floats, rules, with_kernel

rules.fresh |= {"SoftmaxGrad", "LogSoftmaxGrad", "BatchNormalization", "LayerNormalization", "LayerNormalizationGrad"}


def _gradient_kernel(name: str, *last: Any) -> Any:
    """An elementwise backward kernel of aten, with output grad_input and last arguments `last`; None if missing."""
    kernel = optional_api(torch, f"ops.aten.{name}")
    if kernel is None:
        return None

    def rule(*args: Any, out: Any = None) -> Any:
        return kernel.default(*args, *last) if out is None else kernel.grad_input(*args, *last, grad_input=out)

    return rule


def _nn(name: str) -> Any:
    return optional_api(torch, f"_C._nn.{name}")


_softplus, _gelu = _nn("softplus"), _nn("gelu")
_leaky_relu_grad = _gradient_kernel("leaky_relu_backward")
_elu_grad = _gradient_kernel("elu_backward")
_ACTIVATIONS: dict[str, Rule | None] = {
    "Relu6": covered("Relu6", lambda x, **out: torch.clamp(x, 0, 6, **out)),
    "LeakyRelu": _nn("leaky_relu"),
    "Elu": _nn("elu"),
    "Softplus": _softplus and (lambda x, **out: _softplus(x, 1, 40, **out)),
    "Sigmoid": torch.sigmoid,
    "Silu": _nn("silu"),
    "Gelu": _gelu,
    "ApproximateGelu": _gelu and partial(_gelu, approximate="tanh"),
    "ReluGrad": _gradient_kernel("threshold_backward", 0),
    "Relu6Grad": _gradient_kernel("hardtanh_backward", 0, 6),
    "LeakyReluGrad": _leaky_relu_grad and (lambda g, x, slope, **out: _leaky_relu_grad(g, x, slope, False, **out)),
    "EluGrad": _elu_grad and (lambda g, x, alpha, **out: _elu_grad(g, alpha, 1, 1, False, x, **out)),
    "SigmoidGrad": _gradient_kernel("sigmoid_backward"),
    "GeluGrad": _gradient_kernel("gelu_backward"),
}
for _name, _rule in _ACTIVATIONS.items():
    if _rule is not None:
        rules(_name, layers=WITH_OUT)(_rule)
rules["Relu"] = covered("Relu", torch.relu)  # the quickest, but it takes no `out`
rules("Relu", layers=(OUT,))(covered("Relu", lambda x, **out: torch.clamp_min(x, 0, **out)))
# Torch cannot differentiate this kernel, but it can differentiate the op's body.
_silu_grad = _gradient_kernel("silu_backward")
if _silu_grad is not None:
    rules("SiluGrad", layers=(EAGER, PROGRAM, OUT))(_silu_grad)


def _of_one_axis(kernel: Rule) -> Rule:
    """A softmax kernel, which knows one axis, as a rule that takes several."""

    def rule(*args: Any, **out: Any) -> Any:
        *tensors, axis = args
        if isinstance(axis, int):
            return kernel(*tensors, axis, **out)
        rank = tensors[0].ndim
        axis = tuple(range(rank)) if axis is None else axis
        last = tuple(range(-len(axis), 0))
        moved = [t.movedim(axis, last) for t in tensors]
        kept = moved[0].shape[: rank - len(axis)]
        flat = kernel(*[t.reshape(*kept, prod(t.shape[len(kept) :])) for t in moved], -1)
        result = flat.view(moved[0].shape).movedim(last, axis)
        return out["out"].copy_(result) if out else result

    return rule


_SOFTMAX = {"Softmax": torch.softmax, "LogSoftmax": torch.log_softmax}


@rules.specialized(*_SOFTMAX)
def _(operation: Any) -> Rule | None:
    kernel, axis = _SOFTMAX[operation.type], operation.attrs["axis"]
    return partial(kernel, dim=axis) if type(axis) is int and of_floats(operation) else None


@rules.specialized("Relu")
def _(operation: Any) -> Rule | None:
    return torch.relu if of_floats(operation) else None


for _name, _kernel in _SOFTMAX.items():
    rules(_name, layers=WITH_OUT)(_of_one_axis(_kernel))


def _softmax_gradient(kernel: Any) -> Rule:
    return _of_one_axis(lambda g, y, axis: kernel(g, y, axis, y.dtype))


_SOFTMAX_GRADIENTS = {"SoftmaxGrad": "_softmax_backward_data", "LogSoftmaxGrad": "_log_softmax_backward_data"}
for _name, _function in _SOFTMAX_GRADIENTS.items():
    _kernel = optional_api(torch, f"ops.aten.{_function}.default")
    with_kernel(_kernel, _name)(_softmax_gradient(_kernel))


@rules("BatchNormalization")
def _(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, axis: int, epsilon: float) -> Any:
    wide = torch.promote_types(x.dtype, torch.float32)
    factor = torch.rsqrt(variance.to(wide) + epsilon)
    factor = factor if scale is None else factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    return torch.addcmul(shift.view(shape), x.to(wide), factor.view(shape)).to(x.dtype)


def _layers(x: Any, axis: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """A view with the axes at the end, these axes, and their sizes: torch normalizes over the last axes only."""
    axes = normalize_axes(axis, x.ndim)
    return x.movedim(axes, tuple(range(-len(axes), 0))), axes, tuple(x.shape[a] for a in axes)


@rules("LayerNormalization")
def _(x: Any, gamma: Any, beta: Any, axis: Any, epsilon: float) -> Any:
    x, axes, sizes = _layers(x, axis)
    return torch.layer_norm(x, sizes, gamma, beta, epsilon).movedim(tuple(range(-len(axes), 0)), axes)


@rules.specialized("LayerNormalization")
def _(operation: Any) -> Rule | None:
    x, gamma, beta, axis, epsilon = operation.args
    axes = () if x.ndim is None else normalize_axes(axis, x.ndim)
    sizes = [x.shape[i] for i in axes]
    if gamma is None or beta is None or None in sizes or axes != tuple(range(x.ndim or 0))[-len(axes) :]:
        return None
    return lambda x, gamma, beta: torch.layer_norm(x, sizes, gamma, beta, epsilon)


_layer_norm_backward = optional_api(torch, "ops.aten.native_layer_norm_backward.default")


@with_kernel(_layer_norm_backward, "LayerNormalizationGrad")
def _(g: Any, x: Any, gamma: Any, axis: Any, epsilon: float) -> tuple[Any, Any]:
    x, axes, sizes = _layers(x, axis)
    g, _, _ = _layers(g, axis)
    weight = x.new_ones(sizes) if gamma is None else gamma
    _, center, factor = torch.native_layer_norm(x, sizes, weight, None, epsilon)
    dx, dgamma, _ = _layer_norm_backward(g, x, sizes, center, factor, weight, None, [True, True, False])
    return dx.movedim(tuple(range(-len(axes), 0)), axes), dgamma


@rules("ScaledDotProductAttention")
def _(query: Any, key: Any, value: Any, mask: Any, scale: float | None, is_causal: bool) -> Any:
    hidden = 0.7 * torch.finfo(query.dtype).min  # no infinity, which would make rows that see nothing NaN
    if mask is not None and mask.dtype == torch.bool:
        mask = query.new_zeros(mask.shape).masked_fill(~mask, hidden)
    if mask is not None and is_causal:  # the kernel takes one or the other
        past = mask.new_ones((query.shape[-2], key.shape[-2]), dtype=torch.bool).tril()
        mask, is_causal = mask.masked_fill(~past, hidden), False
    mask = None if mask is None else mask.to(query.dtype)
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal, scale=scale)
