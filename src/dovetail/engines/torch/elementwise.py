"""Rules of elementwise ops: arithmetic, comparisons, special functions, casts."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.core.dtypes import DType
from dovetail.core.engine import Rule
from dovetail.engines.numpy_like import by_name, drops_imaginary
from dovetail.engines.torch.tables import fresh, or_numpy, out_rules, rules

_FUNCTIONS: dict[str, Rule] = {
    **by_name(torch),
    "Equal": torch.eq,
    "Pow": torch.pow,
    "Rint": torch.round,
    "Rsqrt": torch.rsqrt,
    "Complex": torch.complex,
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Erfinv": torch.erfinv,
    "Lgamma": torch.lgamma,
}
del _FUNCTIONS["Sign"]  # torch's gives 0 for NaN
_NO_OUT = {"IsNan", "IsInf", "IsFinite", "FloorDiv", "FloorMod"}

rules |= {**_FUNCTIONS, "Polygamma": torch.polygamma, "Real": torch.real}
out_rules |= {name: rule for name, rule in _FUNCTIONS.items() if name not in _NO_OUT}
fresh |= _NO_OUT


@rules("FloorDiv")
def _(x: Any, y: Any) -> Any:
    return torch.floor_divide(x, y) if x.is_floating_point() else _unless_zero(torch.floor_divide, x, y)


@rules("FloorMod")
def _(x: Any, y: Any) -> Any:
    return torch.remainder(x, y) if x.is_floating_point() else _unless_zero(torch.remainder, x, y)


def _unless_zero(divide: Rule, x: Any, y: Any) -> Any:
    """Integer division, 0 where torch would raise an error: where `y` is 0."""
    zero = y == 0
    return divide(x, torch.where(zero, 1, y)).masked_fill(zero, 0)


@rules("Imag")
def _(x: Any) -> Any:
    return x.imag if x.is_complex() else torch.zeros_like(x)


or_numpy(
    *("AddV2", "Sub", "FloorDiv", "FloorMod", "Pow", "Neg", "Abs", "Square", "Maximum", "Minimum"),
    *("Less", "LessEqual", "Greater", "GreaterEqual", "Invert", "LeftShift", "RightShift"),
)


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return (x.real if drops_imaginary(x.is_complex(), dtype) else x).to(getattr(torch, dtype))
