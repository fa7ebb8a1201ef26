"""Report: the rows of strategies that a measured plan, the log, and `dovetail plan show` print."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from dovetail.choose import estimates
from dovetail.choose.estimates import Arm, State
from dovetail.execute.choice import Row, Strategy


class Report(NamedTuple):
    """The rows of a graph, and the ledger of the process.

    Attributes:
        rows: the strategies of the graph.
        lost: seconds that learning has cost in the process, for all its graphs.
        elapsed: seconds since its first call.
        trials: a sentence for each candidate that was prepared; records on disk leave them out.

    Example:
        >>> from dovetail.execute.choice import Strategy
        >>> print(Report((Row(Strategy("torch"), measured=0.004, calls=9),), lost=0.25, elapsed=60.0))
        torch: not predicted, measured 4 ms in 9 calls
        learning has cost 0.25 s of 60 s
    """

    rows: Sequence[Row] = ()
    lost: float = 0.0
    elapsed: float = 0.0
    trials: Sequence[str] = ()

    def __str__(self) -> str:
        spent = [f"learning has cost {self.lost:.2g} s of {self.elapsed:.3g} s"] if self.elapsed else []
        return "\n".join([*map(str, self.rows), *self.trials, *spent])


def rows(state: State) -> list[Row]:
    """The rows of a graph."""
    return [_row(state, arm) for arm in state.arms.values()]


def trials(state: State) -> list[str]:
    """A sentence for each candidate that was prepared: its cost, and the loss without it if that paid for it.

    Example:
        >>> from dovetail.execute.choice import Strategy
        >>> jax = Arm(Strategy("jax"), estimates.UNPREDICTED, cost=2.6, instead=Strategy("numpy"), regret=4.3)
        >>> trials(State({jax.strategy: jax}))
        ['jax was tried for 2.6 s because numpy had lost 4.3 s']
        >>> jax.regret = 0.0
        >>> trials(State({jax.strategy: jax}))
        ['jax was tried for 2.6 s since it may be faster than numpy']
    """
    return [_trial(arm, arm.instead) for arm in state.arms.values() if arm.instead is not None]


def _trial(arm: Arm, instead: Strategy) -> str:
    lost = f"because {instead.name} had lost {arm.regret:.2g} s"
    reason = lost if arm.regret >= arm.cost else f"since it may be faster than {instead.name}"
    return f"{arm.strategy.name} was tried for {arm.cost:.2g} s {reason}"


def _row(state: State, arm: Arm) -> Row:
    predicted = 0.0 if arm.predicted == estimates.UNPREDICTED else arm.predicted.seconds
    measured = statistics.median(arm.times) if arm.times else 0.0
    hope = estimates.prospect(state, arm)
    return Row(arm.strategy, predicted, measured, len(arm.times), hope.gain, hope.cost, arm.problem)
