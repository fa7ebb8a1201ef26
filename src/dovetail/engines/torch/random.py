"""The rule of random bits, from which the ops compute every distribution."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch

from dovetail.core.base import threefry
from dovetail.engines.torch.tables import rules


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any, part: Any) -> Any:
    # The CPU is faster with blocks that stay in its cache; torch's compilers know no numbers.
    if key.device.type == "cpu" and not torch.compiler.is_compiling():
        given = (None if x is None else x.numpy() for x in (counter, part))
        return torch.from_numpy(threefry.on_host(key.numpy(), shape, *given))
    x0, is_first = threefry.first_words(partial(torch.arange, device=key.device), torch.where, shape, part)
    x0 = x0.to(torch.int32)
    x1 = torch.zeros_like(x0)
    if counter is not None:
        x0, x1 = x0 + counter[0], x1 + counter[1]
    words = threefry.encrypt(key, x0, x1, signed=True)
    if is_first is not None:
        return torch.where(is_first, *words)
    return torch.cat(words)[: math.prod(shape)].reshape(shape)
