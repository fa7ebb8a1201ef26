"""The table of rules, which the modules of the families fill, and the types that need NumPy's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dovetail.core.engines.accumulation import HALVES
from dovetail.core.engines.devices import device_for
from dovetail.core.rules import CALLS, OUT, PROGRAM, Rule, Rules
from dovetail.engines import slices
from dovetail.engines.body_rules import body_rule
from dovetail.engines.numpy import engine as numpy_engine
from dovetail.engines.numpy_like import FRESH

rules = Rules()
rules.fresh |= {*FRESH, *slices.COPIES}

WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch can hold them, but hardly compute with them


def native_device(name: str) -> torch.device:
    """The torch device of Dovetail's name."""
    kind, _, number = name.partition(":")
    return torch.device("cuda", int(number)) if kind == "gpu" else torch.device("cpu")


def new_device(device: str | None = None) -> torch.device | None:
    """The device of a new array; see `device_for`."""
    name = device_for("torch", device)
    return None if name is None else native_device(name)


def of_floats(operation: Any) -> bool:
    """Whether all inputs of an operation are floats of 32 or 64 bits."""
    return all(t.dtype.is_floating and t.dtype not in HALVES for t in operation.inputs)


def is_usual(operation: Any) -> bool:
    """Whether no input of an operation is of a wide unsigned type."""
    return all(t.dtype.name not in ("uint16", "uint32", "uint64") for t in operation.inputs)


def with_kernel(kernel: Any, *names: str, layers: tuple[str, ...] = CALLS) -> Callable[[Rule], Rule]:
    """Decorator: declare a rule of composites if torch has a private function; else their bodies run."""
    return rules(*names, layers=layers) if kernel else lambda rule: rule


def or_numpy(*names: str, layers: tuple[str, ...] = CALLS) -> Callable[[Rule], Rule]:
    """Decorator: declare a rule, with NumPy's rule for the wide unsigned types if torch refuses them.

    Programs call the rule as it is if no argument is of these types.
    """

    def declare(rule: Rule) -> Rule:
        for name in names:
            rules(name, layers=(PROGRAM, OUT) if OUT in layers else (PROGRAM,), variant="usual", when=is_usual)(rule)
            rules(name, layers=layers)(covered(name, rule))
        return rule

    return declare


def covered(name: str, rule: Rule) -> Rule:
    """A rule that uses NumPy's rule, or NumPy's body of the op, for wide unsigned types that torch refuses."""

    def rule_for_all(x: Any, *args: Any, **out: Any) -> Any:
        try:
            return rule(x, *args, **out)
        except (NotImplementedError, RuntimeError):
            tensors = [a for a in (x, *args) if isinstance(a, torch.Tensor)]
            if not any(a.dtype in WIDE_UNSIGNED for a in tensors):
                raise
            arrays = [a.numpy(force=True) if isinstance(a, torch.Tensor) else a for a in (x, *args)]
            of_numpy = numpy_engine.eager_rules[name] or body_rule(name, "numpy")
            result = torch.from_numpy(np.array(of_numpy(*arrays))).to(x.device)
            return out["out"].copy_(result) if out else result

    return rule_for_all
