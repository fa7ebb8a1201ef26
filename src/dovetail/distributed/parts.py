"""Parts: in how many pieces a large sum travels, so that one travels while the next one is copied."""

from __future__ import annotations

import statistics
from collections.abc import Hashable

NUMBERS = (1, 2, 4)
TRIALS = 5  # calls by each number before the fastest one stays
LEAST = 1 << 18  # bytes of an array that is worth dividing


class Parts:
    """The measurer of one rank, which decides for its group: the header of an exchange tells the others.

    Example:
        >>> parts = Parts()
        >>> for seconds in [0.4, 0.2, 0.3] * TRIALS:
        ...     parts.saw("gradients", 1 << 20, parts.next("gradients", 1 << 20), seconds)
        >>> parts.next("gradients", 1 << 20), parts.next("gradients", 1000)
        (2, 1)
    """

    def __init__(self) -> None:
        self._times: dict[Hashable, list[tuple[float, int]]] = {}  # (seconds, number) of each trial
        self._best: dict[Hashable, int] = {}

    def next(self, key: Hashable, size: int) -> int:
        """The number of parts of the next exchange.

        Args:
            key: equal for exchanges that are alike.
            size: the bytes of the array.
        """
        if size < LEAST:
            return 1
        return self._best.get(key) or NUMBERS[len(self._times.get(key, ())) % len(NUMBERS)]

    def saw(self, key: Hashable, size: int, number: int, seconds: float) -> None:
        """Take in the time of an exchange by a number of parts, which all ranks began together."""
        if size < LEAST or key in self._best:
            return
        times = self._times.setdefault(key, [])
        times.append((seconds, number))
        if len(times) == TRIALS * len(NUMBERS):
            self._best[key] = min(NUMBERS, key=lambda n: statistics.median(t for t, number in times if number == n))
