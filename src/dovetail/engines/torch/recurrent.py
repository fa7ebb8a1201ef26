"""Rules of recurrent layers: for LSTM oneDNN's kernels, if the dtype is float32, for GRU a loop in C++."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import pad

from dovetail.core.base.optional_api import optional_api
from dovetail.core.rules import EAGER, PROGRAM
from dovetail.engines.torch.tables import rules, with_kernel

_lstm, _gru = optional_api(torch, "_VF.lstm"), optional_api(torch, "_VF.gru")

rules.fresh |= {"LSTM", "LSTMGrad", "GRU"}


def _layer(kernel: Any, x: Any, states: Any, weights: list[Any]) -> Any:
    """Call a kernel of aten with biases, one layer, no dropout and one direction, on (batch, steps, features)."""
    given = _in_one_block(weights) if x.is_cuda else weights
    return kernel(x, states, given, True, 1, 0.0, torch.is_grad_enabled(), False, True)


def _in_one_block(weights: list[Any]) -> list[Any]:
    """The weights in memory as cuDNN takes them: each in the order of its elements, one behind the other."""
    block = torch.cat([weight.reshape(-1) for weight in weights])
    parts = block.split([weight.numel() for weight in weights])
    return [part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]


def _is_trivial(x: Any, h: Any) -> bool:
    """Whether there is no step, no example or no unit, which torch's kernels refuse."""
    return 0 in (*x.shape[:2], h.shape[1])


def _trivial(x: Any, *states: Any) -> tuple[Any, ...]:
    return (x.new_zeros((*x.shape[:2], states[0].shape[1])), *(state.clone() for state in states))


def _with_features(x: Any, kernel: Any) -> tuple[Any, Any]:
    """Sequences and their weights; without features, which torch's kernels refuse too, with one feature that is 0."""
    return (x, kernel) if len(kernel) else (pad(x, (0, 1)), pad(kernel, (0, 0, 0, 1)))


@with_kernel(_lstm, "LSTM")
def lstm(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any = None) -> tuple[Any, ...]:
    if _is_trivial(x, h):
        return _trivial(x, h, c)
    x, kernel = _with_features(x, kernel)
    none = x.new_zeros(kernel.shape[1])
    weights = [kernel.t(), recurrent.t(), none if bias is None else bias, none]
    y, h, c = _layer(_lstm, x, (h[None], c[None]), weights)
    return y, h[0], c[0]


# Torch cannot differentiate this kernel, but it can differentiate the op's body.
@with_kernel(_lstm, "LSTMGrad", layers=(EAGER, PROGRAM))
def _(g: Any, g_h: Any, g_c: Any, y: Any, *arguments: Any) -> tuple[Any, ...]:
    """Differentiate by autograd: to compute the outputs again takes less time than to do without oneDNN's kernels."""
    tensors = [t for t in arguments if t is not None]
    if not g.numel():
        x, _, _, *weights = map(torch.zeros_like, tensors)
        return x, g_h.clone(), g_c.clone(), *weights
    leaves = [t.detach().requires_grad_() for t in tensors]
    with torch.enable_grad():  # a scalar total, since autograd imports sympy to take gradients of tensors
        total = sum((result * arriving).sum() for result, arriving in zip(lstm(*leaves), (g, g_h, g_c), strict=True))
    return torch.autograd.grad(total, leaves)


@with_kernel(_gru, "GRU")
def _(x: Any, h: Any, kernel: Any, recurrent: Any, bias: Any) -> tuple[Any, ...]:
    if _is_trivial(x, h):
        return _trivial(x, h)
    x, kernel = _with_features(x, kernel)
    inputs, product = (x.new_zeros(kernel.shape[1]),) * 2 if bias is None else bias.unbind()
    weights = [_reset_first(kernel).t(), _reset_first(recurrent).t(), _reset_first(inputs), _reset_first(product)]
    y, h = _layer(_gru, x, h[None], weights)
    return y, h[0]


def _reset_first(weights: Any) -> Any:
    """The weights of the update gate, the reset gate and the candidate in torch's order."""
    update, reset, candidate = weights.chunk(3, -1)
    return torch.cat([reset, update, candidate], -1)
