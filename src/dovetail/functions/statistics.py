"""Statistics of the numbers of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import describe
from dovetail.passes.probe import FIELDS


class Statistics(NamedTuple):
    """The statistics of a tensor's numbers; in a loop, of the numbers of all its steps.

    Attributes:
        kind: dtype and shape, as text: "float32[2,3]".
        size: how many numbers there are.
        nans, infinities: how many of them are NaN, and how many are infinite.
        least, most: the least and the largest finite number; None if none is finite.
        mean, norm: the mean, and the root of the sum of squares, of the finite numbers.
        zeros: how many of the numbers are 0.
        steps: how often the tensor was computed: 0 in a branch that was not taken, more than 1 in a loop.
        first_bad_step: the first step that had a NaN or an infinity, from 0; None if there is none.

    Example:
        >>> found = Statistics.of(np.array([0.5, np.nan, 2.0]))
        >>> str(found), found.mean
        ('float64[3], 1 NaN of 3 numbers (33.3 %), the others from 0.5 to 2', 1.25)
    """

    kind: str
    size: int
    nans: int
    infinities: int
    least: float | None
    most: float | None
    mean: float
    norm: float
    zeros: int
    steps: int = 1
    first_bad_step: int | None = None

    @classmethod
    def of(cls, array: np.ndarray) -> Statistics:
        """The statistics of an array."""
        numbers = np.abs(array) if array.dtype.kind == "c" else array
        nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
        finite = (numbers[np.isfinite(numbers)] if nans or infinities else numbers).astype("float64")
        least, most = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        mean = float(finite.mean()) if finite.size else 0.0
        norm, zeros = float(np.sqrt(np.square(finite).sum())), int((finite == 0).sum())
        first = 0 if nans or infinities else None
        return cls(describe(array), array.size, nans, infinities, least, most, mean, norm, zeros, 1, first)

    @classmethod
    def of_fields(cls, kind: str, fields: Sequence[float]) -> Statistics:
        """The statistics that a graph computed, as `passes.probe.FIELDS`."""
        values = dict(zip(FIELDS, map(float, fields), strict=True))
        count = values["size"] - values["nans"] - values["infinities"]
        return cls(
            kind,
            int(values["size"]),
            int(values["nans"]),
            int(values["infinities"]),
            values["least"] if count else None,
            values["most"] if count else None,
            values["sum"] / count if count else 0.0,
            math.sqrt(values["squares"]),
            int(values["zeros"]),
            int(values["steps"]),
            int(values["first_bad_step"]) if math.isfinite(values["first_bad_step"]) else None,
        )

    @property
    def bad(self) -> int:
        """How many of the numbers are NaN or infinite."""
        return self.nans + self.infinities

    def __str__(self) -> str:
        if not self.steps:
            return f"{self.kind}, not computed"
        span = "" if self.least is None else f"from {self.least:.4g} to {self.most:.4g}"
        if not self.bad:
            return f"{self.kind}, {span or 'empty'}"
        kinds = " and ".join(
            f"{count} {kind}" for count, kind in ((self.nans, "NaN"), (self.infinities, "infinite")) if count
        )
        share = f"{kinds} of {self.size} number{'s' if self.size > 1 else ''} ({100 * self.bad / self.size:.3g} %)"
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
