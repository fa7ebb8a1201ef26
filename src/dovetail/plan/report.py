"""Report: the rows that a measured plan, the log, and `dovetail plan show` print."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from dovetail.plan import policy
from dovetail.plan.policy import Arm, State
from dovetail.plan.strategy import Strategy


class Row(NamedTuple):
    """A strategy with the numbers that decide about it; times are seconds of a step.

    Attributes:
        strategy: the way to run the graph.
        predicted: the time before any measurement; 0 if it was not predicted.
        measured: the median time; 0 if it was not measured.
        calls: the number of measured calls.
        gain, cost: the expected gain and cost of a trial, in seconds; 0 for the strategy that runs.
        problem: the reason why it cannot run; "" if none is known.

    Example:
        >>> print(Row(Strategy("jax"), predicted=0.002, gain=3.0, cost=12.0))
        jax: predicted 2 ms, not measured, gain 3 s < cost 12 s
        >>> print(Row(Strategy("torch"), measured=0.004, calls=9))
        torch: not predicted, measured 4 ms in 9 calls
    """

    strategy: Strategy
    predicted: float = 0.0
    measured: float = 0.0
    calls: int = 0
    gain: float = 0.0
    cost: float = 0.0
    problem: str = ""

    def __str__(self) -> str:
        predicted = f"predicted {_ms(self.predicted)}" if self.predicted else "not predicted"
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}"
        measured = f"measured {_ms(self.measured)} in {calls}" if self.measured else "not measured"
        parts = [f"{self.strategy.name}: {predicted}", measured]
        if self.problem:
            parts.append(f"left out, {self.problem}")
        elif self.cost or self.gain:
            parts.append(f"gain {self.gain:.2g} s {'>' if self.gain > self.cost else '<'} cost {self.cost:.2g} s")
        return ", ".join(parts)


class Report(NamedTuple):
    """The rows of a graph, and the ledger of the process.

    Attributes:
        rows: the strategies of the graph.
        lost: seconds that learning has cost in the process, for all its graphs.
        elapsed: seconds since its first call.

    Example:
        >>> print(Report((Row(Strategy("torch"), measured=0.004, calls=9),), lost=0.25, elapsed=60.0))
        torch: not predicted, measured 4 ms in 9 calls
        learning has cost 0.25 s of 60 s
    """

    rows: Sequence[Row] = ()
    lost: float = 0.0
    elapsed: float = 0.0

    def __str__(self) -> str:
        spent = [f"learning has cost {self.lost:.2g} s of {self.elapsed:.3g} s"] if self.elapsed else []
        return "\n".join([*map(str, self.rows), *spent])


def rows(state: State) -> list[Row]:
    """The rows of a graph."""
    return [_row(state, arm) for arm in state.arms.values()]


def _row(state: State, arm: Arm) -> Row:
    predicted = 0.0 if arm.predicted == policy.UNPREDICTED else arm.predicted.seconds
    measured = statistics.median(arm.times) if arm.times else 0.0
    gain, cost = policy.prospect(state, arm)
    return Row(arm.strategy, predicted, measured, len(arm.times), gain, cost, arm.problem)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
