"""Domains: the numbers that a parameter takes, as its annotation says.

    rate: Annotated[float, within(0, 1)]
    q: Annotated[TensorLike, Kind("float"), within(0, 1)]

A call checks the values that it knows: Python values and NumPy arrays.  It does not check the values of tensors: in a
graph there are none yet, and on a device it would take time to read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

INFINITY = float("inf")


@dataclass(frozen=True)
class Domain:
    """An interval of numbers; each end may be included or not."""

    low: float = -INFINITY
    high: float = INFINITY
    without_low: bool = False
    without_high: bool = False

    def __str__(self) -> str:
        if self.high == INFINITY:
            return f"above {self.low}" if self.without_low else f"{self.low} or more"
        return f"in {'(' if self.without_low else '['}{self.low}, {self.high}{')' if self.without_high else ']'}"

    def require(self, name: str, value: Any) -> None:
        """Raise ValueError if a number, or one in an array or list, is not in the domain."""
        for number in _numbers(value):
            wrong = np.extract(np.logical_not(self._holds(number)), number)
            if wrong.size:
                raise ValueError(f"{name} must be {self}, not {wrong[0]}.")

    def _holds(self, value: Any) -> Any:  # no domain holds NaN
        above = value > self.low if self.without_low else value >= self.low
        return above & (value < self.high if self.without_high else value <= self.high)


def within(low: float, high: float) -> Domain:
    """The domain from low to high, both included."""
    return Domain(low, high)


def at_least(low: float) -> Domain:
    return Domain(low)


def above(low: float) -> Domain:
    return Domain(low, without_low=True)


Count: TypeAlias = Annotated[int, at_least(0)]
NotNegative: TypeAlias = Annotated[float, at_least(0)]


def _numbers(value: Any) -> list[Any]:
    """The numbers, and arrays of numbers, in a value, without its tensors."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _numbers(item)]
    if isinstance(value, (np.ndarray, np.generic)):
        return [value] if value.dtype.kind in "biuf" else []
    return [value] if isinstance(value, (int, float)) else []
