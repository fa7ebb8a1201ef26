"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from typing import Any

import torch

from dovetail.core import threefry
from dovetail.engines.torch.tables import rules


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any) -> Any:
    if key.device.type == "cpu":  # the CPU is faster with blocks that stay in its cache
        return torch.from_numpy(threefry.on_host(key.numpy(), shape, None if counter is None else counter.numpy()))
    size = math.prod(shape)
    x0 = torch.arange((size + 1) // 2, dtype=torch.int32, device=key.device)
    x1 = torch.zeros_like(x0)
    if counter is not None:
        x0, x1 = x0 + counter[0], x1 + counter[1]
    return torch.cat(threefry.encrypt(key, x0, x1, signed=True))[:size].reshape(shape)
