"""Ledger: the cost of learning in a process, and the limit of this cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.core.base import config

SHARE = 0.05  # the part of the process' time that learning may take for gains that are only possible
MOST = 0.5  # the part that all learning may take, also for what the process has lost so far
QUIET = 10.0  # seconds after the first call in which learning has no share


class Room(NamedTuple):
    """The seconds that learning may cost now; below zero if it has cost too much.

    Attributes:
        free: for gains that are only possible.
        most: for what the process has lost so far.

    Example:
        >>> Room(free=1.0, most=10.0).of(regret=3.0)
        3.0
    """

    free: float
    most: float = -math.inf

    def of(self, regret: float) -> float:
        """The seconds that a candidate may cost.

        Args:
            regret: the seconds that the process has lost so far by not having it.
        """
        return max(self.free, min(regret, self.most))

    @property
    def is_open(self) -> bool:
        """Whether there are trials at all."""
        return self.free > -math.inf


@dataclass
class Ledger:
    """The seconds that learning has cost; one ledger a process.

    Attributes:
        lost: seconds of slower trial calls, of calls that a preparation slowed, and of the thread that prepares.
        started: the time of the first call, by the clock of the ledger's owner; None before it.

    Example:
        >>> ledger = Ledger(lost=1.0, started=0.0)
        >>> ledger.room(now=100.0), ledger.room(now=5.0)
        (Room(free=4.0, most=49.0), Room(free=-1.0, most=1.5))
    """

    lost: float = 0.0
    started: float | None = None

    def room(self, now: float) -> Room:
        """The seconds that learning may cost now; no room if the program forbids trials."""
        if not config.trials():
            return Room(-math.inf)
        elapsed = 0.0 if self.started is None else now - self.started
        return Room((SHARE * elapsed if elapsed >= QUIET else 0.0) - self.lost, MOST * elapsed - self.lost)

    def lose(self, seconds: float) -> None:
        """Add a cost of learning."""
        self.lost += max(0.0, seconds)
