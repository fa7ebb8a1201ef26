"""Rules of the search for the most probable labels: many small steps, for which NumPy takes less time."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.core.base.table import OPS
from dovetail.core.rules import Rule
from dovetail.core.tensor import Tensor
from dovetail.engines.body_rules import DECODERS, body_rule
from dovetail.engines.numpy import engine as numpy_engine
from dovetail.engines.torch.tables import rules


def _decoder(name: str) -> Rule:
    """The rule of a decoder: on the CPU a call on the NumPy engine, elsewhere the body of the op."""
    elsewhere = body_rule(name, "torch")

    def rule(inputs: Any, lengths: Any, *static: Any) -> Any:
        if inputs.device.type != "cpu" or inputs.dtype is torch.bfloat16:
            return elsewhere(inputs, lengths, *static)
        arrays = [Tensor(t.detach().numpy(), numpy_engine) for t in (inputs, lengths)]
        return tuple(torch.from_numpy(result.numpy()) for result in OPS[name](*arrays, *static))

    return rule


rules |= {name: _decoder(name) for name in DECODERS}
