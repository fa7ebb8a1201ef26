"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from typing import Any

import torch

from dovetail.core.base import threefry
from dovetail.engines.torch.tables import rules


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any, part: Any) -> Any:
    if key.device.type == "cpu":  # the CPU is faster with blocks that stay in its cache
        given = (None if x is None else x.numpy() for x in (counter, part))
        return torch.from_numpy(threefry.on_host(key.numpy(), shape, *given))
    size, is_row = math.prod(shape), part is not None and len(shape) == 1
    if part is None:
        x0 = torch.arange((size + 1) // 2, dtype=torch.int32, device=key.device)
    else:
        columns, period = part[0] + torch.arange(shape[-1], device=key.device), threefry.part_period(part[1], is_row)
        is_first = columns < period
        x0 = torch.where(is_first, columns, columns - period).to(torch.int32)
    x1 = torch.zeros_like(x0)
    if counter is not None:
        x0, x1 = x0 + counter[0], x1 + counter[1]
    words = threefry.encrypt(key, x0, x1, signed=True)
    if is_row:
        return torch.where(is_first, *words)
    return torch.cat(words)[:size].reshape(shape)
