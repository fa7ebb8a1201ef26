"""Report: the rows of strategies that a measured plan, the log, and `dovetail plan show` print."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from dovetail.choose import policy
from dovetail.choose.policy import Arm, State
from dovetail.execute.choice import Row


class Report(NamedTuple):
    """The rows of a graph, and the ledger of the process.

    Attributes:
        rows: the strategies of the graph.
        lost: seconds that learning has cost in the process, for all its graphs.
        elapsed: seconds since its first call.

    Example:
        >>> from dovetail.execute.choice import Strategy
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
    hope = policy.prospect(state, arm)
    return Row(arm.strategy, predicted, measured, len(arm.times), hope.gain, hope.cost, arm.problem)
