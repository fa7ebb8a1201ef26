"""Shares: how many rows of a batch each rank computes; equal ones, or by the measured speed of the ranks.

With measured shares, a rank measures the time between two batches, without the time in which it waits for others.
After some batches, the ranks tell each other their speed.  If the slowest rank holds the others up, each gets rows in
the ratio of the speeds.  Each change brings new shapes, so there are few changes, and rows come in multiples.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np

from dovetail.core.engines.collectives import WORLD

REVIEW = 16  # batches before the first review; twice as many before each later one
CHANGES = 4  # the most changes
GAIN = 1.1  # times the step that equal waiting would take: a review changes shares if the step takes longer
EQUAL = [1.0]
UNITS = 32  # a batch is divided into about this many multiples


def parts(total: int) -> list[int]:
    """The rows of a batch that each rank computes; all ranks call it for the same batches.

    Args:
        total: the rows of the batch.

    Returns:
        A number for each rank.  Rank 0 has all rows of a batch with fewer rows than ranks.

    Source: for measured shares, Chen et al. 2020, "Semi-dynamic load balancing: efficient distributed learning in
    non-dedicated environments".

    Example:
        >>> parts(5)  # in one process
        [5]
    """
    if WORLD.shares == "measured":
        _measured.begin(total)
        return divided(total, _measured.speeds)
    return divided(total, EQUAL * WORLD.size)


def divided(total: int, speeds: Sequence[float]) -> list[int]:
    """Rows in the ratio of speeds, in multiples, at least one for each rank.

    Example:
        >>> divided(128, [3.0, 1.0]), divided(15, [1.0, 1.0]), divided(1, [1.0, 1.0])
        ([96, 32], [8, 7], [1, 0])
    """
    count = len(speeds)
    if total < count:
        return [total] + [0] * (count - 1)
    if len({*speeds}) == 1:
        each, rest = divmod(total, count)
        return [each + (rank < rest) for rank in range(count)]
    unit = max(1, min(total // UNITS, total // count))
    units, rest = divmod(total, unit)
    shares = [1] * count
    for _ in range(units - count):  # the next one to the rank that lacks most
        lacks = [units * speed / sum(speeds) - share for speed, share in zip(speeds, shares, strict=True)]
        shares[lacks.index(max(lacks))] += 1
    rows = [unit * share for share in shares]
    rows[rows.index(max(rows))] += rest
    return rows


class _Measured:
    """The speeds of the ranks, relative to each other, as the latest change of shares took them in."""

    def __init__(self) -> None:
        self._speeds: list[float] = []
        self._changes, self._left, self._period = 0, REVIEW, REVIEW
        self._times: list[float] = []  # seconds a row
        self._before: tuple[float, float, int] | None = None  # the start of a batch: time, waited so far, rows

    @property
    def speeds(self) -> list[float]:
        """A number for each rank."""
        return self._speeds or EQUAL * WORLD.size

    def begin(self, total: int) -> None:
        """Take in that a batch begins, so that the one before it is done; at times, compare the ranks."""
        now = time.perf_counter()
        if self._before is not None and self._before[2] > 0:
            start, waited, rows = self._before
            self._times.append((now - start - (WORLD.waited - waited)) / rows)
        if self._changes < CHANGES:
            self._left -= 1
            if self._left == 0:
                self._review()
        self._before = now, WORLD.waited, divided(total, self.speeds)[WORLD.rank]

    def _review(self) -> None:
        """Change the shares, on all ranks alike, if that makes steps shorter."""
        self._period *= 2
        self._left = self._period
        own = 1 / statistics.median(self._times) if self._times else 0.0
        speeds = WORLD.exchange("AllGather", np.array([own]), ()).tolist()
        self._times = []
        if min(speeds) <= 0:  # a rank had no rows
            return
        whole, shares = sum(self.speeds), zip(self.speeds, speeds, strict=True)
        if max(share / whole / speed for share, speed in shares) > GAIN / sum(speeds):
            self._speeds = speeds
            self._changes += 1


_measured = _Measured()
