"""Timing of two programs in turn, in one process, so that a noisy machine slows both alike."""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any


@dataclass
class Comparison:
    """Medians of two programs that ran in turn, in seconds a call."""

    ours: float
    theirs: float
    ratio: float  # the median of the ratios pair by pair

    @property
    def difference(self) -> float:
        """Seconds a call by which ours takes longer."""
        return self.ours - self.theirs


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def repeated(function: Callable[[], Any], seconds: float) -> list[Any]:
    """The results of calls, one after the other for some seconds; at least one call."""
    end = time.perf_counter() + seconds
    found = [function()]
    while time.perf_counter() < end:
        found.append(function())
    return found


def calls_for(function: Callable[[], object], seconds: float) -> int:
    """The number of calls that take about this time; warms the function up."""
    calls = 1
    while True:
        taken = seconds_per_call(function, calls) * calls
        if taken > seconds / 4 or calls > 1_000_000:
            return max(1, int(calls * seconds / max(taken, 1e-9)))
        calls *= 4


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 21, seconds: float = 0.1
) -> Comparison:
    """Time two functions in turn.

    Args:
        ours, theirs: what to call.
        rounds: how many pairs are measured.
        seconds: about how long each measurement takes.
    """
    ours_calls, theirs_calls = calls_for(ours, seconds), calls_for(theirs, seconds)
    pairs = []
    for i in range(rounds):
        order = (ours, ours_calls, theirs, theirs_calls) if i % 2 else (theirs, theirs_calls, ours, ours_calls)
        first, second = seconds_per_call(order[0], order[1]), seconds_per_call(order[2], order[3])
        pairs.append((first, second) if i % 2 else (second, first))
    return Comparison(
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def frames(work: Callable[[], Any]) -> Counter[CodeType]:
    """The number of frames of each Python function that a call begins or resumes."""
    found: Counter[CodeType] = Counter()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def table(title: str, header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table under a title."""
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])
