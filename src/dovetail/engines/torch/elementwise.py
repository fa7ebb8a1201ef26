"""Rules of elementwise ops: arithmetic, comparisons, special functions, casts."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.core.dtypes import DType
from dovetail.core.rules import CALLS, EAGER, PROGRAM, WITH_OUT, Rule
from dovetail.engines.numpy_like import by_name, drops_imaginary, transforms
from dovetail.engines.torch.tables import or_numpy, rules

_FUNCTIONS: dict[str, Rule] = {
    **by_name(torch, but=("Sign", "FloorDiv", "FloorMod")),  # torch's sign of NaN is 0
    "Equal": torch.eq,
    "Pow": torch.pow,
    "Rint": torch.round,
    "Rsqrt": torch.rsqrt,
    "Complex": torch.complex,
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Erfinv": torch.erfinv,
    "Lgamma": torch.lgamma,
    "BesselI0": torch.special.i0,
    "BesselI1": torch.special.i1,
}
_NO_OUT = {"IsNan", "IsInf", "IsFinite"}
_NOT_FOR_WIDE_UNSIGNED = {
    *("AddV2", "Sub", "Pow", "Neg", "Abs", "Square", "Maximum", "Minimum", "Invert", "LeftShift", "RightShift"),
    *("Less", "LessEqual", "Greater", "GreaterEqual"),
    "SelectV2",  # of PyTorch 2.6
}

for _name, _function in _FUNCTIONS.items():
    _declared = or_numpy if _name in _NOT_FOR_WIDE_UNSIGNED else rules
    _declared(_name, layers=CALLS if _name in _NO_OUT else WITH_OUT)(_function)
rules |= {"Polygamma": torch.polygamma, "Real": torch.real}
rules.fresh |= {*_NO_OUT, "FloorDiv", "FloorMod"}


@rules("Igamma", layers=(EAGER, PROGRAM))  # torch cannot differentiate it by the order: its own values get the body
def _(a: Any, x: Any) -> Any:
    wide = torch.promote_types(x.dtype, torch.float32)
    return torch.special.gammainc(a.to(wide), x.to(wide)).to(x.dtype)


@or_numpy("FloorDiv")
def _(x: Any, y: Any) -> Any:
    return torch.floor_divide(x, y) if x.is_floating_point() else _unless_zero(torch.floor_divide, x, y)


@or_numpy("FloorMod")
def _(x: Any, y: Any) -> Any:
    return torch.remainder(x, y) if x.is_floating_point() else _unless_zero(torch.remainder, x, y)


def _unless_zero(divide: Rule, x: Any, y: Any) -> Any:
    """Integer division that gives 0 where `y` is 0, for which torch would raise an error."""
    zero = y == 0
    return divide(x, torch.where(zero, 1, y)).masked_fill(zero, 0)


@rules("Imag")
def _(x: Any) -> Any:
    return x.imag if x.is_complex() else torch.zeros_like(x)


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return (x.real if drops_imaginary(x.is_complex(), dtype) else x).to(getattr(torch, dtype))


def _of_any_size(transform: Rule) -> Rule:
    def rule(x: Any, *length: Any) -> Any:
        if x.numel():
            return transform(x, *length)
        some = transform(x.new_zeros([size or 1 for size in x.shape]), *length)  # MKL refuses to transform nothing
        return some[tuple(map(slice, x.shape[:-1]))]

    return rule


rules |= {name: _of_any_size(transform) for name, transform in transforms(torch).items()}
