"""Rules of the steps of optimizers."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from dovetail.core.private import private
from dovetail.core.rules import EAGER, OUT, PROGRAM
from dovetail.engines.torch.tables import rules, with_kernel

rules.fresh |= {"AdamStep"}

_adam = private(torch, "_fused_adam_")
MANY = 1e9  # steps, after which the kernel corrects its averages no more; the rate is corrected already


@cache
def _many(device: torch.device) -> torch.Tensor:
    return torch.tensor(MANY, device=device)


# Torch cannot differentiate this kernel, but can what the op's body consists of.
@with_kernel(_adam, "AdamStep", layers=(EAGER, PROGRAM, OUT))
def _(
    variable: Any,
    gradient: Any,
    mean: Any,
    square_mean: Any,
    rate: Any,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    before = variable, mean, square_mean
    after = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in before] if out is None else out
    for new, old in zip(after, before, strict=True):
        new.copy_(old)
    variables, means, squares = ([t] for t in after)
    _adam(
        variables,
        [gradient.contiguous()],  # the kernel reads memory as it lies
        means,
        squares,
        [],
        [_many(variable.device)],
        lr=rate,
        beta1=beta_1,
        beta2=beta_2,
        weight_decay=0.0,
        eps=epsilon,
        amsgrad=False,
        maximize=False,
    )
    return tuple(after)
