"""Domains: which numbers a parameter takes, as its annotation says it.

    rate: Annotated[float, within(0, 1)]
    q: Annotated[TensorLike, Kind("float"), within(0, 1)]

What is known when a call is made is checked: Python values and NumPy arrays.  The values of tensors are not: in a graph
there are none yet, and on a device it would take time to see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

INFINITY = float("inf")


@dataclass(frozen=True)
class Domain:
    """An interval of numbers; each end may be one of them or not."""

    low: float = -INFINITY
    high: float = INFINITY
    without_low: bool = False
    without_high: bool = False

    def __str__(self) -> str:
        if self.high == INFINITY:
            return f"above {self.low}" if self.without_low else f"{self.low} or more"
        return f"in {'(' if self.without_low else '['}{self.low}, {self.high}{')' if self.without_high else ']'}"

    def require(self, name: str, value: Any) -> None:
        """Raises ValueError where a number, or one of an array or list, is not in the domain."""
        for number in _numbers(value):
            wrong = np.extract(np.logical_not(self._holds(number)), number)
            if wrong.size:
                raise ValueError(f"{name} must be {self}, not {wrong[0]}.")

    def _holds(self, value: Any) -> Any:  # nothing holds NaN
        above = value > self.low if self.without_low else value >= self.low
        return above & (value < self.high if self.without_high else value <= self.high)


def within(low: float, high: float) -> Domain:
    """From low to high, both included."""
    return Domain(low, high)


def at_least(low: float) -> Domain:
    return Domain(low)


def above(low: float) -> Domain:
    return Domain(low, without_low=True)


Count: TypeAlias = Annotated[int, at_least(0)]
NotNegative: TypeAlias = Annotated[float, at_least(0)]


def _numbers(value: Any) -> list[Any]:
    """The numbers, and arrays of numbers, that a value is made of; tensors are left out."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _numbers(item)]
    if isinstance(value, (np.ndarray, np.generic)):
        return [value] if value.dtype.kind in "biuf" else []
    return [value] if isinstance(value, (int, float)) else []
