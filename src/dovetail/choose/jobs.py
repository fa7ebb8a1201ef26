"""Jobs: the candidates that are prepared in the background, one at a time."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from dovetail.choose.background import later
from dovetail.execute.choice import Strategy


class Preparing(Protocol):
    """A plan for which candidates are prepared."""

    def try_to_prepare(self, strategy: Strategy) -> None:
        """Prepare a candidate, in any thread; leave it out if it fails."""

    def count_untimed(self) -> None:
        """Take in the calls that ran without being timed."""


class Job:
    """The candidate that is prepared now.

    Attributes:
        is_running: whether there is one.
        strategy: its strategy, or the latest one's.
        plan: a reference to the plan for which it is prepared.
    """

    def __init__(self) -> None:
        self.is_running = False
        self.strategy: Strategy | None = None
        self.plan: Callable[[], Preparing | None] = nobody

    @property
    def name(self) -> str:
        """The name of its strategy."""
        return "" if self.strategy is None else self.strategy.name

    def begin(self, plan: Preparing, strategy: Strategy, lose: Callable[[float], None]) -> None:
        """Begin to prepare a candidate.

        Args:
            plan: the plan for which it is prepared; if it is freed before the job's turn, nothing is prepared.
            strategy: the strategy of the candidate.
            lose: takes the processor time of the job, in seconds.
        """
        this = weakref.ref(plan)
        self.is_running, self.strategy, self.plan = True, strategy, this
        later(lambda: self._work(this(), strategy, lose))

    def _work(self, plan: Preparing | None, strategy: Strategy, lose: Callable[[float], None]) -> None:
        start = time.thread_time()
        try:
            if plan is not None:
                plan.try_to_prepare(strategy)
        finally:
            lose(time.thread_time() - start)
            self.end()

    def end(self) -> None:
        """Take in that nothing is prepared any more."""
        self.is_running, self.plan = False, nobody


def nobody() -> None:
    """Return None: there is no job, no measurer before the first graph, and no plan of a group that nobody traced."""


job = Job()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=job.end)
