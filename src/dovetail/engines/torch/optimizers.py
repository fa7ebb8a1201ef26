"""Rules of the steps of optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from dovetail.core.private import private
from dovetail.core.rules import EAGER, OUT, PROGRAM
from dovetail.engines.torch.tables import rules, with_kernel

rules.fresh |= {"AdamStep", "SgdStep"}

_adam = private(torch, "_fused_adam_")
_foreach = [private(torch, f"_foreach_{name}") for name in ("mul", "add", "addcmul", "addcmul_")]
_mul, _add, _addcmul, _addcmul_ = _foreach
MANY = 1e9  # steps, after which the kernel corrects its averages no more; the rate is corrected already


@cache
def _many(device: torch.device) -> torch.Tensor:
    return torch.tensor(MANY, device=device)


# Torch cannot differentiate this kernel, but can what the op's body consists of.
@with_kernel(_adam, "AdamStep", layers=(EAGER, PROGRAM, OUT))
def _(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    means: Sequence[Any],
    square_means: Sequence[Any],
    rate: Any,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    out: Any = None,
) -> tuple[Any, ...]:
    count = len(variables)
    before = [*variables, *means, *square_means]
    after = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in before] if out is None else out
    for new, old in zip(after, before, strict=True):
        new.copy_(old)
    _adam(
        after[:count],
        [gradient.contiguous() for gradient in gradients],  # the kernel reads memory as it lies
        after[count : 2 * count],
        after[2 * count :],
        [],
        [_many(variables[0].device)] * count,
        lr=rate,
        beta1=beta_1,
        beta2=beta_2,
        weight_decay=0.0,
        eps=epsilon,
        amsgrad=False,
        maximize=False,
    )
    return tuple(after)


# Torch's kernel of this step, `_fused_sgd_`, keeps other momenta than Keras: they are not times the rate.
@with_kernel(all(_foreach), "SgdStep", layers=(EAGER, PROGRAM))
def _(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    momenta: Sequence[Any],
    rate: Any,
    momentum: float,
    nesterov: bool,
) -> tuple[Any, ...]:
    rates = [rate] * len(gradients)
    if not momenta:
        return tuple(_addcmul(variables, gradients, rates, value=-1))
    changes = after = _mul(momenta, momentum)
    _addcmul_(after, gradients, rates, value=-1)
    if nesterov:
        changes = _mul(after, momentum)
        _addcmul_(changes, gradients, rates, value=-1)
    return (*_add(variables, changes), *after)
