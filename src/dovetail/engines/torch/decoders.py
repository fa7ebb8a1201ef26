"""Rules of the search for the most probable labels: many small steps, each of which NumPy takes in less time."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.core.engine import Engine, Rule
from dovetail.core.table import OPS
from dovetail.core.tensor import Tensor
from dovetail.engines.bodies import DECODERS, body_rule
from dovetail.engines.numpy import engine as numpy_engine


def decoders(engine: Engine) -> dict[str, Rule]:
    """The rules, which on the CPU are calls on the NumPy engine, and elsewhere the bodies of the ops.

    Args:
        engine: the native one.
    """
    return {name: _decoder(name, body_rule(name, engine)) for name in DECODERS}


def _decoder(name: str, elsewhere: Rule) -> Rule:
    def rule(inputs: Any, lengths: Any, *static: Any) -> Any:
        if inputs.device.type != "cpu" or inputs.dtype is torch.bfloat16:
            return elsewhere(inputs, lengths, *static)
        arrays = [Tensor(t.detach().numpy(), numpy_engine) for t in (inputs, lengths)]
        return tuple(torch.from_numpy(result.numpy()) for result in OPS[name](*arrays, *static))

    return rule
