"""Pressure: whether other programs take processor time from this one, so that its times say little.

Linux counts the time in which each thread could run but had to wait.  A program whose own threads are more than
the cores waits for itself, so other programs count only if they use the processors, too.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

SHARE = 0.2  # of the time: this program's threads wait for longer, and other programs compute for longer
WINDOW = 0.1  # seconds between two looks, since the kernel counts others' time in hundredths of a second
LASTING = 3  # windows in a row after which pressure has begun, or has ended
THREADS, PROCESSORS, STALLED = Path("/proc/self/task"), Path("/proc/stat"), Path("/proc/pressure/cpu")
SLICE = 0.01  # seconds
USED = (0, 1, 2, 5, 6, 7)  # columns of PROCESSORS, less the first: user, nice, system, interrupts, stolen by the host


class Pressure:
    """The pressure of other programs on this one, by windows of time.

    Attributes:
        is_high: whether others pressed it in the last window.
        lasts: whether they have done so for some windows; it changes after as many windows without.

    Example:
        >>> pressure = Pressure()
        >>> pressure.look(now=0.0), pressure.lasts
        (False, False)
    """

    def __init__(self) -> None:
        self.is_high = self.lasts = False
        self._begun: tuple[float, float, float] | None = None
        self._row = 0

    def look(self, now: float) -> bool:
        """Whether others press this program; a new window begins if the last one is over.

        Args:
            now: seconds of a steady clock.
        """
        if self._begun is not None and 0 <= now - self._begun[0] < WINDOW:
            return self.is_high
        begun, self._begun = self._begun, (now, waited(), used_by_others())
        if begun is not None and now > begun[0]:
            least = SHARE * (now - begun[0])
            self.is_high = all(end - start > least for start, end in zip(begun[1:], self._begun[1:], strict=True))
            self._row = 0 if self.is_high == self.lasts else self._row + 1
            if self._row >= LASTING:
                self.lasts, self._row = self.is_high, 0
        return self.is_high


def waited() -> float:
    """The seconds for which this program waited for a processor, by the first way that this system has."""
    for way in (_delays, _stalls, _switches):
        try:
            return way()
        except (ImportError, OSError, ValueError, IndexError):
            continue
    return 0.0


def _delays() -> float:
    """The run delays of all threads."""
    files = [THREADS / thread / "schedstat" for thread in os.listdir(THREADS)]
    return sum(int(file.read_text().split()[1]) for file in files if file.exists()) / 1e9


def _stalls() -> float:
    """The time in which some program waited."""
    return int(STALLED.read_text().split(maxsplit=5)[4].removeprefix("total=")) / 1e6


def _switches() -> float:
    """A time slice for each switch that the kernel forced."""
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw * SLICE


def used_by_others() -> float:
    """The processor seconds that other programs have used; the clock where it is not known."""
    try:
        counts = [int(count) for count in PROCESSORS.read_text().partition("\n")[0].split()[1:]]
        return sum(counts[column] for column in USED) / os.sysconf("SC_CLK_TCK") - time.process_time()
    except (OSError, ValueError, IndexError):
        return time.perf_counter()


pressure = Pressure()
