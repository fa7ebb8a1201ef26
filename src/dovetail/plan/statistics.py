"""Statistics of the numbers of a tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import describe


class Statistics(NamedTuple):
    """The statistics of a tensor's numbers.

    Attributes:
        kind: dtype and shape, as text: "float32[2,3]".
        size: how many numbers there are.
        nans, infinities: how many of them are NaN, and how many are infinite.
        least, most: the least and the largest finite number; None if none is finite.

    Example:
        >>> str(Statistics.of(np.array([0.5, np.nan, 2.0])))
        'float64[3], 1 NaN of 3 numbers (33.3 %), the others from 0.5 to 2'
    """

    kind: str
    size: int
    nans: int
    infinities: int
    least: float | None
    most: float | None

    @classmethod
    def of(cls, array: np.ndarray) -> Statistics:
        """The statistics of an array."""
        numbers = np.abs(array) if array.dtype.kind == "c" else array
        nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
        finite = numbers[np.isfinite(numbers)] if nans or infinities else numbers
        least, most = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        return cls(describe(array), array.size, nans, infinities, least, most)

    @property
    def bad(self) -> int:
        """How many of the numbers are NaN or infinite."""
        return self.nans + self.infinities

    def __str__(self) -> str:
        span = "" if self.least is None else f"from {self.least:.4g} to {self.most:.4g}"
        if not self.bad:
            return f"{self.kind}, {span or 'empty'}"
        kinds = " and ".join(
            f"{count} {kind}" for count, kind in ((self.nans, "NaN"), (self.infinities, "infinite")) if count
        )
        share = f"{kinds} of {self.size} numbers ({100 * self.bad / self.size:.3g} %)"
        return f"{self.kind}, {share}, {'none finite' if not span else f'the others {span}'}"


def numbers_of(value: Any) -> np.ndarray | None:
    """A Tensor's numbers as an array; None if they are always finite, as integers are."""
    if not value.dtype.is_differentiable:
        return None
    return np.asarray(value._engine.to_numpy(value._value))


def bad_numbers(value: Any) -> np.ndarray | None:
    """A Tensor's numbers, if some are NaN or infinite; else None."""
    array = numbers_of(value)
    return None if array is None or np.isfinite(array).all() else array
