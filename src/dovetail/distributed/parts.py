"""Parts: in how many pieces a large sum travels, so that one travels while another one is added up."""

from __future__ import annotations

import statistics
from collections import defaultdict

NUMBERS = (1, 2, 4)
TRIALS = 5  # calls by each number before the fastest one stays
LEAST = 1 << 18  # bytes of an array that is worth dividing


class Parts:
    """The measurer of one rank, which decides for its group: the header of an exchange tells the others.

    Example:
        >>> parts = Parts()
        >>> for seconds in [0.4, 0.2, 0.3] * TRIALS:
        ...     parts.saw(1 << 20, parts.next(1 << 20), seconds)
        >>> parts.next(1 << 20), parts.next(1000)
        (2, 1)
    """

    def __init__(self) -> None:
        self._times: dict[int, list[tuple[float, int]]] = defaultdict(list)  # (seconds, number) of each trial
        self._best: dict[int, int] = {}

    def next(self, size: int) -> int:
        """The number of parts of the next exchange.

        Args:
            size: the bytes of the array; exchanges of as many bytes are alike.
        """
        if size < LEAST:
            return 1
        return self._best.get(size) or NUMBERS[len(self._times[size]) % len(NUMBERS)]

    def saw(self, size: int, number: int, seconds: float) -> None:
        """Take in the time of an exchange by a number of parts, which all ranks began together."""
        if size < LEAST or size in self._best:
            return
        times = self._times[size]
        times.append((seconds, number))
        if len(times) == TRIALS * len(NUMBERS):
            self._best[size] = min(NUMBERS, key=lambda n: statistics.median(t for t, number in times if number == n))
