"""Ledger: the cost of learning in a process, and the limit of this cost."""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 0.05  # the part of the process' time that learning may take
QUIET = 10.0  # seconds after the first call in which only the first engine is prepared


@dataclass
class Ledger:
    """The seconds that learning has cost; one ledger a process.

    Attributes:
        lost: seconds of slower trial calls, of calls that a preparation slowed, and of the thread that prepares.
        started: the time of the first call, by the clock of the ledger's owner; None before it.

    Example:
        >>> ledger = Ledger(lost=1.0, started=0.0)
        >>> ledger.room(now=100.0), ledger.room(now=5.0)
        (4.0, -1.0)
    """

    lost: float = 0.0
    started: float | None = None

    def room(self, now: float) -> float:
        """The seconds that learning may cost now; below zero if it has cost too much."""
        elapsed = 0.0 if self.started is None else now - self.started
        return (SHARE * elapsed if elapsed >= QUIET else 0.0) - self.lost

    def lose(self, seconds: float) -> None:
        """Add a cost of learning."""
        self.lost += max(0.0, seconds)
