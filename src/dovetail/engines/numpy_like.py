"""Rules for libraries with NumPy's function names: found by name, or written for any of them."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Collection
from typing import Any

import ml_dtypes
import numpy as np

from dovetail.core.dtypes import DType
from dovetail.core.rules import Rule

NAMES = {
    "AddV2": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "RealDiv": "divide",
    "FloorDiv": "floor_divide",
    "FloorMod": "remainder",
    "Neg": "negative",
    "Abs": "absolute",
    "Sign": "sign",
    "Reciprocal": "reciprocal",
    "Square": "square",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Exp2": "exp2",
    "Expm1": "expm1",
    "Log": "log",
    "Log2": "log2",
    "Log10": "log10",
    "Log1p": "log1p",
    "LogAddExp": "logaddexp",
    "Hypot": "hypot",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Atan2": "arctan2",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "Floor": "floor",
    "Ceil": "ceil",
    "Trunc": "trunc",
    "NotEqual": "not_equal",
    "Less": "less",
    "LessEqual": "less_equal",
    "Greater": "greater",
    "GreaterEqual": "greater_equal",
    "LogicalAnd": "logical_and",
    "LogicalOr": "logical_or",
    "LogicalXor": "logical_xor",
    "LogicalNot": "logical_not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Invert": "bitwise_not",
    "LeftShift": "bitwise_left_shift",
    "RightShift": "bitwise_right_shift",
    "IsNan": "isnan",
    "IsInf": "isinf",
    "IsFinite": "isfinite",
    "SelectV2": "where",
}

# Further ops whose rules return new memory, never a view of an argument, in every library.
FRESH = (
    *("Pow", "Complex", "Erf", "Erfc", "Erfinv", "Lgamma", "Polygamma", "Igamma"),
    *("Sum", "Prod", "Mean", "Max", "Min", "Any", "All", "ArgMax", "ArgMin"),
    *("Cumsum", "Cumprod", "CumulativeLogsumexp"),
    *("FFT", "IFFT", "FFT2D", "IFFT2D", "RFFT", "IRFFT", "BesselI0", "BesselI1"),
)

TRANSFORMS = {"FFT": "fft", "IFFT": "ifft", "FFT2D": "fft2", "IFFT2D": "ifft2", "RFFT": "rfft", "IRFFT": "irfft"}

_WIDE = {np.dtype(half): np.dtype(np.float32) for half in (np.float16, ml_dtypes.bfloat16)}


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype itself, or float32 for a half, which some libraries support badly or not at all."""
    return _WIDE.get(dtype, dtype)


def by_name(library: Any, but: Collection[str] = ()) -> dict[str, Rule]:
    """The rules that are plain functions of the library, except for the ops in `but`."""
    return {op: getattr(library, name) for op, name in NAMES.items() if op not in but}


def transforms(library: Any) -> dict[str, Rule]:
    """The rules of Fourier transforms, which a library's module `fft` has under NumPy's names."""
    return {op: getattr(library.fft, name) for op, name in TRANSFORMS.items()}


def drops_imaginary(from_complex: bool, dtype: DType) -> bool:
    """Whether a cast keeps the real part alone; rules take it first, since casts warn when they drop the rest."""
    return from_complex and not (dtype.is_complex or dtype.is_bool)


def integer_power(library: Any, power: Rule, x: Any, y: Any) -> Any:
    """`x ** y` of signed integers; a negative exponent gives the reciprocal, truncated to an integer."""
    below = y < 0
    base = library.where(below & (x != 1) & (x != -1), x - x, x)  # zeros of the same dtype
    return power(base, library.where(below, 2 - (y & 1), y))  # for 1 and -1, only the parity of the exponent counts


def running(library: Any, accumulate: Rule, start: float) -> Rule:
    """The rule of a running sum, product, …: parameters (x, axis, exclusive, reverse).

    Args:
        library: has NumPy's `flip`, `concatenate` and `full_like`.
        accumulate: (x, axis) → the inclusive result, from the front.
        start: the first element of an exclusive result.
    """

    def rule(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
        axis %= x.ndim
        if reverse:
            x = library.flip(x, (axis,))
        if exclusive:
            before = (slice(None),) * axis
            first = library.full_like(x[(*before, slice(0, 1))], start)
            x = library.concatenate([first, x[(*before, slice(0, -1))]], axis)
        result = accumulate(x, axis)
        return library.flip(result, (axis,)) if reverse else result

    return rule


@functools.lru_cache(256)
def einsum_of_one(equation: str, rank: int) -> tuple[str, tuple[int, ...], list[int]]:
    """An einsum of one operand as three steps: of its diagonals, of a sum over axes, and of a transposition.

    Args:
        equation: the equation, with a result.
        rank: the rank of the operand.

    Returns:
        The equation that takes the diagonals, or "" if there are none; the axes to sum over; the order of the others.
    """
    equation = equation.replace(" ", "")
    spare = [c for c in string.ascii_letters if c not in equation]
    batch = rank - len(equation.partition("->")[0].replace("...", ""))
    term, _, result = equation.replace("...", "".join(spare[:batch])).partition("->")
    letters = "".join(dict.fromkeys(term))
    kept = [c for c in letters if c in result]
    summed = tuple(i for i, c in enumerate(letters) if c not in result)
    return "" if term == letters else f"{term}->{letters}", summed, [kept.index(c) for c in result]


def reduction(reduce: Rule) -> Rule:
    """The rule of a reduction that takes NumPy's keywords."""
    return lambda x, axis, keepdims: reduce(x, axis=axis, keepdims=keepdims)


def infinite_bounds(dtype: DType) -> tuple[Any, Any]:
    """The bounds of a dtype, which Max and Min give over no elements."""
    return (-math.inf, math.inf) if dtype.is_floating else (dtype.min, dtype.max)
