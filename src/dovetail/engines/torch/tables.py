"""The tables of rules, which the modules of the families fill, and the types that need NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dovetail.core.engine import Rule, Rules
from dovetail.engines import slices
from dovetail.engines.bodies import body_rule
from dovetail.engines.numpy import engine as numpy_engine
from dovetail.engines.numpy_like import FRESH

rules = Rules()
out_rules: dict[str, Rule] = {}
fresh: set[str] = {*FRESH, *slices.COPIES}
# Quicker rules for programs in which all arguments are floats; those of ops with an out rule take `out=` too.
for_floats: dict[str, Rule] = {}

WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch can hold them, but hardly compute with them


def or_numpy(*names: str) -> None:
    """Puts NumPy's rule in for the wide unsigned types, wherever torch refuses them."""
    for name in names:
        for_floats[name] = rules[name]
        rules[name] = covered(name, rules[name])
        if name in out_rules:
            out_rules[name] = rules[name]


def covered(name: str, rule: Rule) -> Rule:
    """A rule, and NumPy's, or the op's body there, for the wide unsigned types that torch refuses."""

    def rule_for_all(x: Any, *args: Any, **out: Any) -> Any:
        try:
            return rule(x, *args, **out)
        except (NotImplementedError, RuntimeError):
            if x.dtype not in WIDE_UNSIGNED:
                raise
            arrays = [a.numpy(force=True) if isinstance(a, torch.Tensor) else a for a in (x, *args)]
            of_numpy = numpy_engine.eager_rules.get(name) or body_rule(name, numpy_engine.native)
            result = torch.from_numpy(np.array(of_numpy(*arrays))).to(x.device)
            return out["out"].copy_(result) if out else result

    return rule_for_all
